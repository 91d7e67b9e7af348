"""A file that is one JSON value of a known type, whose elements may be broken one by one."""

from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

import msgspec

from bot.diagnose.profiles.file import ProfileFile
from bot.errors import DataError
from bot.model.profile import RecordFault

T = TypeVar("T")
UNDECODABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def decode(file: ProfileFile, kind: type[T], *, what: str, next_step: str = "write it again") -> T:
    """A DataError where the file is no `what`."""
    try:
        return msgspec.json.decode(file.content(), type=kind)
    except UNDECODABLE:
        raise DataError(f"is no whole {what}", place=file.place, next_step=next_step) from None


def each(raws: Iterable[msgspec.Raw], kind: type[T], *, file: ProfileFile, what: str) -> Iterator[tuple[str, T]]:
    """The elements with where they are in the file; one that is no `what` is counted and left out."""
    decoder = msgspec.json.Decoder(kind)
    for number, raw in enumerate(raws, 1):
        at = f": {what} {number}"
        if (value := one(raw, decoder, file=file, at=at)) is not None:
            yield at, value


def one(raw: msgspec.Raw, decoder: msgspec.json.Decoder[T], *, file: ProfileFile, at: str) -> T | None:
    """The element, which is counted; None where it is none, which is noted."""
    file.intake.records += 1
    try:
        return decoder.decode(raw)
    except UNDECODABLE:
        file.reject(RecordFault.MALFORMED, bytes(raw), at=at)
        return None
