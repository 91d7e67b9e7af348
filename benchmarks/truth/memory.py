"""The history branch held in memory, for thousands of runs: what is stored is encoded, reduced and read as always."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from unittest.mock import patch

import bot.history
import bot.history.accepted
from bot.codec.run import decode_run, encode_run
from bot.git import revisions
from bot.git.command import run_git
from bot.history.protocol import StoredRun
from bot.history.retention import Retention, fit_file
from bot.model.acceptance import Acceptance
from bot.model.run import Run


class MemoryBranch:
    """What `GitBranchAcceptances` offers to the verbs."""

    def __init__(self) -> None:
        self.stored: list[Run] = []
        self.lost: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"run {index}" for index in range(len(self.stored)))

    def append(self, run: Run) -> str:
        content, _ = fit_file(run, encode_run(run), Retention())
        self.stored.append(decode_run(content, place="memory"))
        return self.names[-1]

    def commits(self, suite: str) -> Mapping[str, int]:
        return Counter(run.commit for run in self.stored if run.commit and run.suite == suite)

    def runs(self, suite: str, commits: Sequence[str]) -> Iterator[StoredRun]:
        for commit in commits:
            for name, run in reversed(list(zip(self.names, self.stored, strict=True))):
                if (run.suite, run.commit) == (suite, commit):
                    yield StoredRun(id=name, commit=commit, run=run)

    def accepted(self, _suite: str) -> tuple[Acceptance, ...]:
        return ()

    def expect(self, names: Sequence[str]) -> None:
        """Nobody else writes here."""


@contextmanager
def branch_in_memory() -> Iterator[MemoryBranch]:
    """Within it the verbs that read or write a history use this one."""
    branch = MemoryBranch()

    @contextmanager
    def opened(*_: object, **__: object) -> Iterator[MemoryBranch]:
        yield branch

    with ExitStack() as patches:
        patches.enter_context(patch.object(bot.history, "open_git_branch", opened))
        patches.enter_context(patch.object(bot.history.accepted, "open_acceptances", opened))
        yield branch


_ask_once = lru_cache(maxsize=None)(run_git)


@contextmanager
def unchanging_repository() -> Iterator[None]:
    """Within it git is asked everything once."""
    with patch.object(revisions, "run_git", _ask_once):
        yield
