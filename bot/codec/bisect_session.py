"""A running bisection as JSON: the state of its search, and what it measures."""

from collections.abc import Iterator
from typing import Annotated, Final, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

import bot.codec.reason  # noqa: F401  # teaches the notes' form
from bot.codec.wire import WIRE_CONFIG, decode, encode
from bot.errors import DataError
from bot.model.bisection import SearchState
from bot.model.metric import Metric, MetricKey

SCHEMA_NAME: Final = "bisect-session-v1"


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class BisectSession:
    """`run` and `build` are kept to be compared, never to be executed: a file is no reason to run a command."""

    run: str
    build: str | None
    key: MetricKey
    metric: Metric
    search: SearchState
    runner_seconds: Annotated[float, Field(ge=0)] = 0.0
    format: Literal["perf-culprit-bisect-session"] = "perf-culprit-bisect-session"
    version: Literal[1] = 1


def encode_session(session: BisectSession) -> bytes:
    return encode(session)


def decode_session(data: bytes, *, place: str) -> BisectSession:
    """The session in `data`; a DataError where it is none, or where its results cannot be of its range."""
    session = decode(BisectSession, data, place=place, what=SCHEMA_NAME)
    fault = next(search_faults(session.search), None)
    if fault is not None:
        raise DataError(f"is no state of a search: {fault}", place=place, next_step="start again without --resume")
    return session


def search_faults(state: SearchState) -> Iterator[str]:
    """What in a decoded state cannot be of its range."""
    commit_range = state.commit_range
    in_range = {commit_range.good, *commit_range.merge_bases, *commit_range.commits}
    suspects = () if state.suspect is None else (state.suspect,)
    results = (*state.stored, *state.results)
    named = [
        *(step.commit for step in state.named),
        *state.withdrawn,
        *suspects,
        *(commit for job in state.jobs for commit in job.commits),
        *(commit for result in results for commit in (*result.values, *result.failures)),
    ]
    yield from (f"commit {commit[:12]!r} is not in its range" for commit in named if commit not in in_range)
    jobs = {job.id for job in state.jobs}
    yield from ("a result is of no round" for result in state.results if result.job_id not in jobs)
    for result in results:
        for commit, values in result.values.items():
            if not values or min(values) <= 0:
                yield f"a value of {commit[:12]} is not a positive number"
