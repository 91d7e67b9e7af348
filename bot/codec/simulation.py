"""What a simulation found out as JSON (simulation v1): what `simulate --json` writes."""

from typing import Final, Literal

from pydantic.dataclasses import dataclass

from bot.codec.fields import same_fields
from bot.codec.wire import WIRE_CONFIG, encode
from bot.model.simulation import SimulationReport

SCHEMA_NAME: Final = "simulation-v1"


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class SimulationFile(SimulationReport):
    """The whole file. `format` and `version` make it known by content."""

    format: Literal["perf-culprit-simulation"]
    version: Literal[1]


def encode_simulation(report: SimulationReport) -> bytes:
    file = same_fields(SimulationFile, report, format="perf-culprit-simulation", version=1)
    return encode(file, indent=1)
