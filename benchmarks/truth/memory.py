"""The history branch in memory, for thousands of runs, which are encoded, reduced and read as usual."""

import pkgutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from importlib import import_module
from types import ModuleType
from typing import Any
from unittest.mock import patch

from perf_culprit import flows
from perf_culprit.git import revisions
from perf_culprit.git.command import run_git
from perf_culprit.model.finding import Acceptance
from perf_culprit.model.run import Run
from perf_culprit.model.run_file import decode_run, encode_run
from perf_culprit.store.opening import open_history
from perf_culprit.store.protocol import NamedRun
from perf_culprit.store.retention import Retention, fit_file


class MemoryBranch:
    """The methods of a `Store` that the commands use."""

    place = "memory"

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

    def runs(self, suite: str, commits: Sequence[str]) -> Iterator[NamedRun]:
        for commit in commits:
            for name, run in reversed(list(zip(self.names, self.stored, strict=True))):
                if (run.suite, run.commit) == (suite, commit):
                    yield NamedRun(id=name, commit=commit, run=run)

    def suites(self) -> frozenset[str]:
        return frozenset(run.suite for run in self.stored)

    def accepted(self, _suite: str) -> tuple[Acceptance, ...]:
        return ()

    def expect(self, names: Sequence[str]) -> None:
        """Do nothing: no other job writes here."""


@contextmanager
def branch_in_memory() -> Iterator[MemoryBranch]:
    """Make the commands that read or write a history use this one within the context."""
    branch = MemoryBranch()

    @contextmanager
    def opened(*_: object, **__: object) -> Iterator[MemoryBranch]:
        yield branch

    with ExitStack() as patches:
        for module in _holders(open_history):
            patches.enter_context(patch.object(module, open_history.__name__, opened))
        yield branch


def _holders(opener: Callable[..., object]) -> list[ModuleType]:
    """Import all flows and return the modules that hold `opener`; a module imported later would keep the patch."""
    for _, name, _ in pkgutil.iter_modules(flows.__path__, "perf_culprit.flows."):
        import_module(name)
    modules = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] == "perf_culprit"]
    return [module for module in modules if vars(module).get(opener.__name__) is opener]


_remembered = lru_cache(maxsize=None)(run_git)


def _ask_once(*arguments: Any, lines: Iterable[str] = (), **options: Any) -> bytes:
    return _remembered(*arguments, lines=tuple(lines), **options)


@contextmanager
def unchanging_repository() -> Iterator[None]:
    """Cache git's answers within the context."""
    with patch.object(revisions, "run_git", _ask_once):
        yield
