"""Results of a simulated design: estimates per layer, its bottleneck, and the ranking of configurations."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from perf_culprit.model.json_files import encode, written
from perf_culprit.model.run import Metric, MetricKey

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]


class Layer(StrEnum):
    """Which of the model's layers an output belongs to, from the top [F11, table 4-5]."""

    WORLD_VIEW = "world view"
    COMPONENT = "component"
    PHYSICAL = "physical"


class Output(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One simulated quantity: of a kind of request, a link or a component."""

    of: str
    metric: Metric
    layer: Layer

    @property
    def key(self) -> MetricKey:
        return MetricKey(self.of, self.metric.name)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Replication:
    """One simulated run after its warm-up. `series` (rows, m) are means of equal intervals, `means` (m,) of all.

    `interval_s` is a row's length. NaN where nothing was observed, such as a response time without a finished request.
    """

    outputs: tuple[Output, ...]
    means: "Floats"
    series: "Floats"
    interval_s: float


class Estimate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An output's mean over the replications; `half_width` of its 95% interval, None where none is known."""

    output: Output
    mean: float
    half_width: float | None


class OfferedLoad(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`share` of a resource's capacity that the arrivals ask for, by the utilisation law; from 1 on a queue grows."""

    component: str
    resource: str
    share: float


class Simulation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A scenario of a design, replicated. `offered` from the most to the least loaded resource."""

    design: str
    scenario: str
    parameters: Mapping[str, str]
    seed: int
    replications: int
    simulated_s: float
    estimates: tuple[Estimate, ...]
    offered: tuple[OfferedLoad, ...]
    is_precise: bool

    @property
    def overloaded(self) -> tuple[OfferedLoad, ...]:
        return tuple(load for load in self.offered if load.share >= 1)

    @property
    def bottleneck(self) -> OfferedLoad | None:
        return self.offered[0] if self.offered else None

    def mean(self, of: str, metric: str) -> float | None:
        return next((each.mean for each in self.estimates if each.output.key == MetricKey(of, metric)), None)


class Saturation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the arrival rate bends the throughput: between two factors of the scenario's rates, and what is full there.

    `stable` is the highest factor that was seen to keep up, `saturated` the lowest that was not. `rate` per second is
    what the scenario asks for at factor 1. `error`: as a fraction, twice what the randomness of the arrivals moves both
    ends by.
    """

    stable: float
    saturated: float
    rate: float
    error: float
    bottleneck: OfferedLoad | None


class Configuration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One combination of a sweep's values. `scores` by layer, each with all the layers above it; lower is better.

    `scored` are the outputs that they are made of.
    """

    simulation: Simulation
    scores: Mapping[Layer, float]
    scored: tuple[MetricKey, ...] = ()


class Demanded(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A calibrated demand: units of a resource held for a second by one request; `half_width` of its 95% interval.

    `modelled` is what the model says. `explained` is the share of the counter's variance that the fit explains.
    """

    component: str
    resource: str
    request: str
    demand: float
    half_width: float | None
    modelled: float
    explained: float


class Reference(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A measured or published value of an output where the parameters have these values."""

    output: MetricKey
    value: float
    parameters: Mapping[str, str]

    def holds_for(self, parameters: Mapping[str, str]) -> bool:
        return all(parameters.get(name) == value for name, value in self.parameters.items())


class SimulationReport(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    tag_field="format",
    tag="perf-culprit-simulation",
):
    """What one call of `simulate` found out: one configuration, or those of a sweep in its order.

    `swept` names the parameters that differ.
    """

    version: Literal[1] = written(1)
    configurations: tuple[Configuration, ...] = ()
    swept: tuple[str, ...] = ()
    saturation: Saturation | None = None
    demands: tuple[Demanded, ...] = ()
    references: tuple[Reference, ...] = ()


def encode_simulation(report: SimulationReport) -> bytes:
    return encode(report, indent=1)
