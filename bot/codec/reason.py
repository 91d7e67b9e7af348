"""Reasons as part of a report: their code and arguments, which may be decided by, and their sentence, which may not."""

from collections.abc import Callable
from typing import Annotated, Final

from pydantic import Field
from pydantic.dataclasses import dataclass

from bot.codec.wire import WIRE_CONFIG
from bot.model.reason import CODES, Reason, remark

# Beyond these an integer is no exact number in JSON's other readers, and none of our counts.
LARGEST_COUNT: Final = 2**53

Count = Annotated[int, Field(ge=-LARGEST_COUNT, le=LARGEST_COUNT)]
Sentence = Callable[[Reason], str | None]


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class ReasonEntry:
    """`arguments` by name; effects and shares are fractions. `text` is for people."""

    code: str
    arguments: dict[str, Count | float | str | tuple[str, ...]] = Field(default_factory=dict)
    text: str | None = None


def no_sentence(_: Reason) -> str | None:
    return None


def reason_entry(reason: Reason, sentence: Sentence) -> ReasonEntry:
    return ReasonEntry(code=reason.code.value, arguments=dict(reason.arguments), text=sentence(reason))


def reason_of(entry: ReasonEntry | str) -> Reason:
    """A code of another version keeps its sentence; so do the reports of versions that wrote sentences alone."""
    if isinstance(entry, str):
        return remark(entry)
    code = CODES.get(entry.code)
    return remark(entry.text or entry.code) if code is None else Reason(code=code, arguments=entry.arguments)
