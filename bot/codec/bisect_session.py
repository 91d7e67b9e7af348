"""A running bisection as JSON: the state of its search, and what it measures."""

from functools import cache
from typing import Final, Literal

from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass

from bot.codec.wire import WIRE_CONFIG, decode
from bot.model.bisection import SearchState
from bot.model.metric import Metric, MetricKey

SESSION_FORMAT: Final = "perf-culprit-bisect-session"


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class BisectSession:
    """`run` and `build` are kept to be compared, never to be executed: a file is no reason to run a command."""

    run: str
    build: str | None
    key: MetricKey
    metric: Metric
    search: SearchState
    format: Literal["perf-culprit-bisect-session"] = "perf-culprit-bisect-session"
    version: Literal[1] = 1


@cache
def _adapter() -> TypeAdapter[BisectSession]:
    return TypeAdapter(BisectSession)


def encode_session(session: BisectSession) -> bytes:
    return _adapter().dump_json(session) + b"\n"


def decode_session(data: bytes, *, place: str) -> BisectSession:
    return decode(_adapter(), data, place=place, what="bisect-session-v1")
