"""One service's numbers in both revisions, and their trees merged into one."""

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from msgspec.structs import replace
from scipy import special

from perf_culprit.arrays import ABSENT
from perf_culprit.explain.diagnosis_constants import CONFIDENCE, FEWEST_TO_TRIM
from perf_culprit.model.call_tree import Profile
from perf_culprit.model.report import NodeAmount
from perf_culprit.read.logs.log_reader import ReadLog
from perf_culprit.read.logs.merged_tree import Sums
from perf_culprit.read.logs.service_calls import ServicePart
from perf_culprit.read.profiles.profile_tree import SAMPLES, WEIGHT

SHARE_UNIT: Final = "share"
# 10 to 30 batches estimate the variance well; more make the means less normal [Schmeiser 1982].
CALL_GROUPS: Final = 30


@dataclass(frozen=True, slots=True)
class Spread:
    """`mean` per repetition and `squares`, the sum of squared deviations from it; `values` if each one is known.

    `count`: the number of repetitions, or of a log's calls, that it is over. `is_chosen`: whether these are all calls,
    or those that ran the method, was decided by how many ran it.
    """

    mean: float
    squares: float
    count: int
    values: tuple[float, ...] | None = None
    is_chosen: bool = False


@dataclass(frozen=True, slots=True)
class Ran:
    """Sums over those of the service's `calls` that ran a path or a method of a log."""

    sums: Sums
    calls: int

    @property
    def count(self) -> int:
        return int(min(self.sums.ran, self.calls))

    @property
    def share(self) -> float:
        return self.count / self.calls

    def node(self, method: str, *, parent: int | None = None, calls: float | None = None) -> "ObservedNode":
        """Return it with zeros for the calls that did not run it."""
        elapsed, own = self._spreads(self.calls)
        return ObservedNode(method=method, parent=parent, elapsed=elapsed, own=own, calls=calls, ran=self)

    def among_own(self, node: "ObservedNode", share: float) -> "ObservedNode":
        """Return it over the calls that ran it, as if `share` of all calls had."""
        elapsed, own = self._spreads(self.count, share)
        return dataclasses.replace(node, elapsed=elapsed, own=own)

    def _spreads(self, count: int, share: float = 1.0) -> Iterator[Spread]:
        sums, is_chosen = self.sums, self.count < self.calls
        for total, squares in ((sums.elapsed_ms, sums.elapsed), (sums.own_ms, sums.own)):
            mean = total / count
            # Rounding of the two large terms may leave a negative number.
            around = max(0.0, squares - total * mean)
            yield Spread(share * mean, share**2 * around, count, is_chosen=is_chosen)


@dataclass(frozen=True, kw_only=True, slots=True)
class ObservedNode:
    method: str
    parent: int | None
    elapsed: Spread
    own: Spread
    calls: float | None = None
    file: str | None = None
    line: int | None = None
    ran: Ran | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Observed:
    """`wholes`: the number of samples of each repetition if stacks were sampled; empty otherwise.

    `methods`: of logs, each method over all its paths: sums of its paths do not tell how they vary together.
    """

    service: str
    unit: str
    repetitions: int
    nodes: tuple[ObservedNode, ...]
    wholes: tuple[float, ...] = ()
    methods: Mapping[str, ObservedNode] = field(default_factory=dict)

    @property
    def whole(self) -> float | None:
        return sum(self.wholes) if self.wholes else None

    @property
    def total(self) -> float:
        return sum(node.elapsed.mean for node in self.nodes if node.parent is None)

    @property
    def totals(self) -> tuple[float, ...]:
        """The total of each repetition, if single values are known."""
        values = [node.elapsed.values for node in self.nodes if node.parent is None]
        return tuple(map(sum, zip(*(one for one in values if one is not None), strict=True)))


def observed_profile(profile: Profile, *, same_work: bool = False) -> Observed:
    """Observe a profile. Samples become shares of all samples, unless both sides did equal work; sampled times stay."""
    profile = _grouped(profile)
    wholes = _wholes(profile) if profile.unit in (SAMPLES, WEIGHT) else None
    scale = None if wholes is None or same_work else [1 / whole if whole else 0.0 for whole in wholes]
    counts = wholes if profile.unit == SAMPLES else profile.samples
    return Observed(
        service=profile.service,
        unit=profile.unit if scale is None else SHARE_UNIT,
        repetitions=profile.repetitions,
        nodes=tuple(
            ObservedNode(
                method=node.method,
                parent=node.parent,
                elapsed=spread(_scaled(node.elapsed_ms, scale)),
                own=spread(_scaled(node.self_ms, scale)),
                calls=node.calls,
                file=node.file,
                line=node.line,
            )
            for node in profile.nodes
        ),
        wholes=tuple(counts or ()),
    )


def observed_log(log: ReadLog) -> tuple[Observed, ...]:
    """Observe each service; every call is a repetition, and a path that it did not take has the time 0."""
    return tuple(_observe(service, part) for service, part in sorted(log.part.services.items()))


def _observe(service: bytes, part: ServicePart) -> Observed:
    if part.tree.squares is None:
        raise ValueError("the log was read without squares")
    nodes = zip(part.tree.nodes(), part.tree.squares.of_nodes(len(part.tree.methods)), strict=True)
    methods = {name.decode("utf-8", "replace"): sums for name, sums in part.tree.squares.of_methods().items()}
    return Observed(
        service=service.decode("utf-8", "replace"),
        unit="ms",
        repetitions=part.calls,
        nodes=tuple(
            Ran(sums, part.calls).node(node.method, parent=node.parent, calls=node.calls / part.calls)
            for node, sums in nodes
        ),
        methods={name: Ran(sums, part.calls).node(name) for name, sums in methods.items()},
    )


def spread(values: Sequence[float]) -> Spread:
    """Compute in two passes, so that a small spread on a large mean survives; equal values have exactly no spread."""
    first = values[0]
    mean = first + sum(value - first for value in values) / len(values)
    squares = sum((value - mean) ** 2 for value in values) if any(v != first for v in values) else 0.0
    return Spread(mean, squares, len(values), tuple(values))


def added_up(spreads: Sequence[Spread], *, repetitions: int) -> Spread:
    """Return the spread of the paths' sum. Without single values it is the maximum, as if all varied together."""
    if not spreads:
        return Spread(0.0, 0.0, repetitions, (0.0,) * repetitions)
    if len(spreads) == 1:
        return spreads[0]
    columns = [one.values for one in spreads if one.values is not None]
    if len(columns) == len(spreads):
        return spread([sum(values) for values in zip(*columns, strict=True)])
    return Spread(
        sum(one.mean for one in spreads),
        sum(math.sqrt(one.squares) for one in spreads) ** 2,
        min(one.count for one in spreads),
        is_chosen=any(one.is_chosen for one in spreads),
    )


def _scaled(values: Sequence[float], scale: Sequence[float] | None) -> Sequence[float]:
    return values if scale is None else [value * factor for value, factor in zip(values, scale, strict=True)]


def _grouped(profile: Profile) -> Profile:
    """Replace calls by the means of up to CALL_GROUPS groups of consecutive calls.

    A call takes only some of the paths, so its times are not a sample of one distribution. Neighbours also share the
    machine's state. Batch means solve both problems [Law 2015, section 9.5.3].
    """
    size = math.ceil(profile.repetitions / CALL_GROUPS)
    if not profile.are_calls or size == 1:
        return profile

    def means(times: Sequence[float]) -> tuple[float, ...]:
        groups = (times[start : start + size] for start in range(0, len(times), size))
        return tuple(sum(group) / len(group) for group in groups)

    nodes = (replace(node, elapsed_ms=means(node.elapsed_ms), self_ms=means(node.self_ms)) for node in profile.nodes)
    return replace(profile, nodes=tuple(nodes), repetitions=math.ceil(profile.repetitions / size))


def _wholes(profile: Profile) -> list[float]:
    """The samples or the total weight of each repetition."""
    roots = [node.elapsed_ms for node in profile.nodes if node.parent is None]
    return [sum((times[i] for times in roots), start=0.0) for i in range(profile.repetitions)]


# The parts of a method's name that differ between runs or builds: addresses, line numbers, process and object ids, and
# the numbers of generated code (lambdas, anonymous classes, Rust's and GCC's clones).
_VOLATILE: Final = re.compile(
    r"0x[0-9a-fA-F]++|::h[0-9a-f]{16}\b|\.(?:constprop|isra|part|cold|llvm)\.[0-9]++|[$#][0-9]++|(?<=[:@\[(])[0-9]++"
    r"|(?<=Lambda)[/0-9$x a-f]++|\b[0-9]{4,}\b|(?<=> compilation )[0-9]++|_[0-9]++$"
)


def stable(method: str) -> str:
    """Return the name without parts that differ between runs; the unchanged name if nothing else remains."""
    return _VOLATILE.sub("*", method) or method


def counterparts(baseline: Observed, target: Observed) -> Mapping[str, str]:
    """Map methods of the target to methods of the baseline that have another name there.

    Pair unique equal stable names first, then those in another folder, such as a worktree's, or in another file or
    class: those methods moved.
    """
    before, after = ({node.method for node in side.nodes} for side in (baseline, target))
    gone, new = before - after, after - before
    matched: dict[str, str] = {}
    for key in (stable, _without_folder, _bare):
        pairs = _unique_pairs(gone, new, key=key)
        matched |= pairs
        gone, new = gone - set(pairs.values()), new - set(pairs)
    return matched


def _unique_pairs(gone: Collection[str], new: Collection[str], *, key: Callable[[str], str]) -> dict[str, str]:
    counts = [Counter(map(key, names)) for names in (gone, new)]
    by_key = {key(name): name for name in gone}
    return {name: by_key[key(name)] for name in sorted(new) if all(count[key(name)] == 1 for count in counts)}


def _without_folder(method: str) -> str:
    """The name without the folder that distinguishes files such as `__init__.py` and `index.js`."""
    folder, _, name = stable(method).partition("/")
    return name if name and ":" not in folder else method


def _bare(method: str) -> str:
    """The name without file and class; the full name if the short one is ambiguous, such as `get` or `__init__`."""
    name = re.split(r"[.:/]", stable(method))[-1]
    return name if len(name) > _SHORT and not name.startswith(("<", "__")) else method


_SHORT: Final = 3


@dataclass(kw_only=True, slots=True)
class AlignedNode:
    """`parent` and `children` are indices; a side that never took the path is None."""

    method: str
    parent: int
    baseline: ObservedNode | None = None
    target: ObservedNode | None = None
    children: list[int] = field(default_factory=list)

    @property
    def is_in_both(self) -> bool:
        return self.baseline is not None and self.target is not None

    @property
    def side(self) -> ObservedNode:
        """The target's node if it has the path, else the baseline's."""
        side = self.target or self.baseline
        if side is None:
            raise ValueError("a path that neither revision took")
        return side

    @property
    def gain(self) -> float:
        """The additional time of the path, callees included."""
        return _elapsed_time(self.target) - _elapsed_time(self.baseline)


@dataclass(frozen=True, kw_only=True)
class AlignedTree:
    """Parents come before children. `methods`: of logs, each method over all its paths."""

    baseline: Observed
    target: Observed
    nodes: tuple[AlignedNode, ...]
    methods: Mapping[str, AlignedNode]

    @cached_property
    def roots(self) -> list[int]:
        return [i for i, node in enumerate(self.nodes) if node.parent == ABSENT]

    def path(self, index: int) -> tuple[str, ...]:
        names: list[str] = []
        while index != ABSENT:
            names.append(self.nodes[index].method)
            index = self.nodes[index].parent
        return tuple(reversed(names))


def aligned(baseline: Observed, target: Observed) -> AlignedTree:
    """Merge the trees; methods have the target's names. Single roots are merged whatever their names, as of scripts."""
    pairs = counterparts(baseline, target)
    names = {before: after for after, before in pairs.items()}
    tops = [[node.method for node in side.nodes if node.parent is None] for side in (baseline, target)]
    lonely = len(tops[0]) == len(tops[1]) == 1
    nodes: list[AlignedNode] = []
    index: dict[tuple[int, str], int] = {}
    for is_target, side in ((True, target), (False, baseline)):
        places: list[int] = []
        for node in side.nodes:
            parent = ABSENT if node.parent is None else places[node.parent]
            method = node.method if is_target else names.get(node.method, node.method)
            if lonely and parent == ABSENT:
                method = tops[1][0]
            place = index.get((parent, method))
            if place is None:
                place = index[parent, method] = len(nodes)
                nodes.append(AlignedNode(method=method, parent=parent))
                if parent != ABSENT:
                    nodes[parent].children.append(place)
            places.append(place)
            if is_target:
                nodes[place].target = node
            else:
                nodes[place].baseline = node
    for one in nodes:
        one.baseline, one.target = _as_often(one.baseline, one.target)
    if lonely:
        names |= {tops[0][0]: tops[1][0]}
    before = {names.get(name, name): one for name, one in baseline.methods.items()}
    methods = {name: _as_often(before.get(name), target.methods.get(name)) for name in {**before, **target.methods}}
    return AlignedTree(
        baseline=baseline,
        target=target,
        nodes=tuple(nodes),
        methods={
            name: AlignedNode(method=name, parent=ABSENT, baseline=a, target=b) for name, (a, b) in methods.items()
        },
    )


# Two shares of calls differ if their difference is beyond this number of standard errors.
_ERRORS: Final = float(special.ndtri((1 + CONFIDENCE) / 2))


def _as_often(
    before: ObservedNode | None, after: ObservedNode | None
) -> tuple[ObservedNode | None, ObservedNode | None]:
    """Return both over their own executions, as if equal shares of the calls had run them, unless the shares differ.

    Calls that did not run a method are zeros, which hide how long it takes. The load decides which methods run.
    """
    if before is None or after is None or before.ran is None or after.ran is None:
        return before, after
    ran = (before.ran, after.ran)
    both = sum(one.count for one in ran) / sum(one.calls for one in ran)
    error = math.sqrt(both * (1 - both) * sum(1 / one.calls for one in ran))
    # Fewer calls that ran a method tell nothing of how its times vary.
    are_few = min(one.count for one in ran) < FEWEST_TO_TRIM
    if both == 1 or are_few or abs(ran[0].share - ran[1].share) > _ERRORS * error:
        return before, after
    return before.ran.among_own(before, both), after.ran.among_own(after, both)


def relative_change(before: NodeAmount | None, after: NodeAmount | None) -> float | None:
    """Return the relative change with callees; None if a side is missing, or the baseline is (almost) zero."""
    if before is None or after is None:
        return None
    relative = after.elapsed / before.elapsed - 1 if before.elapsed > 0 else math.inf
    return relative if math.isfinite(relative) else None


def _elapsed_time(node: ObservedNode | None) -> float:
    return node.elapsed.mean if node is not None else 0.0
