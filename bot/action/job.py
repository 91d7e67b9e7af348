"""One run of the action: what the runner said, what the workflow asked for, and the log."""

from dataclasses import dataclass

from bot import pipeline
from bot.action.context import Context
from bot.action.inputs import Inputs
from bot.action.log import Log


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    context: Context
    inputs: Inputs
    log: Log

    @property
    def destination(self) -> pipeline.Destination:
        context = self.context
        return pipeline.Destination(
            repository=context.repository,
            api_url=context.api_url,
            server_url=context.server_url,
            token=self.inputs.token,
            bot_login=self.inputs.bot_login,
            run_url=context.run_url,
            external_id=f"{context.run_id}-{context.run_attempt}",
        )
