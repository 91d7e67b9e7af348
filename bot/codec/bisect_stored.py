"""A bisection on the history branch, as JSON (stored-bisection v1)."""

from collections.abc import Iterator
from typing import Final, Literal

from pydantic.dataclasses import dataclass

import bot.codec.reason  # noqa: F401  # teaches the doubts' form
from bot.codec.bisect_session import search_faults
from bot.codec.wire import WIRE_CONFIG, decode, encode
from bot.errors import DataError
from bot.model.dispatch import Bisection

SCHEMA_NAME: Final = "stored-bisection-v1"


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class StoredBisectionFile:
    bisection: Bisection
    format: Literal["perf-culprit-stored-bisection"]
    version: Literal[1]


def encode_stored(bisection: Bisection) -> bytes:
    file = StoredBisectionFile(bisection=bisection, format="perf-culprit-stored-bisection", version=1)
    return encode(file)


def decode_stored(data: bytes, *, place: str) -> Bisection:
    """The bisection in `data`; a DataError where it is none, or where its parts do not fit together."""
    bisection = decode(StoredBisectionFile, data, place=place, what=SCHEMA_NAME).bisection
    fault = next(_faults(bisection), None)
    if fault is not None:
        raise DataError(f"is no bisection: {fault}", place=place, next_step="ask for the bisection again")
    return bisection


def _faults(bisection: Bisection) -> Iterator[str]:
    yield from search_faults(bisection.search)
    rounds = {job.id for job in bisection.search.jobs}
    for dispatch in bisection.dispatches:
        yield from (f"dispatch {dispatch.id} has an unknown round" for name in dispatch.rounds if name not in rounds)
    if len({dispatch.id for dispatch in bisection.dispatches}) < len(bisection.dispatches):
        yield "two dispatches share an id"
