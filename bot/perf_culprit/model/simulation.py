"""Results of a simulated design: estimates per layer, its bottleneck, and the ranking of configurations."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

import msgspec

from perf_culprit.model.json_files import encode, explicit_default
from perf_culprit.model.run import Metric, MetricKey

if TYPE_CHECKING:
    from perf_culprit.arrays import Floats


class Layer(StrEnum):
    """The model's layer that an output belongs to, from the top [F11, table 4-5]."""

    WORLD_VIEW = "world view"
    COMPONENT = "component"
    PHYSICAL = "physical"


class Output(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One simulated quantity. `of` names its kind of request, link or component."""

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
    """An output's mean over the replications. `half_width` is that of its 95% interval; null if unknown."""

    output: Output
    mean: float
    half_width: float | None


class OfferedLoad(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The `share` of a resource's capacity that arrivals demand (utilisation law). From 1 on, a queue grows."""

    component: str
    resource: str
    share: float


class Simulation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The replicated simulation of one scenario. `offered` has the resources, most loaded first."""

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
    """The limit of a scenario's throughput as its arrival rates grow by a factor, and the resource that limits it.

    `stable` is the highest factor that the system kept up with, `saturated` the lowest that it did not. `rate` is the
    scenario's requests per second at factor 1. `error` is the uncertainty of both factors, as a fraction: twice the
    effect of random arrivals.
    """

    stable: float
    saturated: float
    rate: float
    error: float
    bottleneck: OfferedLoad | None


class Configuration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One combination of a sweep's values. Each layer's score includes all layers above it; lower is better.

    `scored` are the outputs that the scores are made of.
    """

    simulation: Simulation
    scores: Mapping[Layer, float]
    scored: tuple[MetricKey, ...] = ()


class Demanded(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A calibrated demand: one request holds this number of units of the resource for a second.

    `half_width` is that of the 95% interval. `modelled` is the model's demand. `explained` is the share of the
    counter's variance that the fit explains.
    """

    component: str
    resource: str
    request: str
    demand: float
    half_width: float | None
    modelled: float
    explained: float


class Reference(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A measured or published value of an output, for these values of the parameters."""

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
    """The result of `simulate`: one configuration, or those of a sweep, whose parameters `swept` differ."""

    version: Literal[1] = explicit_default(1)
    configurations: tuple[Configuration, ...] = ()
    swept: tuple[str, ...] = ()
    saturation: Saturation | None = None
    demands: tuple[Demanded, ...] = ()
    references: tuple[Reference, ...] = ()


def encode_simulation(report: SimulationReport) -> bytes:
    return encode(report, indent=1)
