"""What the arrivals ask of each resource on average: the utilisation law, without a simulation [Lazowska 1984, 3.3]."""

import math
from collections import defaultdict
from collections.abc import Iterator

from bot.config.design import Design, Scenario, Send
from bot.model.simulation import OfferedLoad
from bot.simulate.stations import Station, stations


def offered_loads(design: Design, scenario: Scenario) -> tuple[OfferedLoad, ...]:
    """Of each resource and shared link, the most loaded first. Losses and refusals are left out."""
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
                asked = self.bytes_per_second[link.source, link.to] * link.share
                yield OfferedLoad(
                    component=f"{link.source} → {link.to}", resource="bandwidth", share=asked / link.bandwidth
                )

    def _add(self, name: str, kind: str, rate: float, items: float) -> None:
        """Requests and items per second, with all that they cause. A model without cycles ends."""
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
        """Units of a resource that are held on average."""
        held = 0.0
        for kind, service in station.services.items():
            rate, items = self.visits.get((station.name, kind), (0.0, 0.0))
            seconds = rate * service.processing.mean + items * service.per_item.mean
            held += dict(service.needs).get(position, 0.0) * seconds
        return held


def _sendings(send: Send, rate: float, instances: int) -> float:
    """Messages per second: what is collected goes out together, once per period in which anything came."""
    if send.every is None:
        return rate
    return instances * -math.expm1(-rate / instances * send.every) / send.every
