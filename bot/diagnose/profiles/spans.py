"""Spans of distributed traces as columns, and the trees that they make: shared by the readers of their formats."""

from array import array
from dataclasses import dataclass, field
from typing import Final

from bot.diagnose.profiles.frame import Frame, frame
from bot.diagnose.profiles.intake import Intake
from bot.diagnose.profiles.tree import TOP, ProfileTree
from bot.errors import DataError
from bot.model.profile import Profile, RecordFault

MAX_SPANS: Final = 5_000_000
# What OpenTelemetry's specification says where an instrumented program does not name itself.
UNKNOWN_SERVICE: Final = "unknown_service"
MAX_TIME_NS: Final = 2**63 - 1
MS_PER_NS: Final = 1e-6
_NO_PARENT: Final = -1


@dataclass(kw_only=True, slots=True)
class Spans:
    """All spans, as columns. `keys`: trace and span id -> place in the columns."""

    keys: dict[str, int] = field(default_factory=dict)
    parent_keys: list[str] = field(default_factory=list)
    starts: "array[int]" = field(default_factory=lambda: array("q"))
    ends: "array[int]" = field(default_factory=lambda: array("q"))
    names: list[str] = field(default_factory=list)
    services: list[str] = field(default_factory=list)

    def add(self, *, trace: str, span: str, parent: str, start: int, end: int, name: str, service: str) -> bool:
        """Times in ns. False where the span was there before. An empty `parent` is none."""
        key = f"{trace}/{span}"
        if key in self.keys:
            return False
        if len(self.keys) >= MAX_SPANS:
            raise DataError(f"holds more than {MAX_SPANS:,} spans", next_step="give files of a shorter time")
        self.keys[key] = len(self.starts)
        self.parent_keys.append(f"{trace}/{parent}" if parent else "")
        self.starts.append(start)
        self.ends.append(end)
        self.names.append(name)
        self.services.append(service)
        return True


def profiles(spans: Spans, place: str, intake: Intake) -> tuple[Profile, ...]:
    parents = array("l", [_NO_PARENT]) * len(spans.starts)
    children: dict[int, list[int]] = {}
    roots = []
    for i, key in enumerate(spans.parent_keys):
        parent = spans.keys.get(key, _NO_PARENT)
        if parent == _NO_PARENT:
            roots.append(i)
            if key:
                intake.reject(RecordFault.LOST_PARENT, place=place, text=spans.names[i])
        else:
            parents[i] = parent
            children.setdefault(parent, []).append(i)
    own = _self_times(spans, parents)
    trees: dict[str, ProfileTree] = {}
    reached = _add(spans, roots, children, own, trees=trees, place=place, intake=intake)
    for i, name in enumerate(spans.names):
        if not reached[i]:
            intake.reject(RecordFault.CYCLE, place=place, text=name)
    return tuple(tree.profile(service, scale=MS_PER_NS) for service, tree in trees.items())


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
    trees: dict[str, ProfileTree],
    place: str,
    intake: Intake,
) -> bytearray:
    """Fills the trees; which spans were reached from the roots: those on a circle are not."""
    reached = bytearray(len(own))
    frames: dict[tuple[str, str, str], Frame] = {}
    for root in roots:
        entry = spans.services[root]
        tree = trees.setdefault(entry, ProfileTree())
        stack = [(root, TOP)]
        while stack:
            i, parent = stack.pop()
            reached[i] = 1
            service, name = spans.services[i], spans.names[i]
            known = frames.get((entry, service, name))
            if known is None:
                known = frame(name if service == entry else f"{service}: {name}")
                frames[entry, service, name] = known
            node = tree.child(parent, known)
            if node == parent:
                intake.reject(RecordFault.TOO_DEEP, place=place, text=name)
            else:
                tree.add(node, elapsed=spans.ends[i] - spans.starts[i], self_time=own[i], calls=1)
            stack += [(child, node) for child in children.get(i, ())]
    return reached
