"""One service of one revision in the numbers that the tests need: per path means and sums of squares."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from bot.diagnose.log import ReadLog
from bot.diagnose.merged_tree import MergedTree
from bot.diagnose.profiles.weights import SAMPLES, WEIGHT
from bot.diagnose.squares import NodeSquares
from bot.model.profile import Profile, ProfileNode

SHARE: Final = "share"
# 10 to 30 batches estimate the variance well, more make the means less normal [Schmeiser 1982].
MOST_GROUPS: Final = 30


@dataclass(frozen=True, slots=True)
class Spread:
    """`mean` per repetition and `squares`, the sum of squared deviations from it; `values` where each is known."""

    mean: float
    squares: float
    values: tuple[float, ...] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ObservedNode:
    method: str
    parent: int | None
    elapsed: Spread
    own: Spread
    calls: float | None = None
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Observed:
    """`wholes`: where samples were counted, those of each repetition; empty otherwise."""

    service: str
    unit: str
    repetitions: int
    nodes: tuple[ObservedNode, ...]
    wholes: tuple[float, ...] = ()

    @property
    def whole(self) -> float | None:
        return sum(self.wholes) if self.wholes else None

    @property
    def total(self) -> float:
        return sum(node.elapsed.mean for node in self.nodes if node.parent is None)


def observed_profile(profile: Profile, *, same_work: bool = False) -> Observed:
    """Sampled stacks become shares of all samples, unless both revisions did the same work."""
    profile = _grouped(profile)
    wholes = _wholes(profile) if profile.unit in (SAMPLES, WEIGHT) else None
    scale = None if wholes is None or same_work else [1 / whole if whole else 0.0 for whole in wholes]
    return Observed(
        service=profile.service,
        unit=profile.unit if scale is None else SHARE,
        repetitions=profile.repetitions,
        nodes=tuple(_node(node, scale) for node in profile.nodes),
        wholes=tuple(wholes) if wholes is not None and profile.unit == SAMPLES else (),
    )


def observed_log(log: ReadLog) -> tuple[Observed, ...]:
    """One per service; every call is a repetition, and a path that it did not take has the time 0 in it."""
    return tuple(
        Observed(
            service=service.decode("utf-8", "replace"),
            unit="ms",
            repetitions=part.calls,
            nodes=tuple(
                ObservedNode(
                    method=node.method,
                    parent=node.parent,
                    elapsed=_spread_of_sums(node.elapsed_ms, squares.elapsed, part.calls),
                    own=_spread_of_sums(squares.own_ms, squares.own, part.calls),
                    calls=node.calls / part.calls,
                )
                for node, squares in zip(part.tree.nodes(), _squares(part.tree), strict=True)
            ),
        )
        for service, part in sorted(log.part.services.items())
    )


def _squares(tree: MergedTree) -> Iterable[NodeSquares]:
    if tree.squares is None:
        raise ValueError("the log was read without squares")
    return tree.squares.of_nodes()


def spread(values: Sequence[float]) -> Spread:
    """Two passes, so that a small spread on a large mean survives; equal values have exactly no spread."""
    first = values[0]
    mean = first + sum(value - first for value in values) / len(values)
    squares = sum((value - mean) ** 2 for value in values) if any(v != first for v in values) else 0.0
    return Spread(mean, squares, tuple(values))


def added_up(spreads: Sequence[Spread], *, repetitions: int) -> Spread:
    """Of several paths together; without the single values as if all moved together, the most that they can vary."""
    if not spreads:
        return Spread(0.0, 0.0, (0.0,) * repetitions)
    columns = [one.values for one in spreads if one.values is not None]
    if len(columns) == len(spreads):
        return spread([sum(values) for values in zip(*columns, strict=True)])
    return Spread(sum(one.mean for one in spreads), sum(math.sqrt(one.squares) for one in spreads) ** 2)


def _node(node: ProfileNode, scale: Sequence[float] | None) -> ObservedNode:
    return ObservedNode(
        method=node.method,
        parent=node.parent,
        elapsed=spread(_scaled(node.elapsed_ms, scale)),
        own=spread(_scaled(node.self_ms, scale)),
        calls=node.calls,
        file=node.file,
        line=node.line,
    )


def _scaled(values: Sequence[float], scale: Sequence[float] | None) -> Sequence[float]:
    return values if scale is None else [value * factor for value, factor in zip(values, scale, strict=True)]


def _grouped(profile: Profile) -> Profile:
    """Calls as the means of up to MOST_GROUPS groups that follow each other.

    A call takes some of the paths only, so that its times are no sample of one distribution; and neighbours share the
    machine's state. Means of batches answer both [Law 2015, section 9.5.3].
    """
    size = math.ceil(profile.repetitions / MOST_GROUPS)
    if not profile.are_calls or size == 1:
        return profile

    def means(times: Sequence[float]) -> tuple[float, ...]:
        groups = (times[start : start + size] for start in range(0, len(times), size))
        return tuple(sum(group) / len(group) for group in groups)

    nodes = (replace(node, elapsed_ms=means(node.elapsed_ms), self_ms=means(node.self_ms)) for node in profile.nodes)
    return replace(profile, nodes=tuple(nodes), repetitions=math.ceil(profile.repetitions / size))


def _wholes(profile: Profile) -> list[float]:
    """The samples of each repetition."""
    roots = [node.elapsed_ms for node in profile.nodes if node.parent is None]
    return [sum((times[i] for times in roots), start=0.0) for i in range(profile.repetitions)]


def _spread_of_sums(total: float, squares: float, count: int) -> Spread:
    mean = total / count
    # Rounding of the two large terms may leave less than nothing.
    return Spread(mean, max(0.0, squares - total * mean))
