"""JSON at the edge: bytes to checked values and back, with errors that name file and place, and reasons as written."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import msgspec
from pydantic import ConfigDict, Field, GetCoreSchemaHandler, SerializationInfo, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass
from pydantic_core import CoreSchema, PydanticSerializationError, core_schema

from perf_culprit.errors import DataError
from perf_culprit.model.reason import CODES, Reason, remark

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


# A dataclass with the fields of another one: what a file says as the model does.

Kind = TypeVar("Kind", bound="DataclassInstance")


def same_fields(kind: type[Kind], *values: "DataclassInstance", **others: Any) -> Kind:
    """A `kind` with the fields of its own that the `values` have (the last one counts), and the `others`."""
    shared = {one.name: getattr(value, one.name) for value in values for one in fields(value)}
    return kind(**{one.name: shared[one.name] for one in fields(kind) if one.name in shared} | others)


# JSON that may hold millions of numbers: the same strictness as `wire`, by a decoder that is twice as fast there.

T = TypeVar("T")
SHOWN_CHARACTERS = 300


def decode_large(kind: type[T], data: bytes, *, place: str, what: str) -> T:
    """The value in `data`, or a DataError that names the file and the JSON path of the first mistake."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        # It may quote a stranger's key.
        message = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(error)[:SHOWN_CHARACTERS])
        unquoted = next((name for name in ("NaN", "Infinity") if name.encode() in data), None)
        if unquoted and not isinstance(error, msgspec.ValidationError):
            message = f"{unquoted} is no number in JSON; {message}"
        raise DataError(
            f"not a valid {what}: {message.replace(' - at `$.', ' at `')}",
            place=place,
            next_step=f"write the file again with this version, or check it against docs/{what}.schema.json",
        ) from None


# JSON on the edge: bytes to checked values and back, with errors that name the file and the place.
#
# Where a file says what the model says, the model's own dataclasses cross here, within a wire dataclass whose
# configuration they inherit. Files may come from strangers: unknown fields, wrong types, NaN and Infinity are refused.

# On every wire dataclass: strict about what it does not know and about numbers that are none.
WIRE_CONFIG = ConfigDict(extra="forbid", allow_inf_nan=False, ser_json_inf_nan="null")

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


# Reasons in a file: their code and arguments, which may be decided by, and their sentence, which may not.

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


def _reason_entry(reason: Reason, info: SerializationInfo[Any]) -> ReasonEntry:
    sentence: Sentence = info.context["sentence"] if info.context else no_sentence
    return ReasonEntry(code=reason.code.value, arguments=dict(reason.arguments), text=sentence(reason))


def _reason(entry: Reason | ReasonEntry | str) -> Reason:
    """A code of another version keeps its sentence; so do the reports of versions that wrote sentences alone."""
    if isinstance(entry, Reason):
        return entry
    if isinstance(entry, str):
        return remark(entry)
    code = CODES.get(entry.code)
    return remark(entry.text or entry.code) if code is None else Reason(code=code, arguments=entry.arguments)


def _schema(_: type[Reason], __: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
    in_file = handler.generate_schema(ReasonEntry | str)
    return core_schema.no_info_after_validator_function(
        _reason,
        core_schema.json_or_python_schema(
            json_schema=in_file,
            python_schema=core_schema.union_schema([core_schema.is_instance_schema(Reason), in_file]),
        ),
        serialization=core_schema.plain_serializer_function_ser_schema(
            _reason_entry, info_arg=True, return_schema=handler.generate_schema(ReasonEntry)
        ),
    )


# The one noun of the model that a file does not say field by field. The model knows no codec, so that it is said here.
Reason.__get_pydantic_core_schema__ = classmethod(_schema)  # type: ignore[attr-defined]
