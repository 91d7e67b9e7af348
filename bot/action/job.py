"""One run of the action: what the runner said, what the workflow asked for, and the log."""

from dataclasses import dataclass

from bot import pipeline
from bot.action.inputs import Inputs
from bot.action.log import Log
from bot.history import HistoryPlace
from bot.pipeline.context import Context


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    context: Context
    inputs: Inputs
    log: Log

    @property
    def history(self) -> HistoryPlace:
        """Reached by its address; commits are fetched."""
        return HistoryPlace(url=self.context.git_url, token=self.inputs.token or None)

    @property
    def destination(self) -> pipeline.Destination:
        return self.context.destination(token=self.inputs.token, bot_login=self.inputs.bot_login)
