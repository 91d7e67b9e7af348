"""JSON on the edge: bytes to checked values and back, with errors that name the file and the place.

Where a file says what the model says, the model's own dataclasses cross here, within a wire dataclass whose
configuration they inherit. Files may come from strangers: unknown fields, wrong types, NaN and Infinity are refused.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from bot.errors import DataError

# On every wire dataclass: strict about what it does not know and about numbers that are none.
WIRE_CONFIG = ConfigDict(extra="forbid", allow_inf_nan=False, ser_json_inf_nan="null")

T = TypeVar("T")
SHOWN_ERRORS = 3
_ADAPTERS: Final[dict[type, TypeAdapter[Any]]] = {}


def decode(kind: type[T], data: bytes, *, place: str, what: str) -> T:
    """The `kind` in `data`, or a DataError that names the file and the JSON path of the first mistakes."""
    try:
        return _adapter(kind).validate_json(data)
    except ValidationError as error:
        raise DataError(
            f"not a valid {what}: {_mistakes(error)}",
            place=place,
            next_step=f"write the file again with this version, or check it against docs/{what}.schema.json",
        ) from None


def encode(
    value: object,
    *,
    indent: int | None = None,
    exclude_defaults: bool = False,
    context: Mapping[str, Any] | None = None,
) -> bytes:
    """The value as JSON and a line feed.

    Names may hold bytes that were no UTF-8, which JSON cannot: they become `?`.
    """
    adapter, given = _adapter(type(value)), dict(context or {})
    try:
        data = adapter.dump_json(value, indent=indent, exclude_defaults=exclude_defaults, context=given)
    except PydanticSerializationError:
        plain = adapter.dump_python(value, mode="json", exclude_defaults=exclude_defaults, context=given)
        data = json.dumps(plain, indent=indent, ensure_ascii=False).encode("utf-8", "replace")
    return data + b"\n"


def schema(kind: type) -> dict[str, Any]:
    """The JSON schema of what `decode` takes for a `kind`."""
    return _adapter(kind).json_schema(mode="validation")


def _adapter(kind: type[T]) -> TypeAdapter[T]:
    """Made when it is first needed: a large file's takes longer to make than a small file to read."""
    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]


def _mistakes(error: ValidationError) -> str:
    errors = error.errors(include_url=False, include_context=False, include_input=False)
    shown = [f"{_path(entry['loc'])}{entry['msg']}" for entry in errors[:SHOWN_ERRORS]]
    more = len(errors) - len(shown)
    return "; ".join(shown) + (f" (and {more} more)" if more else "")


def _path(loc: Sequence[Any]) -> str:
    # A file may hold anything as a key; cut it so that one message stays one message.
    path = ".".join(str(part)[:60] for part in loc)
    return f"{path}: " if path else ""
