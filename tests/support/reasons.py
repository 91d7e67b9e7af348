"""Sentences of reasons, for tests that read them as a user does."""

from collections.abc import Iterable
from typing import overload

from perf_culprit.model.reason import Reason
from perf_culprit.say.reason_text import sentence


@overload
def words_of(reasons: Reason) -> str: ...
@overload
def words_of(reasons: None) -> None: ...
@overload
def words_of(reasons: Iterable[Reason]) -> tuple[str, ...]: ...
def words_of(reasons: Reason | Iterable[Reason] | None) -> str | tuple[str, ...] | None:
    """Return the sentence of one reason, or of each."""
    if reasons is None or isinstance(reasons, Reason):
        return None if reasons is None else sentence(reasons)
    return tuple(map(sentence, reasons))
