"""The layered simulation model of a design [F11, chapter 4], and its quantities as people write them.

Its layers are world view, component, physical and scenario. The upper layers can run without the lower ones: a
placeholder represents a component's internals.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field

from perf_culprit.config.policy_settings import ConfigSection
from perf_culprit.config.units import Percent
from perf_culprit.model.unit_sizes import BYTES, SECONDS

_NUMBER: Final = r"(\d{1,15}(?:\.\d{1,12})?(?:[eE][+-]?\d{1,2})?)"
_QUANTITY: Final = re.compile(rf"\s*(\$?){_NUMBER}\s*([A-Za-zµ/%]*)\s*")
_DISTRIBUTION: Final = re.compile(r"\s*(exponential|normal|uniform)\(([^()]*)\)\s*")
_PARAMETERS: Final = {"exponential": 1, "normal": 2, "uniform": 2}

# In a model `KB` is 1,000 bytes, because networks are measured in powers of ten.
SIZES: Final = BYTES | {"KB": 1e3}
PER_SECOND: Final = {f"/{unit}": 1 / size for unit, size in SECONDS.items()}
BYTES_PER_SECOND: Final = {f"{unit}/s": size for unit, size in SIZES.items()} | {
    "kbit/s": 125.0, "Mbit/s": 125e3, "Gbit/s": 125e6,
}  # fmt: skip
_PLAIN_UNITS: Final = {"": 1.0, "unit": 1.0, "units": 1.0}


@dataclass(frozen=True, slots=True)
class Distribution:
    """`kind` is constant, exponential, normal (cut off at 0) or uniform; `first`, `second` are its parameters.

    In order: the value; the mean; mean and standard deviation; lowest and highest. Times are seconds, sizes bytes.
    """

    kind: str
    first: float
    second: float = 0.0

    @property
    def mean(self) -> float:
        return (self.first + self.second) / 2 if self.kind == "uniform" else self.first


def _number(value: object, units: Mapping[str, float], example: str) -> float:
    match = _QUANTITY.fullmatch(str(value)) if isinstance(value, str | int | float) else None
    if match is None or match[3] not in units or (match[1] and units is not _PLAIN_UNITS):
        raise ValueError(f"write it with its unit, such as {example}, not {value!r}")
    return float(match[2]) * units[match[3]]


def _random(value: object, units: Mapping[str, float], example: str) -> Distribution:
    match = _DISTRIBUTION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return Distribution("constant", _number(value, units, f"{example} or exponential({example})"))
    numbers = [_number(part.strip(), units, example) for part in match[2].split(",")]
    if len(numbers) != _PARAMETERS[match[1]]:
        raise ValueError(f"{match[1]} has {_PARAMETERS[match[1]]} parameters, not {len(numbers)}")
    if match[1] == "uniform" and numbers[0] > numbers[1]:
        raise ValueError("uniform goes from the lowest to the highest value")
    return Distribution(match[1], *numbers)


def _of(
    read: Callable[[object, Mapping[str, float], str], object], units: Mapping[str, float], example: str
) -> BeforeValidator:
    """The validator of a kind of quantity; a value already parsed stays unchanged."""

    def validate(value: object) -> object:
        return value if isinstance(value, Distribution) else read(value, units, example)

    return BeforeValidator(validate, json_schema_input_type=str | float if units is _PLAIN_UNITS else str)


Time = Annotated[float, _of(_number, SECONDS, "2 s"), Field(examples=["2 s"])]
DataSize = Annotated[float, _of(_number, SIZES, "5 KB"), Field(examples=["5 KB"])]
ArrivalRate = Annotated[float, _of(_number, PER_SECOND, "17/s"), Field(examples=["17/s"])]
Bandwidth = Annotated[float, _of(_number, BYTES_PER_SECOND, "2 Mbit/s"), Field(examples=["2 Mbit/s"])]
Price = Annotated[float, _of(_number, _PLAIN_UNITS, "$0.10"), Field(examples=["$0.10"])]
UnitAmount = Annotated[float, _of(_number, _PLAIN_UNITS, "2 units"), Field(examples=["2 units"])]
RandomTime = Annotated[Distribution, _of(_random, SECONDS, "2 s"), Field(examples=["exponential(2 s)"])]
RandomCount = Annotated[Distribution, _of(_random, _PLAIN_UNITS, "20"), Field(examples=["normal(20, 4)"])]


PlainName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._ -]{0,59}$")]
Instances = Annotated[int, Field(ge=1, le=10_000)]
NO_DURATION = Distribution("constant", 0.0)
ONE = Distribution("constant", 1.0)


class Placeholder(ConfigSection):
    """A rough estimate of a component whose lower layers are missing."""

    processing: RandomTime
    concurrent: Annotated[int | None, Field(ge=1, description="most requests at once (default: any number)")] = None


class Message(ConfigSection):
    """How a message is sent."""

    size: DataSize = 0.0
    timeout: Annotated[
        Time | None, Field(description="time without acknowledgement after which the message is sent again")
    ] = None
    resends: Annotated[int, Field(ge=0, le=100)] = 0


class Send(Message):
    """A message that is sent after a request was processed. The request ends once the message is handled."""

    to: PlainName
    request: Annotated[PlainName, Field(description="kind of request at the receiver")]
    count: Annotated[RandomCount, Field(description="number of receivers; each gets a message")] = ONE
    probability: Annotated[
        Percent, Field(description="messages of a request with less than 100% exclude each other")
    ] = 1.0
    every: Annotated[
        Time | None, Field(gt=0, description="collect messages, and send them together once in this period")
    ] = None


class WorldRequest(ConfigSection):
    """The messages that a component sends for one kind of request."""

    sends: tuple[Send, ...] = ()


class WorldComponent(ConfigSection):
    """A node of the world view. Its requests are distributed evenly over its instances."""

    instances: Instances = 1
    placeholder: Placeholder | None = None
    requests: dict[PlainName, WorldRequest] = Field(default_factory=dict)


class Link(ConfigSection):
    """The transport of messages; parallel links share them. Without a link, messages arrive at once, at no cost."""

    source: Annotated[PlainName, Field(alias="from")]
    to: PlainName
    share: Percent = 1.0
    bandwidth: Annotated[
        Bandwidth | None, Field(gt=0, description="bandwidth of each message, or of the whole link if shared")
    ] = None
    shared: Annotated[bool, Field(description="messages pass one after another, not at the same time")] = False
    latency: RandomTime = NO_DURATION
    loss: Percent = 0.0
    price_per_message: Price = 0.0
    price_per_megabyte: Price = 0.0


class WorldView(ConfigSection):
    components: dict[PlainName, WorldComponent]
    links: tuple[Link, ...] = ()


class Processing(ConfigSection):
    """The processing time of one kind of request, and the number of threads that it holds."""

    processing: RandomTime
    processing_per_item: Annotated[RandomTime, Field(description="time added for each item that is sent together")] = (
        NO_DURATION
    )
    threads: Annotated[int, Field(ge=0)] = 1


class Logic(ConfigSection):
    """The component layer: each instance's threads and its queue of waiting requests."""

    threads: Annotated[int | None, Field(ge=1)] = None
    queue: Annotated[int | None, Field(ge=0, description="most waiting requests; more are refused")] = None
    requests: dict[PlainName, Processing]


class Demand(ConfigSection):
    """The resources that one kind of request holds during its processing."""

    cpu: UnitAmount = 0.0
    ram: DataSize = 0.0
    disk: DataSize = 0.0


class Hardware(ConfigSection):
    """The physical layer: the resources of each instance."""

    cpu: Annotated[UnitAmount | None, Field(gt=0)] = None
    ram: Annotated[DataSize | None, Field(gt=0)] = None
    disk: Annotated[DataSize | None, Field(gt=0)] = None
    requests: dict[PlainName, Demand]


class Arrival(Message):
    """Requests from outside, of one kind or a mix: each instance of `from` sends them at `rate`."""

    source: Annotated[PlainName, Field(alias="from")]
    to: PlainName
    rate: Annotated[ArrivalRate, Field(gt=0)]
    request: PlainName | None = None
    mix: Annotated[dict[PlainName, Percent], Field(description="instead of request: shares that add up to 100%")] = (
        Field(default_factory=dict)
    )
    process: Literal["poisson", "regular"] = "poisson"

    @property
    def shares(self) -> dict[str, float]:
        return {self.request: 1.0} if self.request is not None else dict(self.mix)


class OutputName(ConfigSection):
    of: Annotated[str, Field(max_length=200)]
    output: Annotated[str, Field(max_length=100)]


class Scored(OutputName):
    """One factor of the configuration score: the value, or its level among the bounds `levels` (0.25, 0.5, 0.75, 1)."""

    levels: tuple[Percent, ...] = ()


class Scenario(ConfigSection):
    """A simulated situation: the arriving requests, the duration, and the deployment."""

    arrivals: tuple[Arrival, ...]
    duration: Annotated[Time, Field(gt=0)]
    warm_up: Annotated[
        Time | None, Field(description="time left out at the start (default: a tenth of the duration)")
    ] = None
    instances: Annotated[dict[PlainName, Instances], Field(description="instances in this scenario, by component")] = (
        Field(default_factory=dict)
    )
    precision: Annotated[
        Percent, Field(description="add runs until the 95% intervals of `precise` are within this half width")
    ] = 0.02
    precise: Annotated[
        tuple[OutputName, ...], Field(description="outputs that need this precision (default: the response times)")
    ] = ()
    replications: Annotated[int, Field(ge=2, le=1000, description="most runs")] = 30

    @property
    def start(self) -> float:
        return self.duration / 10 if self.warm_up is None else self.warm_up


class Calibrated(ConfigSection):
    """The measured counters that determine the demands of a component's requests (utilisation law)."""

    component: PlainName
    resource: Literal["threads", "cpu", "ram", "disk"]
    counter: Annotated[str, Field(max_length=200, description="the share of the resource in use, in %")]
    rates: Annotated[
        dict[PlainName, str], Field(min_length=1, description="counter of each kind's requests per second")
    ]


class Known(ConfigSection):
    """Measured or published output values for these parameters, shown next to the simulated values."""

    parameters: dict[PlainName, str | int | float] = Field(default_factory=dict)
    of: Annotated[str, Field(max_length=200)]
    outputs: Annotated[dict[str, float], Field(min_length=1)]


class Design(ConfigSection):
    """A model file. `${name}` inserts the value of a parameter, wherever a value is written."""

    name: PlainName
    parameters: dict[PlainName, str | int | float] = Field(default_factory=dict)
    world_view: WorldView
    component: dict[PlainName, Logic] = Field(default_factory=dict)
    physical: dict[PlainName, Hardware] = Field(default_factory=dict)
    scenario: dict[PlainName, Scenario]
    sweep: Annotated[
        dict[PlainName, tuple[str | int | float, ...]],
        Field(description="values of parameters to be tried in every combination"),
    ] = Field(default_factory=dict)
    score: tuple[Scored, ...] = ()
    references: tuple[Known, ...] = ()
    calibration: tuple[Calibrated, ...] = ()


@cache
def design_schema() -> dict[str, Any]:
    """Return the JSON schema for editors, the same as docs/simulation-model.schema.json; a test keeps that current."""
    schema = Design.model_json_schema(mode="validation")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "perf-culprit simulation model",
    }
