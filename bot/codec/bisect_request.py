"""What a dispatch asks its jobs to measure, as JSON (bisect-request v1): the input `request` of the bisect workflow."""

from typing import Final, Literal

from pydantic.dataclasses import dataclass

from bot.codec.wire import WIRE_CONFIG, decode, encode
from bot.errors import DataError
from bot.model.dispatch import BisectJob, BisectRequest

SCHEMA_NAME: Final = "bisect-request-v1"
# GitHub takes at most 65,535 characters for all inputs of a dispatch.
MOST_REQUEST_BYTES: Final = 60_000


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class BisectRequestFile:
    """The whole file. Its commands come from the default branch's configuration, by way of the dispatch."""

    request: BisectRequest
    format: Literal["perf-culprit-bisect-request"]
    version: Literal[1]


def encode_request(request: BisectRequest) -> bytes:
    file = BisectRequestFile(request=request, format="perf-culprit-bisect-request", version=1)
    return encode(file)


def decode_request(data: bytes, *, place: str) -> BisectRequest:
    return decode(BisectRequestFile, data, place=place, what=SCHEMA_NAME).request


def job_of(request: BisectRequest, job: str, *, place: str) -> BisectJob:
    """The job called `job`."""
    for entry in request.jobs:
        if entry.id == job:
            return entry
    names = ", ".join(entry.id for entry in request.jobs)
    raise DataError(f"asks for no job {job!r}", place=place, next_step=f"use one of: {names}")
