"""Spans of distributed traces as columns, and the trees that they make: shared by the readers of their formats."""

import math
import re
from array import array
from dataclasses import dataclass, field
from functools import lru_cache
from sys import intern
from typing import Final

from msgspec.structs import replace

from perf_culprit.errors import DataError
from perf_culprit.model.call_tree import Profile, RecordFault
from perf_culprit.read.profiles.profile_file import ProfileFile
from perf_culprit.read.profiles.profile_tree import TOP, Frame, ProfileTree, bounded, frame

MAX_SPANS: Final = 5_000_000
# What OpenTelemetry's specification says where an instrumented program does not name itself.
UNKNOWN_SERVICE: Final = "unknown_service"
MAX_TIME_NS: Final = 2**63 - 1
MS_PER_NS: Final = 1e-6
MAX_TYPES: Final = 1_000
# Parts of a path or values of a query that are numbers, UUIDs or hashes.
_IDS: Final = re.compile(r"(?<=[/=])(?:[0-9]++|(?=[a-fA-F-]*+[0-9])[0-9a-fA-F-]{8,}+)(?=$|[/?&#,; ])")
# Of one request type; more calls than this are put together in the order of their time.
MOST_REPETITIONS: Final = 1_000
_NO_PARENT: Final = -1
# What a caller waits for beyond the callee's span: transport, queues, retries.
NETWORK: Final = "(network)"


@dataclass(kw_only=True, slots=True)
class Spans:
    """All spans of a file, as columns. `keys`: trace and span id -> place in the columns."""

    file: ProfileFile
    keys: dict[str, int] = field(default_factory=dict)
    parent_keys: list[str] = field(default_factory=list)
    starts: "array[int]" = field(default_factory=lambda: array("q"))
    ends: "array[int]" = field(default_factory=lambda: array("q"))
    names: list[str] = field(default_factory=list)
    services: list[str] = field(default_factory=list)

    def take(
        self,
        *,
        trace: str,
        span: str,
        parent: str,
        start: int | None,
        end: int | None,
        name: str,
        service: str,
        at: str,
        text: object,
    ) -> None:
        """Times in ns, None where they are none. An empty `parent` is none. `at` and `text` are for complaints."""
        key = f"{trace}/{span}"
        if start is None or end is None or not 0 <= start <= end <= MAX_TIME_NS:
            self.file.reject(RecordFault.NUMBER, text, at=at)
            return
        if key in self.keys:
            self.file.reject(RecordFault.REPEATED, text, at=at)
            return
        if len(self.keys) >= MAX_SPANS:
            raise DataError(f"holds more than {MAX_SPANS:,} spans", next_step="give files of a shorter time")
        self.keys[key] = len(self.starts)
        self.parent_keys.append(f"{trace}/{parent}" if parent else "")
        self.starts.append(start)
        self.ends.append(end)
        self.names.append(intern(name))
        self.services.append(intern(bounded(service) or UNKNOWN_SERVICE))


@dataclass(kw_only=True, slots=True)
class _RequestType:
    """The calls of one root operation, in the order of their starts. `times`: node -> call -> time and own time, ns."""

    tree: ProfileTree = field(default_factory=ProfileTree)
    calls: int = 0
    times: dict[int, dict[int, list[int]]] = field(default_factory=dict)

    def add(self, node: int, *, elapsed: int, own: int) -> None:
        self.tree.add(node, elapsed=0, self_time=0, calls=1)
        sums = self.times.setdefault(node, {}).setdefault(self.calls, [0, 0])
        sums[0] += elapsed
        sums[1] += max(own, 0)

    def profile(self, service: str) -> Profile:
        """A repetition per call; of very many calls, per group of consecutive ones, with their mean."""
        size = math.ceil(self.calls / MOST_REPETITIONS)
        shape = self.tree.profile(service)
        nodes = []
        for i, node in enumerate(shape.nodes):
            elapsed, own = ([0.0] * math.ceil(self.calls / size) for _ in range(2))
            for call, (elapsed_ns, own_ns) in self.times[i].items():
                share = MS_PER_NS / min(size, self.calls - call // size * size)
                elapsed[call // size] += elapsed_ns * share
                own[call // size] += own_ns * share
            calls = self.tree.calls[i] / self.calls
            nodes.append(replace(node, elapsed_ms=tuple(elapsed), self_ms=tuple(own), calls=calls))
        return replace(shape, nodes=tuple(nodes), repetitions=math.ceil(self.calls / size), are_calls=True)


def profiles(spans: Spans) -> tuple[Profile, ...]:
    """One per operation that begins traces (a request type), as `service: operation`; each trace is a call of it.

    All spans are `service: name`, ids in paths left out. Self time is the time of a span in which none of its children
    ran; of a span that only calls another service it is `callee: (network)`, below it.
    """
    parents = array("l", [_NO_PARENT]) * len(spans.starts)
    children: dict[int, list[int]] = {}
    roots = []
    for i, key in enumerate(spans.parent_keys):
        parent = spans.keys.get(key, _NO_PARENT)
        if parent == _NO_PARENT:
            roots.append(i)
            if key:
                spans.file.reject(RecordFault.LOST_PARENT, spans.names[i])
        else:
            parents[i] = parent
            children.setdefault(parent, []).append(i)
    own = _self_times(spans, parents)
    types: dict[str, _RequestType] = {}
    roots.sort(key=spans.starts.__getitem__)
    reached = _add(spans, roots, children, own, types=types)
    for i, name in enumerate(spans.names):
        if not reached[i]:
            spans.file.reject(RecordFault.CYCLE, name)
    return tuple(one.profile(service) for service, one in types.items())


def _self_times(spans: Spans, parents: "array[int]") -> list[int]:
    """Each span's time less the union of its children's, as far as they lie within it."""
    own = [end - start for start, end in zip(spans.starts, spans.ends, strict=True)]
    covered = array("q", spans.starts)
    for i in sorted(range(len(own)), key=spans.starts.__getitem__):
        parent = parents[i]
        if parent != _NO_PARENT:
            start, end = max(spans.starts[i], covered[parent]), min(spans.ends[i], spans.ends[parent])
            if end > start:
                own[parent] -= end - start
                covered[parent] = end
    return own


def _add(
    spans: Spans,
    roots: list[int],
    children: dict[int, list[int]],
    own: list[int],
    *,
    types: dict[str, _RequestType],
) -> bytearray:
    """Fills the request types; which spans were reached from the roots: those on a circle are not."""
    reached = bytearray(len(own))
    for root in roots:
        request = types.setdefault(_frame(spans.services[root], spans.names[root]).method, _RequestType())
        if len(types) > MAX_TYPES:
            raise DataError(
                f"more than {MAX_TYPES:,} different operations begin traces",
                place=spans.file.place,
                next_step="check that the names of root spans leave out arguments and ids",
            )
        stack = [(root, TOP, "")]
        while stack:
            i, parent, caller = stack.pop()
            reached[i] = 1
            service, below = spans.services[i], children.get(i, [])
            node = request.tree.child(parent, _frame(service, spans.names[i]))
            callees = {spans.services[child] for child in below}
            is_client = service == caller and len(callees) == 1 and service not in callees
            if node == parent:
                spans.file.reject(RecordFault.TOO_DEEP, spans.names[i])
            else:
                request.add(node, elapsed=spans.ends[i] - spans.starts[i], own=0 if is_client else own[i])
            if is_client and (network := request.tree.child(node, _frame(*callees, NETWORK))) != node:
                request.add(network, elapsed=own[i], own=own[i])
            stack += [(child, node, service) for child in below]
        request.calls += 1
    return reached


@lru_cache(maxsize=1 << 15)
def _frame(service: str, name: str) -> Frame:
    return frame(f"{service}: {_IDS.sub('*', name)}")
