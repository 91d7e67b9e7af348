"""Spans of distributed traces as columns, and the trees built from them; shared by the readers of their formats."""

import math
import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from msgspec.structs import replace

from perf_culprit.arrays import Integers
from perf_culprit.errors import DataError
from perf_culprit.model.call_tree import Profile, RecordFault
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.unit_sizes import MILLISECONDS
from perf_culprit.read.profiles.profile_file import ProfileFile
from perf_culprit.read.profiles.profile_tree import (
    TOP,
    Frame,
    ProfileTree,
    bounded,
    frame,
)

# OpenTelemetry's specified default for an instrumented program that does not name itself.
UNKNOWN_SERVICE: Final = "unknown_service"
# Path segments or query values that are numbers, UUIDs or hashes.
_IDS: Final = re.compile(r"(?<=[/=])(?:[0-9]++|(?=[a-fA-F-]*+[0-9])[0-9a-fA-F-]{8,}+)(?=$|[/?&#,; ])")
FEWEST_REPETITIONS: Final = 60
_NO_PARENT: Final = -1
_LOST_PARENT: Final = -2
# The caller's waiting time outside of the callee's span: transport, queues, retries.
NETWORK: Final = "(network)"


@dataclass(kw_only=True, slots=True)
class Spans:
    """A file's spans as columns. `traces`: trace id -> span id -> place. `kinds`: service and name -> number.

    `waiting`: spans read before their parent, each with its trace and the parent's id. `servers`: spans that share
    their id with a client.
    """

    file: ProfileFile
    traces: dict[str, dict[str, int]] = field(default_factory=dict)
    parents: "array[int]" = field(default_factory=lambda: array("q"))
    starts: "array[int]" = field(default_factory=lambda: array("q"))
    ends: "array[int]" = field(default_factory=lambda: array("q"))
    of_kind: "array[int]" = field(default_factory=lambda: array("q"))
    kinds: dict[tuple[str, str], int] = field(default_factory=dict)
    waiting: list[tuple[int, dict[str, int], str]] = field(default_factory=list)
    servers: list[int] = field(default_factory=list)

    def take(
        self,
        ids: Sequence[str],
        start: int | None,
        end: int | None,
        name: str,
        service: str,
        *,
        is_shared: bool = False,
    ) -> RecordFault | None:
        """Add a span; return why it is not used, or None. `ids`: trace, span, parent, or empty. Times in ns, or None.

        `is_shared`: it is a server's span; the enclosing span of its client has the same id.
        """
        trace, span, parent = ids
        if is_shared:
            span, parent = _server(span), span
        if start is None or end is None or not 0 <= start <= end <= FILE_LIMITS.span_time_ns:
            return RecordFault.NUMBER
        own = self.traces.get(trace)
        if own is None:
            own = self.traces[trace] = {}
        place = len(self.starts)
        if own.setdefault(span, place) != place:
            return RecordFault.REPEATED
        if place >= FILE_LIMITS.spans:
            raise DataError(f"holds more than {FILE_LIMITS.spans:,} spans", next_step="give files of a shorter time")
        above = own.get(parent, _LOST_PARENT) if parent else _NO_PARENT
        if above == _LOST_PARENT:
            self.waiting.append((place, own, parent))
        kind = self.kinds.get((service, name))
        if kind is None:
            kind = self.kinds[service, name] = len(self.kinds)
        if is_shared:
            self.servers.append(place)
        self.parents.append(above)
        self.starts.append(start)
        self.ends.append(end)
        self.of_kind.append(kind)
        return None

    def callers(self) -> Integers:
        """Return each span's parent, or the code for why it has none. Children of a shared id belong to the server."""
        for place, own, parent in self.waiting:
            above = own.get(parent, own.get(_server(parent), _LOST_PARENT))
            self.parents[place] = _LOST_PARENT if above == place else above
        parents, servers = np.array(self.parents, np.int64), np.array(self.servers, np.int64)
        server_of = np.arange(len(parents))
        has_client = servers[parents[servers] >= 0]
        server_of[parents[has_client]] = has_client
        callers = np.where(parents < 0, parents, server_of[parents])
        callers[servers] = parents[servers]
        return callers


def _server(span: str) -> str:
    return f"{span} SERVER"


def profiles(spans: Spans) -> tuple[Profile, ...]:
    """Make a profile per root operation (request type), as `service: operation`; each trace is a call of it.

    All spans are named `service: name`, without ids in paths. Self time is the part of a span's time in which none of
    its children ran. If a span only calls another service, this time becomes the node `callee: (network)` below it.
    """
    parents = spans.callers()
    spans.traces.clear()
    spans.waiting.clear()
    forest = _Forest(spans, parents)
    forest.reject(RecordFault.LOST_PARENT, np.flatnonzero(forest.parents == _LOST_PARENT))
    roots = np.flatnonzero(forest.parents < 0)
    roots = roots[np.argsort(forest.starts[roots], kind="stable")]
    types, firsts, own_type = np.unique(forest.frame_of[roots], return_index=True, return_inverse=True)
    if len(types) > FILE_LIMITS.request_types:
        raise DataError(
            f"more than {FILE_LIMITS.request_types:,} different operations begin traces",
            place=spans.file.place,
            next_step="check that the names of root spans leave out arguments and ids",
        )
    made = tuple(forest.request_type(roots[own_type == number]) for number in np.argsort(firsts))
    forest.reject(RecordFault.CYCLE, np.flatnonzero(~forest.reached))
    return made


class _Forest:
    """The spans as trees. `frame_of`, `service_of`: the number of each span's frame, and of its service."""

    def __init__(self, spans: Spans, parents: Integers) -> None:
        self.file = spans.file
        self.kinds = [*spans.kinds]
        self.parents = parents
        self.starts, ends, self.of_kind = (
            np.array(column, np.int64) for column in (spans.starts, spans.ends, spans.of_kind)
        )
        self.elapsed = ends - self.starts
        self.own = _self_times(self.starts, ends, self.parents)
        self.reached = np.zeros(len(ends), bool)
        self.frames: dict[str, int] = {}
        services = [bounded(service) or UNKNOWN_SERVICE for service, _ in self.kinds]
        numbers = {service: number for number, service in enumerate(dict.fromkeys(services))}
        of_kind = [
            self._frame(f"{one}: {_IDS.sub('*', name)}") for one, (_, name) in zip(services, self.kinds, strict=True)
        ]
        self.frame_of = np.array(of_kind, np.int64)[self.of_kind]
        self.service_of = np.array([numbers[one] for one in services], np.int64)[self.of_kind]
        self.networks = np.array([self._frame(f"{one}: {NETWORK}") for one in numbers], np.int64)
        self.methods = [*map(Frame, self.frames)]
        # Siblings are adjacent in this order.
        self.by_parent = np.argsort(self.parents, kind="stable")
        self.first_child = np.searchsorted(self.parents[self.by_parent], np.arange(len(ends) + 1))
        self.children = np.diff(self.first_child)
        self.callee = self._callees()

    def _frame(self, name: str) -> int:
        return self.frames.setdefault(frame(name).method, len(self.frames))

    def _callees(self) -> Integers:
        """Return the one other service that a span calls for its caller's service, else -1."""
        callees = np.full(len(self.parents), -1)
        has = np.flatnonzero(self.children)
        if has.size:
            below = self.service_of[self.by_parent]
            low, high = (least.reduceat(below, self.first_child[has]) for least in (np.minimum, np.maximum))
            callers = np.where(self.parents[has] < 0, -1, self.service_of[self.parents[has]])
            own = self.service_of[has]
            callees[has] = np.where((low == high) & (low != own) & (own == callers), low, -1)
        return callees

    def reject(self, fault: RecordFault, spans: Integers) -> None:
        for kind in self.of_kind[spans].tolist():
            self.file.reject(fault, self.kinds[kind][1])

    def request_type(self, roots: Integers) -> Profile:
        """Make the profile of one operation's calls, in the order of their starts, level by level of the trees."""
        tree, executions = ProfileTree(), []
        spans, calls, above = roots, np.arange(len(roots)), np.full(len(roots), TOP)
        for level in range(1, FILE_LIMITS.profile_depth + 1):
            if not spans.size:
                break
            self.reached[spans] = True
            nodes = self._nodes(tree, above, self.frame_of[spans])
            own, callees = self.own[spans], self.callee[spans]
            is_client = callees >= 0
            executions.append(np.stack([nodes, calls, self.elapsed[spans], np.where(is_client, 0, own)]))
            if level < FILE_LIMITS.profile_depth and is_client.any():
                networks = self._nodes(tree, nodes[is_client], self.networks[callees[is_client]])
                executions.append(np.stack([networks, calls[is_client], own[is_client], own[is_client]]))
            counts = self.children[spans]
            before = np.repeat(self.first_child[spans] + counts - np.cumsum(counts), counts)
            spans = self.by_parent[before + np.arange(len(before))]
            above, calls = np.repeat(nodes, counts), np.repeat(calls, counts)
        self._too_deep(spans.tolist())
        return self._profile(tree, np.hstack(executions), calls=len(roots))

    def _too_deep(self, spans: list[int]) -> None:
        while spans:
            span = spans.pop()
            self.reached[span] = True
            self.file.reject(RecordFault.TOO_DEEP, self.kinds[self.of_kind[span]][1])
            spans += self.by_parent[self.first_child[span] : self.first_child[span + 1]].tolist()

    def _nodes(self, tree: ProfileTree, above: Integers, frames: Integers) -> Integers:
        keys, firsts, which = np.unique(above * len(self.methods) + frames, return_index=True, return_inverse=True)
        nodes = np.empty(len(keys), np.int64)
        for key in np.argsort(firsts).tolist():
            first = firsts[key]
            nodes[key] = tree.child(int(above[first]), self.methods[frames[first]])
        return nodes[which]

    def _profile(self, tree: ProfileTree, executions: Integers, *, calls: int) -> Profile:
        """`executions`: node, call, time, own time. Each repetition is one call, or the mean of neighbouring calls."""
        nodes, call, *times = executions
        share = FILE_LIMITS.repetition_times * executions.shape[1] // len(self.parents) // len(tree.frames)
        size = math.ceil(calls / max(FEWEST_REPETITIONS, min(FILE_LIMITS.repetitions, share)))
        repetitions = math.ceil(calls / size)
        cells = nodes * repetitions + call // size
        scale = MILLISECONDS["ns"] / np.minimum(size, calls - size * np.arange(repetitions))
        shape = tree.profile(tree.frames[0].method)
        sums = [
            np.bincount(cells, one, len(tree.frames) * repetitions).reshape(-1, repetitions) * scale for one in times
        ]
        counts = (np.bincount(nodes, minlength=len(tree.frames)) / calls).tolist()
        made = (
            replace(node, elapsed_ms=tuple(elapsed.tolist()), self_ms=tuple(own.tolist()), calls=count)
            for node, elapsed, own, count in zip(shape.nodes, *sums, counts, strict=True)
        )
        return replace(shape, nodes=tuple(made), repetitions=repetitions, are_calls=True)


def _self_times(starts: Integers, ends: Integers, parents: Integers) -> Integers:
    """Return each span's time less the union of its children's times within it."""
    own = ends - starts
    order = np.lexsort((starts, parents))[np.count_nonzero(parents < 0) :]
    above = parents[order]
    begins, stops = np.maximum(starts[order], starts[above]), np.minimum(ends[order], ends[above])
    # The latest end so far among siblings, by ranks, because sums of times could overflow an integer.
    by_stop = np.argsort(stops, kind="stable")
    ranks = np.empty_like(by_stop)
    ranks[by_stop] = np.arange(len(order))
    family = len(order) * np.cumsum(np.diff(above, prepend=_NO_PARENT) != 0)
    latest = stops[by_stop[np.maximum.accumulate(family + ranks) - family]]
    follows = np.flatnonzero(np.diff(above) == 0) + 1
    begins[follows] = np.maximum(begins[follows], latest[follows - 1])
    np.subtract.at(own, above, np.maximum(stops - begins, 0))
    return own
