"""The combined layers: each component's processing of requests, its random numbers, and its offered load.

The draws of one part of a model do not affect those of another part. So two designs with one seed have the same
arrivals, and differ only by their own differences: common random numbers [Law 2015, 11.2].
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from zlib import crc32

import numpy as np

from perf_culprit.arrays import Floats
from perf_culprit.model.simulation import OfferedLoad
from perf_culprit.simulate.design import NO_DURATION, Design, Distribution, Hardware, Scenario, Send, WorldRequest

_DRAW_BLOCK = 4096


class Streams:
    """The random numbers of one replication."""

    def __init__(self, seed: int, replication: int) -> None:
        self._seed = (seed, replication)

    def generator(self, name: str) -> np.random.Generator:
        return np.random.default_rng((*self._seed, crc32(name.encode())))

    def draws(self, distribution: Distribution, name: str) -> Callable[[], float]:
        """Return a function that returns the next number at each call."""
        if distribution.kind == "constant":
            value = distribution.first
            return lambda: value
        random = self.generator(name)
        return _endless(lambda: samples(distribution, random, _DRAW_BLOCK)).__next__

    def gaps(self, probability: float, name: str) -> Callable[[], float]:
        """Return a function that draws the number of failures before the next success, in fewer draws than trials."""
        if not probability:
            return lambda: math.inf
        random = self.generator(name)
        return _endless(lambda: (random.geometric(probability, _DRAW_BLOCK) - 1).astype(np.float64)).__next__

    def uniform(self, name: str) -> Callable[[], float]:
        """Return a function that returns the next number from 0 to 1 at each call."""
        return self.draws(Distribution("uniform", 0.0, 1.0), name)


def samples(distribution: Distribution, random: np.random.Generator, size: int) -> Floats:
    """Random values of shape (size,), never negative."""
    first, second = distribution.first, distribution.second
    match distribution.kind:
        case "exponential":
            return random.exponential(first, size)
        case "normal":
            return np.maximum(random.normal(first, second, size), 0.0)
        case "uniform":
            return random.uniform(first, second, size)
        case _:
            return np.full(size, first)


def _endless(block: Callable[[], Floats]) -> Iterator[float]:
    return chain.from_iterable(iter(lambda: block().tolist(), None))


# The resource of a placeholder's concurrent requests.
_PLACES = "places"


@dataclass(frozen=True, kw_only=True, slots=True)
class Service:
    """One kind of request: its needs (resource by position, units), its duration, and the messages sent afterwards."""

    needs: tuple[tuple[int, float], ...] = ()
    processing: Distribution = NO_DURATION
    per_item: Distribution = NO_DURATION
    sends: tuple[Send, ...] = ()

    @property
    def always(self) -> tuple[Send, ...]:
        return tuple(send for send in self.sends if send.probability == 1)

    @property
    def alternatives(self) -> tuple[Send, ...]:
        return tuple(send for send in self.sends if send.probability < 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Station:
    """One component of a deployment. `capacities` are those of each instance, in the order of `resources`."""

    name: str
    instances: int
    resources: tuple[str, ...] = ()
    capacities: tuple[float, ...] = ()
    room: int | None = None
    services: Mapping[str, Service] = field(default_factory=dict)


def stations(design: Design, scenario: Scenario) -> dict[str, Station]:
    return {
        name: _station(design, name, scenario.instances.get(name, world.instances))
        for name, world in design.world_view.components.items()
    }


def _station(design: Design, name: str, instances: int) -> Station:
    world, logic = design.world_view.components[name], design.component.get(name)
    capacities = {**_threads(design, name), **_units(design.physical.get(name))}
    kinds = {*world.requests, *(logic.requests if logic else {}), *_incoming(design, name)}
    order = {resource: position for position, resource in enumerate(capacities)}
    is_described = bool(world.requests or world.placeholder or logic)
    return Station(
        name=name,
        instances=instances,
        resources=tuple(capacities),
        capacities=tuple(capacities.values()),
        room=logic.queue if logic else None,
        services={kind: _service(design, name, kind, order) for kind in sorted(kinds)} if is_described else {},
    )


def _incoming(design: Design, name: str) -> set[str]:
    sent = {
        send.request
        for component in design.world_view.components.values()
        for request in component.requests.values()
        for send in request.sends
        if send.to == name
    }
    arrivals = (arrival for scenario in design.scenario.values() for arrival in scenario.arrivals)
    return sent | {kind for arrival in arrivals if arrival.to == name for kind in arrival.shares}


def _threads(design: Design, name: str) -> dict[str, float]:
    placeholder, logic = design.world_view.components[name].placeholder, design.component.get(name)
    if logic is not None:
        return {} if logic.threads is None else {"threads": float(logic.threads)}
    return {_PLACES: float(placeholder.concurrent)} if placeholder and placeholder.concurrent else {}


def _units(hardware: Hardware | None) -> dict[str, float]:
    names = ("cpu", "ram", "disk") if hardware else ()
    return {name: units for name in names if (units := getattr(hardware, name)) is not None}


def _service(design: Design, name: str, kind: str, order: Mapping[str, int]) -> Service:
    world, logic = design.world_view.components[name], design.component.get(name)
    processing = logic.requests.get(kind) if logic else None
    hardware = design.physical.get(name)
    demand = hardware.requests.get(kind) if hardware else None
    estimate = world.placeholder.processing if world.placeholder else NO_DURATION
    units = {_PLACES: 1.0, "threads": float(processing.threads) if processing else 1.0}
    if demand is not None:
        units |= {resource: getattr(demand, resource) for resource in ("cpu", "ram", "disk")}
    return Service(
        needs=tuple((order[resource], held) for resource, held in units.items() if resource in order and held),
        processing=processing.processing if processing else estimate,
        per_item=processing.processing_per_item if processing else NO_DURATION,
        sends=world.requests.get(kind, WorldRequest()).sends,
    )


def offered_loads(design: Design, scenario: Scenario) -> tuple[OfferedLoad, ...]:
    """Return the mean load of each resource and shared link, highest first. Losses and refusals are ignored.

    This is the utilisation law, without a simulation [Lazowska 1984, 3.3].
    """
    flows = Flows(design, scenario)
    return tuple(sorted((*flows.of_resources(), *flows.of_links()), key=lambda load: -load.share))


class Flows:
    """`visits`: requests and items per second by component and kind; `bytes_per_second` by the ends of a link."""

    def __init__(self, design: Design, scenario: Scenario) -> None:
        self._design = design
        self._places = stations(design, scenario)
        self.visits: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
        self.bytes_per_second: dict[tuple[str, str], float] = defaultdict(float)
        for arrival in scenario.arrivals:
            for kind, share in arrival.shares.items():
                rate = arrival.rate * share * self._places[arrival.source].instances
                self.bytes_per_second[arrival.source, arrival.to] += rate * arrival.size
                self._add(arrival.to, kind, rate, rate)

    def of_resources(self) -> Iterator[OfferedLoad]:
        for name, station in self._places.items():
            for position, resource in enumerate(station.resources):
                capacity = station.capacities[position] * station.instances
                share = self._held(station, position) / capacity
                yield OfferedLoad(component=name, resource=resource, share=share)

    def of_links(self) -> Iterator[OfferedLoad]:
        for link in self._design.world_view.links:
            if link.shared and link.bandwidth is not None:
                load = self.bytes_per_second[link.source, link.to] * link.share
                yield OfferedLoad(
                    component=f"{link.source} → {link.to}", resource="bandwidth", share=load / link.bandwidth
                )

    def _add(self, name: str, kind: str, rate: float, items: float) -> None:
        """Add requests and items per second, with all requests that they cause. It ends, as models have no cycles."""
        flow = self.visits[name, kind]
        flow[0] += rate
        flow[1] += items
        station = self._places[name]
        service = station.services.get(kind)
        for send in service.sends if service else ():
            following = rate * send.probability * send.count.mean
            self.bytes_per_second[name, send.to] += following * send.size
            self._add(send.to, send.request, _sendings(send, following, station.instances), following)

    def _held(self, station: Station, position: int) -> float:
        """The mean number of units of a resource in use."""
        held = 0.0
        for kind, service in station.services.items():
            rate, items = self.visits.get((station.name, kind), (0.0, 0.0))
            seconds = rate * service.processing.mean + items * service.per_item.mean
            held += dict(service.needs).get(position, 0.0) * seconds
        return held


def _sendings(send: Send, rate: float, instances: int) -> float:
    """Messages per second. Collected items are sent together, once per period with at least one item."""
    if send.every is None:
        return rate
    return instances * -math.expm1(-rate / instances * send.every) / send.every
