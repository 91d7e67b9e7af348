"""The observation interface of this interpreter."""

import sys
from collections.abc import Collection
from contextlib import AbstractContextManager
from typing import Protocol

from .call_paths import TracedScope, Tree
from .timing_sums import Sums


class Timer(Protocol):
    """One pass. `sums` may be replaced between two executions."""

    sums: Sums

    def running(self) -> AbstractContextManager[None]: ...


class Hooks(Protocol):
    # note that as per PEP 544 a module can be one, without self
    TIMES_C: bool

    def foreign_tool(self) -> str | None: ...
    def record_structure(self, tree: Tree, scope: TracedScope) -> AbstractContextManager[None]: ...
    def timer(self, tree: Tree, selected: Collection[int], scope: TracedScope) -> Timer: ...


def hooks() -> Hooks:
    if sys.version_info >= (3, 12):
        from . import monitoring

        return monitoring
    from . import substitution

    return substitution
