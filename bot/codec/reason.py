"""Reasons in a file: their code and arguments, which may be decided by, and their sentence, which may not."""

from collections.abc import Callable
from typing import Annotated, Any, Final

from pydantic import Field, GetCoreSchemaHandler, SerializationInfo
from pydantic.dataclasses import dataclass
from pydantic_core import CoreSchema, core_schema

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


def _entry(reason: Reason, info: SerializationInfo[Any]) -> ReasonEntry:
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
            _entry, info_arg=True, return_schema=handler.generate_schema(ReasonEntry)
        ),
    )


# The one noun of the model that a file does not say field by field. The model knows no codec, so that it is said here.
Reason.__get_pydantic_core_schema__ = classmethod(_schema)  # type: ignore[attr-defined]
