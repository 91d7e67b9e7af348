"""A component at work: its instances' pools, the random numbers of its requests, and what happened to them."""

from collections import defaultdict
from collections.abc import Sequence

import simpy

from bot.config.design import Send
from bot.simulate.pool import Pool
from bot.simulate.stations import Station
from bot.simulate.streams import Streams


class Place:
    """`visits`: of each kind a row [asked, began, ended] per request; `refused` the times of refusals."""

    def __init__(self, environment: simpy.Environment, station: Station, streams: Streams) -> None:
        self.station = station
        self.pools = tuple(Pool(environment, station.capacities, room=station.room) for _ in range(station.instances))
        self.visits: dict[str, list[list[float]]] = defaultdict(list)
        self.refused: list[float] = []
        name = station.name
        self._instance = streams.uniform(f"{name} instance")
        self._branch = streams.uniform(f"{name} branch")
        self._phases = streams.generator(f"{name} phase").uniform(size=station.instances).tolist()
        self._times = {
            kind: (
                streams.draws(service.processing, f"{name} {kind} processing"),
                streams.draws(service.per_item, f"{name} {kind} items"),
            )
            for kind, service in station.services.items()
        }
        self._always = {kind: service.always for kind, service in station.services.items()}
        self._alternatives = {kind: service.alternatives for kind, service in station.services.items()}
        self._receivers = {
            id(send): streams.draws(send.count, f"{name} {kind} {send.to} receivers")
            for kind, service in station.services.items()
            for send in service.sends
        }

    def instance(self) -> int:
        count = self.station.instances
        return int(self._instance() * count) if count > 1 else 0

    def phase(self, instance: int) -> float:
        """When within its period an instance sends what it collected, from 0 to 1."""
        return float(self._phases[instance])

    def seconds(self, kind: str, items: int) -> float:
        """How long a request of this kind, with so many items, is processed."""
        processing, per_item = self._times[kind]
        return processing() + (per_item() if items == 1 else sum(per_item() for _ in range(items)))

    def sends(self, kind: str) -> Sequence[Send]:
        """What is sent this time: of the alternatives at most one."""
        always, alternatives = self._always[kind], self._alternatives[kind]
        return (*always, *self._chosen(alternatives)) if alternatives else always

    def receivers(self, send: Send) -> int:
        return round(self._receivers[id(send)]())

    def _chosen(self, alternatives: Sequence[Send]) -> tuple[Send, ...]:
        left = self._branch()
        for send in alternatives:
            left -= send.probability
            if left < 0:
                return (send,)
        return ()
