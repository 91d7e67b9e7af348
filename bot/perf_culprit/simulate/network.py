"""Run a model: requests arrive, wait, are processed and sent on."""

import math
from collections import defaultdict, deque
from collections.abc import Generator, Mapping, Sequence
from typing import NamedTuple, TypeAlias, cast

import simpy
from simpy.events import Event

from perf_culprit.simulate.design import Arrival, Design, Distribution, Link, Scenario, Send
from perf_culprit.simulate.stations import Station, Streams, stations


class Pool:
    """The resources of one component instance, which requests get all at once or not at all [F11, 4.3.1.6].

    Units are finite. Requests that cannot get everything they need wait, first come, first served.
    """

    def __init__(self, environment: simpy.Environment, capacities: Sequence[float], *, room: int | None) -> None:
        self._environment = environment
        self._free = list(capacities)
        # Units such as 0.1 do not add up exactly.
        self._slack = [capacity * 1e-9 for capacity in capacities]
        self._room = room
        self._waiting: deque[tuple[Sequence[tuple[int, float]], simpy.Event]] = deque()

    @property
    def is_full(self) -> bool:
        """Whether another waiting request would have to be refused."""
        return self._room is not None and len(self._waiting) >= self._room

    def take(self, needs: Sequence[tuple[int, float]]) -> bool:
        """Take all of `needs` (resource, units) if free, and return whether it was; nobody overtakes the queue."""
        if self._waiting or not self._fits(needs):
            return False
        self._hold(needs)
        return True

    def wait(self, needs: Sequence[tuple[int, float]]) -> simpy.Event:
        """Return an event that happens when all of `needs` has been taken."""
        granted = self._environment.event()
        self._waiting.append((needs, granted))
        return granted

    def release(self, needs: Sequence[tuple[int, float]]) -> None:
        for resource, units in needs:
            self._free[resource] += units
        while self._waiting and self._fits(self._waiting[0][0]):
            following, granted = self._waiting.popleft()
            self._hold(following)
            granted.succeed()

    def _fits(self, needs: Sequence[tuple[int, float]]) -> bool:
        for resource, units in needs:  # noqa: SIM110 - a generator takes twice the time, for every request
            if units > self._free[resource] + self._slack[resource]:
                return False
        return True

    def _hold(self, needs: Sequence[tuple[int, float]]) -> None:
        for resource, units in needs:
            self._free[resource] -= units


MEGABYTE = 1e6


class Channel:
    """`busy` has a row [asked, began, ended] per use of a shared link.

    `uses` has (time, new messages, cost) per sending over a link with a price.

    A shared link is a queue whose times are known when a message is sent, so it needs no events of its own.
    """

    def __init__(self, link: Link, name: str, streams: Streams) -> None:
        self.link = link
        self.name = name
        self.busy: list[list[float]] = []
        self.uses: list[tuple[float, float, float]] = []
        self._free_at = 0.0
        self._latency = streams.draws(link.latency, f"{name} latency")
        self._next_gap = streams.gaps(link.loss, f"{name} loss")
        self._gap = self._next_gap()
        self._is_priced = bool(link.price_per_message or link.price_per_megabyte)

    def send(self, now: float, count: int, size: float, *, is_first: bool) -> float:
        """Send messages; return when the last of `count` messages arrives."""
        link = self.link
        if self._is_priced:
            cost = count * (link.price_per_message + size / MEGABYTE * link.price_per_megabyte)
            self.uses.append((now, count * is_first, cost))
        began = ended = now
        if link.bandwidth is not None and link.shared:
            began = max(now, self._free_at)
            self._free_at = ended = began + count * size / link.bandwidth
            self.busy.append([now, began, ended])
        elif link.bandwidth is not None:
            ended = now + size / link.bandwidth
        return ended + self._latency()

    def lost(self, count: int) -> int:
        """Draw how many of `count` messages are lost."""
        lost = 0
        while count > self._gap:
            count -= int(self._gap) + 1
            self._gap = self._next_gap()
            lost += 1
        self._gap -= count
        return lost

    @property
    def acknowledgement(self) -> float:
        """The seconds of an acknowledgement, which is too small to use bandwidth."""
        return self._latency()


class StationVisits:
    """`visits`: a row [asked, began, ended] per request, by kind; `refused`: the times of refusals."""

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
        """Return the time within its period, from 0 to 1, when an instance sends its collected messages."""
        return float(self._phases[instance])

    def seconds(self, kind: str, items: int) -> float:
        """Draw the processing time of a request of this kind and number of items."""
        processing, per_item = self._times[kind]
        return processing() + (per_item() if items == 1 else sum(per_item() for _ in range(items)))

    def sends(self, kind: str) -> Sequence[Send]:
        """Draw the messages to send: at most one of the alternatives."""
        always, alternatives = self._always[kind], self._alternatives[kind]
        return (*always, *self._chosen(alternatives)) if alternatives else always

    def receivers(self, send: Send) -> int:
        return round(self._receivers[id(send)]())

    def _chosen(self, alternatives: Sequence[Send]) -> tuple[Send, ...]:
        remainder = self._branch()
        for send in alternatives:
            remainder -= send.probability
            if remainder < 0:
                return (send,)
        return ()


# The activity of a process; its result is whether the request succeeded.
Course: TypeAlias = Generator[Event, object, bool]


class Receivers(NamedTuple):
    """Receivers on one channel: how many lack the message, and how many have it but their acknowledgement was lost."""

    channel: Channel
    missing: int
    silent: int


class Network:
    """`responses`: a row [asked, ended, 1 if successful] per external request, by kind."""

    def __init__(self, design: Design, scenario: Scenario, streams: Streams) -> None:
        self.environment = simpy.Environment()
        self.places = {
            name: StationVisits(self.environment, station, streams)
            for name, station in stations(design, scenario).items()
        }
        self.channels = _channels(design, streams)
        self.responses: dict[str, list[list[float]]] = {
            kind: [] for arrival in scenario.arrivals for kind in arrival.shares
        }
        self.given_up: list[float] = []
        self._streams = streams
        self._splits = streams.generator("shares of links")
        self._batches: dict[tuple[int, int], list[Event]] = {}
        self._scenario = scenario

    def run(self) -> None:
        for index, arrival in enumerate(self._scenario.arrivals):
            self.environment.process(self._arrive(arrival, f"arrival {index}"))
        self.environment.run(until=self._scenario.duration)

    def _arrive(self, arrival: Arrival, name: str) -> Generator[Event, object, None]:
        interval = 1 / (arrival.rate * self.places[arrival.source].station.instances)
        kind = "exponential" if arrival.process == "poisson" else "constant"
        pause = self._streams.draws(Distribution(kind, interval), name)
        chance, shares = self._streams.uniform(f"{name} mix"), list(arrival.shares.items())
        channels = self.channels.get((arrival.source, arrival.to), ())
        sends = {kind: _message(arrival, kind) for kind in arrival.shares}
        environment = self.environment
        while True:
            yield environment.timeout(pause())
            kind = _pick(shares, chance()) if len(shares) > 1 else shares[0][0]
            environment.process(self._request(channels, sends[kind]))

    def _request(self, channels: tuple[Channel, ...], send: Send) -> Generator[Event, object, None]:
        row = [self.environment.now, math.inf, 0.0]
        self.responses[send.request].append(row)
        row[2] = float((yield from self._delivered(channels, send, 1)))
        row[1] = self.environment.now

    def _visit(self, name: str, kind: str, items: int) -> Course:
        """Process one request at one instance, until all its messages are handled; False if it is refused."""
        place, environment = self.places[name], self.environment
        service = place.station.services.get(kind)
        if service is None:
            return True
        instance = place.instance()
        pool, needs = place.pools[instance], service.needs
        is_free = pool.take(needs)
        if not is_free and pool.is_full:
            place.refused.append(environment.now)
            return False
        row = [environment.now, math.inf, math.inf]
        place.visits[kind].append(row)
        if not is_free:
            yield pool.wait(needs)
        row[1] = environment.now
        yield environment.timeout(place.seconds(kind, items))
        row[2] = environment.now
        pool.release(needs)
        sends = place.sends(kind)
        if not sends:
            return True
        if len(sends) == 1:
            return (yield from self._send(place, instance, sends[0]))
        return (yield from self._all([self._send(place, instance, send) for send in sends]))

    def _all(self, courses: Sequence[Course]) -> Course:
        """Run all at the same time; return whether every one succeeded."""
        done = yield self.environment.all_of([self.environment.process(course) for course in courses])
        return all(cast(Mapping[Event, bool], done).values())

    def _send(self, place: StationVisits, instance: int, send: Send) -> Course:
        if send.every is not None:
            return bool((yield self._collected(place, instance, send)))
        channels = self.channels.get((place.station.name, send.to), ())
        count = place.receivers(send)
        if not self.places[send.to].station.services:
            return (yield from self._transmit(channels, count, send, 1))
        if count == 1:
            return (yield from self._delivered(channels, send, 1))
        return (yield from self._all([self._delivered(channels, send, 1) for _ in range(count)]))

    def _delivered(self, channels: tuple[Channel, ...], send: Send, items: int) -> Course:
        arrived = yield from self._transmit(channels, 1, send, items)
        return arrived and (yield from self._visit(send.to, send.request, items))

    def _collected(self, place: StationVisits, instance: int, send: Send) -> Event:
        """An event that happens when the instance's current batch has been sent and handled."""
        key, done = (id(send), instance), self.environment.event()
        if key not in self._batches:
            self._batches[key] = []
            self.environment.process(self._flush(place, instance, send))
        self._batches[key].append(done)
        return done

    def _flush(self, place: StationVisits, instance: int, send: Send) -> Generator[Event, object, None]:
        period, name = send.every or math.inf, place.station.name
        # Instances do not send in step.
        yield self.environment.timeout(period - (self.environment.now - place.phase(instance) * period) % period)
        events = self._batches.pop((id(send), instance))
        done = yield from self._delivered(self.channels.get((name, send.to), ()), send, len(events))
        for event in events:
            event.succeed(done)

    def _transmit(self, channels: tuple[Channel, ...], count: int, send: Send, items: int) -> Course:
        """Send until the last of `count` receivers has the message; return whether none was given up."""
        return self._attempt(self._shared_out(channels, count), send, items, send.resends)

    def _attempt(self, receivers: Sequence[Receivers], send: Send, items: int, resends: int) -> Course:
        """Send, and send again without timely acknowledgement: the message or its acknowledgement was lost or late."""
        environment = self.environment
        now = arrived = environment.now
        again = []
        for channel, missing, silent in receivers:
            arrival = channel.send(now, missing + silent, send.size * items, is_first=resends == send.resends)
            lost = channel.lost(missing)
            if missing > lost:
                arrived = max(arrived, arrival)
            unheard = 0
            if send.timeout is not None:
                there = missing + silent - lost
                is_late = arrival + channel.acknowledgement > now + send.timeout
                unheard = there if is_late else channel.lost(there)
            if lost or unheard:
                again.append(Receivers(channel, lost, unheard))
        missing = sum(each.missing for each in again)
        if again and send.timeout is not None and resends:
            following = self._resend(again, send, items, resends - 1)
            if missing:
                is_dealt_with = yield from following
            else:
                environment.process(following)
                is_dealt_with = True
        else:
            self.given_up += [environment.now] * missing
            is_dealt_with = not missing
        if arrived > environment.now:
            yield environment.timeout(arrived - environment.now)
        return is_dealt_with

    def _resend(self, receivers: Sequence[Receivers], send: Send, items: int, resends: int) -> Course:
        yield self.environment.timeout(send.timeout or 0.0)
        return (yield from self._attempt(receivers, send, items, resends))

    def _shared_out(self, channels: tuple[Channel, ...], count: int) -> list[Receivers]:
        if len(channels) == 1 and count:
            return [Receivers(channels[0], count, 0)]
        shared, rest = [], 1.0
        for channel in channels[:-1]:
            number = int(self._splits.binomial(count, min(channel.link.share / rest, 1.0)))
            shared.append(Receivers(channel, number, 0))
            count, rest = count - number, rest - channel.link.share
        shared += [Receivers(channel, count, 0) for channel in channels[-1:]]
        return [each for each in shared if each.missing]


def _channels(design: Design, streams: Streams) -> dict[tuple[str, str], tuple[Channel, ...]]:
    channels: dict[tuple[str, str], tuple[Channel, ...]] = {}
    for link in design.world_view.links:
        ends = (link.source, link.to)
        beside = channels.get(ends, ())
        number = f" {len(beside) + 1}" if link.share < 1 else ""
        channels[ends] = (*beside, Channel(link, f"{link.source} → {link.to}{number}", streams))
    return channels


def _message(arrival: Arrival, kind: str) -> Send:
    return Send.model_construct(
        to=arrival.to, request=kind, size=arrival.size, timeout=arrival.timeout, resends=arrival.resends
    )


def _pick(shares: Sequence[tuple[str, float]], remainder: float) -> str:
    for name, share in shares:
        remainder -= share
        if remainder < 0:
            return name
    return shares[-1][0]
