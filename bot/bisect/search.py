"""The search as its callers see it: propose rounds, record what they gave, ask for the outcome."""

from collections.abc import Mapping, Sequence

from bot.model.bisection import (
    CommitRange,
    Failure,
    Job,
    Outcome,
    Progress,
    SearchSettings,
    SearchState,
)


class Search:
    """A search in progress. Its `state` is all it knows: `Search(state)` goes on where another stopped."""

    def __init__(self, state: SearchState) -> None:
        self.state = state

    @classmethod
    def start(
        cls,
        commit_range: CommitRange,
        *,
        settings: SearchSettings,
        prior: Mapping[str, float] | None = None,
        stored: Sequence[Mapping[str, Sequence[float]]] = (),
    ) -> "Search":
        """A new search with a `prior` by commit (bot.bisect.prior; default uniform).

        `stored` are samples of earlier runs by commit, one mapping per run, each a block of its own.
        """
        raise NotImplementedError

    def propose(self, k: int = 1) -> tuple[Job, ...]:
        """Up to `k` more jobs to run in parallel, none while only pending ones can bring progress or at the end."""
        raise NotImplementedError

    @property
    def pending(self) -> tuple[Job, ...]:
        """Jobs that were proposed and neither recorded nor abandoned."""
        raise NotImplementedError

    def abandon(self, job_id: str) -> None:
        """The job will not come back (lost machine, timeout): what it asked for may be proposed again."""
        raise NotImplementedError

    def record(
        self,
        job_id: str,
        samples: Mapping[str, Sequence[float]],
        failures: Mapping[str, Failure] | None = None,
    ) -> bool:
        """Take a job's samples by commit, and why commits gave none. False: this job was recorded before, ignored."""
        raise NotImplementedError

    def outcome(self) -> Outcome | None:
        """The answer, or None while rounds are still wanted."""
        raise NotImplementedError

    def partial_outcome(self) -> Outcome:
        """The best answer now, for a search that is stopped from outside."""
        raise NotImplementedError

    def progress(self) -> Progress:
        raise NotImplementedError
