"""A regression that somebody accepted."""

from dataclasses import dataclass
from datetime import datetime

from bot.model.metric import MetricKey


@dataclass(frozen=True, kw_only=True, slots=True)
class Acceptance:
    """`commit` is where the new level begins. `benchmark` None: every benchmark that got worse there.

    `benchmark` may also be a table of counters, or the full name of one counter or metric ("server cpu").

    `author` is who accepted it, `time` when (UTC). `pull_request`: where it was said of a pull request's head, which a
    squash leaves out of the default branch.
    """

    suite: str
    benchmark: str | None
    commit: str
    reason: str
    author: str
    time: datetime
    pull_request: int | None = None

    def covers(self, key: MetricKey) -> bool:
        return self.benchmark in (None, key.benchmark, key.full_name)
