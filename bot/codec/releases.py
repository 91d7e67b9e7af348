"""The deviation matrix as JSON (releases v1): what `changes --releases --json` writes."""

from typing import Final, Literal

from pydantic.dataclasses import dataclass

from bot.codec.fields import same_fields
from bot.codec.wire import WIRE_CONFIG, encode
from bot.model.deviation import DeviationMatrix

SCHEMA_NAME: Final = "releases-v1"


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class ReleasesFile(DeviationMatrix):
    """The whole file. `format` and `version` make it known by content."""

    format: Literal["perf-culprit-releases"]
    version: Literal[1]


def encode_releases(matrix: DeviationMatrix) -> bytes:
    file = same_fields(ReleasesFile, matrix, format="perf-culprit-releases", version=1)
    return encode(file, indent=1)
