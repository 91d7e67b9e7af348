"""JSON on the edge: bytes to checked values and back, with errors that name the file and the place.

Model dataclasses cross here through flat wire dataclasses, so that a file is pleasant to read with other tools and the
inside stays free to change. Files may come from strangers: unknown fields, wrong types, NaN and Infinity are refused.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from bot.errors import DataError

# On every wire dataclass: strict about what it does not know and about numbers that are none.
WIRE_CONFIG = ConfigDict(extra="forbid", allow_inf_nan=False, ser_json_inf_nan="null")

T = TypeVar("T")
SHOWN_ERRORS = 3


def decode(adapter: TypeAdapter[T], data: bytes, *, place: str, what: str) -> T:
    """The value in `data`, or a DataError that names the file and the JSON path of the first mistakes."""
    try:
        return adapter.validate_json(data)
    except ValidationError as error:
        raise DataError(
            f"not a valid {what}: {_mistakes(error)}",
            place=place,
            next_step=f"write the file again with this version, or check it against docs/{what}.schema.json",
        ) from None


def _mistakes(error: ValidationError) -> str:
    errors = error.errors(include_url=False, include_context=False, include_input=False)
    shown = [f"{_path(entry['loc'])}{entry['msg']}" for entry in errors[:SHOWN_ERRORS]]
    more = len(errors) - len(shown)
    return "; ".join(shown) + (f" (and {more} more)" if more else "")


def _path(loc: Sequence[Any]) -> str:
    # A file may hold anything as a key; cut it so that one message stays one message.
    path = ".".join(str(part)[:60] for part in loc)
    return f"{path}: " if path else ""
