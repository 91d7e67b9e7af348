"""Profiles of one service as repetitions of one profile, with aligned nodes."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bot.diagnose.profiles.tree import MAX_NODES
from bot.errors import DataError
from bot.model.profile import Profile, ProfileNode


@dataclass(kw_only=True, slots=True)
class _Node:
    first: ProfileNode
    parent: int | None
    elapsed_ms: list[float]
    self_ms: list[float]
    calls: float | None = 0.0


@dataclass(kw_only=True, slots=True)
class _Aligned:
    nodes: list[_Node] = field(default_factory=list)
    index: dict[tuple[int | None, str], int] = field(default_factory=dict)

    def node(self, parent: int | None, like: ProfileNode, repetitions: int) -> int:
        key = (parent, like.method)
        if key not in self.index:
            self.index[key] = len(self.nodes)
            self.nodes.append(
                _Node(first=like, parent=parent, elapsed_ms=[0.0] * repetitions, self_ms=[0.0] * repetitions)
            )
        return self.index[key]


def combine(profiles: Sequence[Profile]) -> Profile:
    """Their repetitions one after the other; a path that a repetition did not take has 0 there.

    Nodes are aligned by their path of methods. `calls` is the mean over all repetitions, None where one of the profiles
    does not know it. Raises: DataError where services or units differ.
    """
    first = profiles[0]
    for other in profiles[1:]:
        if (other.service, other.unit) != (first.service, first.unit):
            raise DataError(
                f"`{other.service}` in {other.unit} is no repetition of `{first.service}` in {first.unit}",
                next_step="compare profiles that one tool made of one program in one way",
            )
    repetitions = sum(profile.repetitions for profile in profiles)
    aligned = _Aligned()
    offset = 0
    for profile in profiles:
        _add(aligned, profile, offset=offset, repetitions=repetitions)
        offset += profile.repetitions
    if len(aligned.nodes) > MAX_NODES:
        raise DataError(
            f"more than {MAX_NODES:,} different paths of methods over {repetitions} repetitions",
            next_step="check that the names leave out arguments, ids and times",
        )
    nodes = (
        replace(
            node.first,
            parent=node.parent,
            elapsed_ms=tuple(node.elapsed_ms),
            self_ms=tuple(node.self_ms),
            calls=None if node.calls is None else node.calls / repetitions,
        )
        for node in aligned.nodes
    )
    return replace(first, repetitions=repetitions, nodes=tuple(nodes))


def _add(aligned: _Aligned, profile: Profile, *, offset: int, repetitions: int) -> None:
    places: list[int] = []
    for node in profile.nodes:
        place = aligned.node(None if node.parent is None else places[node.parent], node, repetitions)
        places.append(place)
        target = aligned.nodes[place]
        for i in range(profile.repetitions):
            target.elapsed_ms[offset + i] += node.elapsed_ms[i]
            target.self_ms[offset + i] += node.self_ms[i]
        is_counted = target.calls is not None and node.calls is not None
        target.calls = (target.calls or 0.0) + (node.calls or 0.0) * profile.repetitions if is_counted else None
