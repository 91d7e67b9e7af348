"""What drives a dispatched bisection from event to event: where it is kept, who measures, who is told."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Protocol

from bot.model.dispatch import Bisection, BisectionStep, Objection, RunArtifact, RunFacts

if TYPE_CHECKING:
    from bot.history.bisections import BisectionStore
    from bot.history.protocol import History

# After this a dispatch that was stored and is nowhere to be seen belongs to a controller that died before it sent it.
SENDER_IS_LATE: Final = timedelta(minutes=5)
MOST_FRUITLESS: Final = 3


class Dispatcher(Protocol):
    """Starts runs of the bisect workflow and reads what they left."""

    def send(self, inputs: Mapping[str, str]) -> int | None:
        """Start a run; its id, None where GitHub does not say it."""
        ...

    def find(self, title: str) -> int | None:
        """The run of this title, None where none is to be seen (yet)."""
        ...

    def look(self, run_id: int) -> RunFacts | None:
        """None where there is no such run of the bisect workflow."""
        ...

    def artifacts(self, run_id: int, names: Sequence[str]) -> tuple[RunArtifact, ...]:
        """Those of `names` that the run left."""
        ...


def utc_now() -> datetime:
    return datetime.now(UTC)


def no_objection(_: Bisection) -> Objection | None:
    return None


@dataclass(frozen=True, kw_only=True, slots=True)
class Controller:
    """`report` is told of every step, after it was stored. `history` gets what a trusted bisection measured.

    `objection` says why nothing more may be measured (the pull request has moved on); asked before every dispatch.
    """

    bisections: "BisectionStore"
    dispatcher: Dispatcher
    report: Callable[[BisectionStep], None]
    history: "History | None" = None
    objection: Callable[[Bisection], Objection | None] = no_objection
    now: Callable[[], datetime] = utc_now
    name: str = field(default_factory=lambda: secrets.token_hex(8))
