"""What drives a bisection from event to event: where it is kept, who measures, who is informed."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

from bot.history.protocol import BisectionStore, Store
from bot.model.dispatch import Bisection, BisectionStep, BisectJobResult, Dispatch, RunFacts
from bot.model.reason import Reason
from bot.model.search_reason import Objection

# After this a dispatch that was stored and is nowhere to be seen belongs to a controller that died before it sent it.
SENDER_IS_LATE: Final = timedelta(minutes=5)
MOST_FRUITLESS: Final = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Collected:
    """What a dispatch gave, and why some of it was refused. A job that left nothing is just lost."""

    results: tuple[BisectJobResult, ...] = ()
    refused: tuple[Reason, ...] = ()


class Dispatcher(Protocol):
    """Has dispatches measured: by other machines (`workflow.Workflow`), or by this one (`here.Here`)."""

    def send(self, bisection: Bisection, dispatch: Dispatch) -> int | None:
        """Have it measured; the id of the run that does it, None where it is not known yet."""

    def find(self, title: str) -> int | None:
        """The run of this title, None where none is to be seen (yet)."""

    def look(self, run_id: int) -> RunFacts | None: ...

    def results(self, bisection: Bisection, dispatch: Dispatch, *, run_id: int) -> Collected: ...


def nobody(_: BisectionStep) -> None:
    return None


def no_objection(_: Bisection) -> Objection | None:
    return None


@dataclass(frozen=True, kw_only=True, slots=True)
class Controller:
    """`report` gets every step, after it was stored. `history` gets what a trusted bisection measured.

    `objection` says why nothing more may be measured (the pull request has moved on); asked before every dispatch.
    """

    bisections: BisectionStore
    dispatcher: Dispatcher
    report: Callable[[BisectionStep], None] = nobody
    history: Store | None = None
    objection: Callable[[Bisection], Objection | None] = no_objection
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    name: str = field(default_factory=lambda: secrets.token_hex(8))
