"""Profiles as JSON (perf-culprit-trace v1): what the tracer writes, one profile per line."""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from bot.codec.large import decode_large
from bot.errors import DataError
from bot.model.profile import Profile, ProfileNode

PROFILE_FORMAT: Final = "perf-culprit-trace"
SCHEMA_NAME: Final = "trace-v1"
MAX_NODES: Final = 1_000_000
MAX_REPETITIONS: Final = 10_000
MAX_NAME_CHARACTERS: Final = 10_000
NEXT_STEP: Final = "write the file again with this version of perf-culprit"

# Some decades of milliseconds and more instructions than those hold: above is no measurement, and sums stay finite.
Amount = Annotated[float, Meta(ge=0, le=1e24)]
Name = Annotated[str, Meta(max_length=MAX_NAME_CHARACTERS)]


class ProfileNodeEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`elapsed` and `self`: one number per repetition, in the profile's unit. A root has no `parent`."""

    method: Name
    parent: Annotated[int, Meta(ge=0)] | UnsetType | None = UNSET
    elapsed: tuple[Amount, ...]
    self_: tuple[Amount, ...] = msgspec.field(name="self")
    calls: Amount | UnsetType | None = UNSET
    file: Name | UnsetType | None = UNSET
    line: Annotated[int, Meta(ge=0, le=2**31)] | UnsetType | None = UNSET


class ProfileLine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of the file. `format` and `version` make it known by content."""

    format: Literal["perf-culprit-trace"]
    version: Literal[1]
    service: Name
    unit: Annotated[str, Meta(max_length=100)] = "ms"
    repetitions: Annotated[int, Meta(ge=1, le=MAX_REPETITIONS)]
    nodes: Annotated[tuple[ProfileNodeEntry, ...], Meta(max_length=MAX_NODES)]


def decode_profile(data: bytes, *, place: str) -> Profile:
    """The profile in `data` (one line of a file); a DataError with place where it is none."""
    line = decode_large(ProfileLine, data, place=place, what=SCHEMA_NAME)
    nodes = tuple(_node(entry, i, line.repetitions, place) for i, entry in enumerate(line.nodes))
    return Profile(service=line.service, nodes=nodes, repetitions=line.repetitions, unit=line.unit)


def _node(entry: ProfileNodeEntry, i: int, repetitions: int, place: str) -> ProfileNode:
    parent = None if entry.parent is UNSET else entry.parent
    if parent is not None and parent >= i:
        raise DataError(
            f"its parent {parent} does not come before it", place=f"{place}: nodes.{i}.parent", next_step=NEXT_STEP
        )
    for name, times in (("elapsed", entry.elapsed), ("self", entry.self_)):
        if len(times) != repetitions:
            raise DataError(
                f"has {len(times)} values for {repetitions} repetitions",
                place=f"{place}: nodes.{i}.{name}",
                next_step=NEXT_STEP,
            )
    return ProfileNode(
        method=entry.method,
        parent=parent,
        elapsed_ms=entry.elapsed,
        self_ms=entry.self_,
        calls=None if entry.calls is UNSET else entry.calls,
        file=None if entry.file is UNSET else entry.file,
        line=None if entry.line is UNSET else entry.line,
    )
