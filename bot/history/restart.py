"""What accepted changes do to a baseline: runs from before them are none for what was accepted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from bot.model.finding import Acceptance
from bot.model.metric import MetricKey
from bot.model.reason import BaselineReason, Reason, because
from bot.model.run import Run

SHOWN_RESTARTS: Final = 10
SHORT_HASH: Final = 7


@dataclass(kw_only=True, slots=True)
class Restarts:
    """Asked for every stored run from the newest to the oldest; `positions` count commits in that direction.

    A named acceptance cuts once a run since it was chosen. Until then the old level is all there is to judge against,
    and the acceptance is `pending`: the policy marks what it covers. `head` is the target's own commit.
    """

    accepted: Sequence[Acceptance] = ()
    positions: Mapping[str, int] = field(default_factory=dict)
    head: str | None = None
    _newest: dict[str, Acceptance] = field(default_factory=dict, init=False)
    _since: set[str] = field(default_factory=set, init=False)
    _cut: dict[str, Acceptance] = field(default_factory=dict, init=False)
    _newest_chosen: int | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Of several acceptances of a benchmark the one of the newest commit counts, and of these the last said."""
        for entry in self.accepted:
            if entry.benchmark is None or entry.commit not in self.positions:
                continue
            newest = self._newest.get(entry.benchmark)
            if newest is None or self.positions[entry.commit] <= self.positions[newest.commit]:
                self._newest[entry.benchmark] = entry

    def kept(self, keys: tuple[MetricKey, ...], position: int) -> tuple[MetricKey, ...]:
        """Those metrics of a stored run that are baseline: benchmarks, and counters by table and name."""
        return tuple(key for key in keys if not self._is_before(key, position)) if self._newest else keys

    def unforgiven(self, run: Run, position: int) -> tuple[MetricKey, ...]:
        """The metrics that a stored run was judged a regression in, where nobody accepted that since."""
        return tuple(key for key in run.regressions if not self._forgiven(key, run, position))

    def choose(self, keys: Sequence[MetricKey], position: int) -> None:
        """These metrics of the run at `position` became baseline."""
        if self._newest_chosen is None:
            self._newest_chosen = position
        for key in keys if self._newest else ():
            self._since.update(name for name, entry in self._of(key) if position <= self.positions[entry.commit])

    @property
    def pending(self) -> tuple[Acceptance, ...]:
        """Those of the target's own commit, and those since which nothing was measured."""
        return tuple(
            entry
            for entry in self.accepted
            if entry.commit == self.head or (entry.commit in self.positions and not self._was_measured(entry))
        )

    @property
    def notes(self) -> tuple[Reason, ...]:
        shown = [
            because(
                BaselineReason.BEGINS_AT_ACCEPTED,
                benchmark=name,
                commit=entry.commit[:SHORT_HASH],
                author=entry.author,
                why=entry.reason,
            )
            for name, entry in list(self._cut.items())[:SHOWN_RESTARTS]
        ]
        more = len(self._cut) - len(shown)
        return (*shown, *([because(BaselineReason.MORE_ACCEPTED, count=more)] if more > 0 else []))

    def _of(self, key: MetricKey) -> list[tuple[str, Acceptance]]:
        """What was accepted of this metric: by its benchmark's or table's name, and by its own."""
        return [(name, self._newest[name]) for name in (key.benchmark, key.full_name) if name in self._newest]

    def _is_before(self, key: MetricKey, position: int) -> bool:
        cuts = [
            (name, entry)
            for name, entry in self._of(key)
            if position > self.positions[entry.commit] and name in self._since
        ]
        self._cut.update(cuts)
        return bool(cuts)

    def _forgiven(self, key: MetricKey, run: Run, position: int) -> bool:
        """A run that was judged a regression against the old level, before the new one was accepted."""
        return any(
            position <= self.positions[entry.commit]
            and (run.commit == entry.commit or (run.time is not None and run.time <= entry.time))
            for _, entry in self._of(key)
        )

    def _was_measured(self, entry: Acceptance) -> bool:
        if entry.benchmark is not None:
            return entry.benchmark in self._since
        return self._newest_chosen is not None and self._newest_chosen <= self.positions[entry.commit]
