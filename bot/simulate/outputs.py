"""From what happened to what is reported: each layer's outputs as means over windows of time."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from bot.model.metric import Direction, Metric
from bot.model.simulation import Layer, Output
from bot.simulate.channel import Channel
from bot.simulate.network import Network
from bot.simulate.place import Place

Floats: TypeAlias = NDArray[np.float64]
Measured: TypeAlias = tuple[Output, Floats]

LAYERS = {"cpu": Layer.PHYSICAL, "ram": Layer.PHYSICAL, "disk": Layer.PHYSICAL, "places": Layer.WORLD_VIEW}


def outputs(network: Network, edges: Floats) -> Iterator[Measured]:
    """Each output with its mean in each window between two of the `edges` (n + 1,), shape (n,)."""
    yield from _requests(network, edges)
    for channels in network.channels.values():
        for channel in channels:
            yield from _link(channel, edges)
    if any(channel.link.loss for channels in network.channels.values() for channel in channels):
        yield _output("messages", "given up", "events/s", Layer.WORLD_VIEW), _per_second(network.given_up, edges)
    for place in network.places.values():
        yield from _component(place, edges)


def _requests(network: Network, edges: Floats) -> Iterator[Measured]:
    for kind, responses in sorted(network.responses.items()):
        rows = np.array(responses, dtype=np.float64).reshape(-1, 3)
        fine = rows[rows[:, 2] == 1]
        taken, _ = np.histogram(fine[:, 1], edges, weights=fine[:, 1] - fine[:, 0])
        ended, _ = np.histogram(fine[:, 1], edges)
        throughput = _output(kind, "throughput", "requests/s", Layer.WORLD_VIEW, Direction.HIGHER_IS_BETTER)
        with np.errstate(invalid="ignore"):
            yield _output(kind, "response time", "s", Layer.WORLD_VIEW), taken / ended
        yield throughput, ended / np.diff(edges)


def _link(channel: Channel, edges: Floats) -> Iterator[Measured]:
    link = channel.link
    if link.bandwidth is not None and link.shared:
        used = time_average([channel.busy], edges, first=1, last=2)
        yield _output(channel.name, "utilisation", "%", Layer.WORLD_VIEW), 100 * used
    if link.price_per_message or link.price_per_megabyte:
        uses = np.array(channel.uses, dtype=np.float64).reshape(-1, 3)
        cost, _ = np.histogram(uses[:, 0], edges, weights=uses[:, 2])
        sent, _ = np.histogram(uses[:, 0], edges, weights=uses[:, 1])
        with np.errstate(invalid="ignore", divide="ignore"):
            yield _output(channel.name, "cost per message", "$", Layer.WORLD_VIEW), cost / sent
        yield _output(channel.name, "cost per hour", "$", Layer.WORLD_VIEW), 3600 * cost / np.diff(edges)


def _component(place: Place, edges: Floats) -> Iterator[Measured]:
    station = place.station
    if not station.resources:
        return
    waiting = time_average(place.visits.values(), edges, first=0, last=1)
    yield _output(station.name, "queue length", "", Layer.COMPONENT), waiting
    if station.room is not None:
        yield _output(station.name, "refused", "requests/s", Layer.COMPONENT), _per_second(place.refused, edges)
    in_service = {kind: time_average([rows], edges, first=1, last=2) for kind, rows in place.visits.items()}
    for position, (resource, capacity) in enumerate(zip(station.resources, station.capacities, strict=True)):
        held = sum(
            (dict(station.services[kind].needs).get(position, 0.0) * busy for kind, busy in in_service.items()),
            start=np.zeros(len(edges) - 1),
        )
        layer = LAYERS.get(resource, Layer.COMPONENT)
        share = 100 * held / (capacity * station.instances)
        yield _output(station.name, f"{resource} utilisation", "%", layer), share


def _output(of: str, name: str, unit: str, layer: Layer, direction: Direction = Direction.LOWER_IS_BETTER) -> Output:
    return Output(of=of, metric=Metric(name=name, unit=unit, direction=direction), layer=layer)


def _per_second(times: Sequence[float], edges: Floats) -> Floats:
    counts, _ = np.histogram(np.array(times, dtype=np.float64), edges)
    return counts / np.diff(edges)


def time_average(visits: Iterable[Sequence[Sequence[float]]], edges: Floats, *, first: int, last: int) -> Floats:
    """How many of the visits were between these two of their moments, on average in each window, shape (n,)."""
    kinds = [np.array(rows, dtype=np.float64) for rows in visits if rows]
    if not kinds:
        return np.zeros(len(edges) - 1)
    rows = np.concatenate(kinds)
    passed = _sum_of_minima(rows[:, last], edges) - _sum_of_minima(rows[:, first], edges)
    return np.diff(passed) / np.diff(edges)


def _sum_of_minima(moments: Floats, times: Floats) -> Floats:
    """Of each time the sum over all moments of the earlier of both, shape (n,): what none has passed counts as now."""
    ordered = np.sort(moments)
    before = np.searchsorted(ordered, times)
    sums = np.concatenate([[0.0], np.cumsum(np.where(np.isfinite(ordered), ordered, 0.0))])
    answer: Floats = sums[before] + times * (len(ordered) - before)
    return answer
