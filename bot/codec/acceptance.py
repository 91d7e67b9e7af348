"""An accepted change as JSON (acceptance v1): one small file on the history branch."""

from typing import Annotated, Final, Literal

from pydantic import AwareDatetime, Field
from pydantic.dataclasses import dataclass

from bot.codec.fields import same_fields
from bot.codec.wire import WIRE_CONFIG, decode, encode
from bot.errors import DataError
from bot.model.commit import FULL_HASH_PATTERN
from bot.model.finding import Acceptance

SCHEMA_NAME: Final = "acceptance-v1"
MAX_BYTES: Final = 16 * 1024
REASON_LIMIT: Final = 300
AUTHOR_LIMIT: Final = 100
BENCHMARK_LIMIT: Final = 500


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class AcceptanceFile:
    """`benchmark` null: every benchmark that got worse at `commit`."""

    format: Literal["perf-culprit-acceptance"]
    version: Literal[1]
    suite: Annotated[str, Field(min_length=1, max_length=100)]
    benchmark: Annotated[str, Field(min_length=1, max_length=BENCHMARK_LIMIT)] | None
    commit: Annotated[str, Field(pattern=f"^{FULL_HASH_PATTERN}$")]
    reason: Annotated[str, Field(min_length=1, max_length=REASON_LIMIT)]
    author: Annotated[str, Field(min_length=1, max_length=AUTHOR_LIMIT)]
    time: AwareDatetime
    pull_request: Annotated[int, Field(ge=1)] | None = None


def encode_acceptance(acceptance: Acceptance) -> bytes:
    file = same_fields(AcceptanceFile, acceptance, format="perf-culprit-acceptance", version=1)
    return encode(file, indent=1)


def decode_acceptance(data: bytes, *, place: str) -> Acceptance:
    if len(data) > MAX_BYTES:
        raise DataError(f"more than {MAX_BYTES:,} bytes", place=place, next_step="write it with `perf-culprit accept`")
    return same_fields(Acceptance, decode(AcceptanceFile, data, place=place, what=SCHEMA_NAME))
