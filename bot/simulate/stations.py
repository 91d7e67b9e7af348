"""The layers put together: what each component does with each kind of request, by the lowest layers that are there."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bot.config.design import NOTHING, Design, Hardware, Scenario, Send, WorldRequest
from bot.config.quantities import Distribution

# A placeholder's share of requests at once.
PLACES = "places"


@dataclass(frozen=True, kw_only=True, slots=True)
class Service:
    """What one kind of request needs (resource by position, units), how long, and what is sent afterwards."""

    needs: tuple[tuple[int, float], ...] = ()
    processing: Distribution = NOTHING
    per_item: Distribution = NOTHING
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
    return {PLACES: float(placeholder.concurrent)} if placeholder and placeholder.concurrent else {}


def _units(hardware: Hardware | None) -> dict[str, float]:
    names = ("cpu", "ram", "disk") if hardware else ()
    return {name: units for name in names if (units := getattr(hardware, name)) is not None}


def _service(design: Design, name: str, kind: str, order: Mapping[str, int]) -> Service:
    world, logic = design.world_view.components[name], design.component.get(name)
    processing = logic.requests.get(kind) if logic else None
    hardware = design.physical.get(name)
    demand = hardware.requests.get(kind) if hardware else None
    estimate = world.placeholder.processing if world.placeholder else NOTHING
    units = {PLACES: 1.0, "threads": float(processing.threads) if processing else 1.0}
    if demand is not None:
        units |= {resource: getattr(demand, resource) for resource in ("cpu", "ram", "disk")}
    return Service(
        needs=tuple((order[resource], held) for resource, held in units.items() if resource in order and held),
        processing=processing.processing if processing else estimate,
        per_item=processing.processing_per_item if processing else NOTHING,
        sends=world.requests.get(kind, WorldRequest()).sends,
    )
