"""A file that is one JSON value, of a known type."""

from typing import TypeVar

import msgspec

from bot.diagnose.profiles.file import ProfileFile
from bot.errors import DataError

T = TypeVar("T")


def decode(file: ProfileFile, kind: type[T], *, what: str, next_step: str) -> T:
    """A DataError where the file is no `what`."""
    try:
        return msgspec.json.decode(file.content(), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise DataError(f"is no whole {what}", place=file.place, next_step=next_step) from None
