"""The data types as JSON: a file has the same members, with its `format` and the `version` of its shape.

A type with a file of its own is a struct whose tag is its format, such as "perf-culprit-run". Files are untrusted:
unknown members, wrong types, NaN and Infinity are refused with the file and the place in it.
"""

from collections.abc import Callable
from typing import Any, Final, Protocol, TypeVar

import msgspec
from msgspec import structs

from perf_culprit.errors import DataError, NewerVersionError
from perf_culprit.model.reason import Reason, Sentence, no_sentence
from perf_culprit.model.text_limits import TEXT_LIMITS

_T = TypeVar("_T")
Noun = TypeVar("Noun", bound=msgspec.Struct)
FORMAT_TAG: Final = "perf-culprit-"
_BEGINNING: Final = 16
WRITE_AGAIN: Final = "write the file again with this version of perf-culprit"


def explicit_default(value: Any) -> Any:
    """Return a default that is written nevertheless, so that readers of the file need not know it."""
    return msgspec.field(default_factory=lambda: value)


class Formed(Protocol):
    """A class that a file represents as one value of the type `JSON`, not member by member."""

    JSON: Any

    @classmethod
    def from_json(cls, value: Any, /) -> Any: ...


def _read(kind: type[Formed], value: Any) -> Any:
    try:
        return kind.from_json(msgspec.convert(value, kind.JSON))
    except msgspec.ValidationError as error:
        # msgspec adds the place in the file only to other kinds of error.
        raise ValueError(str(error)) from None


class _Head(msgspec.Struct):
    format: str | None = None
    version: int | None = None


def _head(data: bytes) -> _Head:
    try:
        return msgspec.json.decode(data, type=_Head)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _Head()


def format_of(kind: type[msgspec.Struct]) -> tuple[str, int]:
    """Return the format of a file's type, and the version that is written."""
    (version,) = (field.default_factory() for field in structs.fields(kind) if field.name == "version")
    return str(kind.__struct_config__.tag), version


def schema_name(kind: type[msgspec.Struct]) -> str:
    """Return the base name of the schema, such as "run-v1" for docs/run-v1.schema.json."""
    name, version = format_of(kind)
    return f"{name.removeprefix(FORMAT_TAG)}-v{version}"


def decode(
    kind: type[Noun], data: bytes, *, place: str, from_version_1: Callable[[dict[str, Any]], Any] | None = None
) -> Noun:
    """Decode the object in `data`; a DataError names the file and the JSON path of the first mistake.

    `from_version_1` converts a file's content of version 1 into the present shape.

    Raises:
        NewerVersionError: a later perf-culprit wrote it.
    """
    try:
        if from_version_1 is not None and _head(data).version == 1:
            data = msgspec.json.encode(from_version_1(msgspec.json.decode(data)))
        noun = msgspec.json.decode(data, type=kind, dec_hook=_read)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OverflowError) as error:
        _refuse_newer(kind, data, place=place)
        raise _refused(error, data, what=schema_name(kind), place=place) from None
    # Our own files begin with it.
    if b'"format"' not in data[:_BEGINNING] and _head(data).format is None:
        raise DataError(f"not a valid {schema_name(kind)}: it has no `format`", place=place, next_step=WRITE_AGAIN)
    return noun


def decode_part(kind: type[_T], data: bytes, *, place: str, what: str) -> _T:
    """Decode a part of a file, described by `what`; errors as in `decode`."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _refused(error, data, what=what, place=place) from None


def _refuse_newer(kind: type[msgspec.Struct], data: bytes, *, place: str) -> None:
    name, version = format_of(kind)
    head = _head(data)
    if head.format == name and head.version is not None and head.version > version:
        noun = name.removeprefix(FORMAT_TAG).replace("-", " ")
        raise NewerVersionError(
            f"written by a newer perf-culprit ({noun} version {head.version}; this one reads up to {version})",
            place=place,
            next_step="upgrade to the perf-culprit that wrote it, or a later one",
        )


def _refused(error: Exception, data: bytes, *, what: str, place: str) -> DataError:
    # The message may quote an untrusted key.
    message = "".join(
        c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(error)[: TEXT_LIMITS.sentence_characters]
    )
    unquoted = next((name for name in ("NaN", "Infinity") if name.encode() in data), None)
    if unquoted and not isinstance(error, msgspec.ValidationError):
        message = f"{unquoted} is not a number in JSON; {message}"
    return DataError(
        f"not a valid {what}: {message.replace(' - at `$.', ' at `').replace(' - at `$', ' at `')}",
        place=place,
        next_step=f"write the file again with this version, or check it against docs/{what}.schema.json",
    )


def encode(noun: msgspec.Struct, *, indent: int | None = None, sentence: Sentence = no_sentence) -> bytes:
    """Encode the object as JSON with a line feed; `sentence` words reasons for people.

    Names may hold bytes that are not UTF-8. JSON cannot represent them: they become `?`.
    """

    def form(value: Any) -> Any:
        if isinstance(value, Reason):
            return value.to_json(sentence)
        return value.item() if hasattr(value, "item") else value.to_json()  # numbers of numpy

    try:
        data = msgspec.json.encode(noun, enc_hook=form)
    except UnicodeEncodeError:
        data = msgspec.json.encode(_in_utf8(msgspec.to_builtins(noun, enc_hook=form)))
    return (data if indent is None else msgspec.json.format(data, indent=indent)) + b"\n"


def _in_utf8(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_in_utf8(name): _in_utf8(one) for name, one in value.items()}
    return [_in_utf8(one) for one in value] if isinstance(value, list | tuple) else value
