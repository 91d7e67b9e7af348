"""A file that is one JSON value of a known type, whose elements may be broken one by one."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

import msgspec

from bot.diagnose.profiles.file import ProfileFile
from bot.diagnose.profiles.intake import Intake
from bot.errors import DataError
from bot.model.profile import RecordFault

T = TypeVar("T")


def decode(file: ProfileFile, kind: type[T], *, what: str, next_step: str = "write it again") -> T:
    """A DataError where the file is no `what`."""
    try:
        return msgspec.json.decode(file.content(), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise DataError(f"is no whole {what}", place=file.place, next_step=next_step) from None


def each(
    raws: Iterable[msgspec.Raw], decoder: msgspec.json.Decoder[T], *, place: str, intake: Intake
) -> Iterator[tuple[str, T]]:
    """The elements with their places; what is none is counted and left out. `place`: the file, and what they are."""
    for number, raw in enumerate(raws, 1):
        intake.records += 1
        located = f"{place} {number}"
        try:
            value = decoder.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            intake.reject(RecordFault.MALFORMED, place=located, text=bytes(raw))
            continue
        yield located, value
