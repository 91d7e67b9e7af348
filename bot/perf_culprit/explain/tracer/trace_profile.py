"""A finished trace as the model's `Profile`, and as JSON (docs/trace-v1.schema.json) with the standard library."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from .trace_levels import Path, TimedNode
from .trace_limits import TRACE_LIMITS

if TYPE_CHECKING:
    from perf_culprit.model.call_tree import Profile


TRACE_FORMAT: Final = "perf-culprit-trace"


@dataclass(frozen=True, kw_only=True, slots=True)
class CallTrace:
    """`is_partial`: the budget did not suffice to go deeper. `samples`: their number per repetition, if sampled."""

    service: str
    nodes: tuple[TimedNode, ...]
    repetitions: int
    is_partial: bool = False
    samples: tuple[float, ...] = ()

    @property
    def is_sampled(self) -> bool:
        return bool(self.samples)


def as_profile(trace: CallTrace) -> "Profile":
    from perf_culprit.model.call_tree import Profile, ProfileNode

    return Profile(
        service=trace.service,
        repetitions=trace.repetitions,
        samples=trace.samples,
        nodes=tuple(
            ProfileNode(
                method=node.method.name,
                parent=node.parent,
                elapsed_ms=node.elapsed_ms,
                self_ms=node.self_ms,
                calls=None if node.calls is None else float(node.calls),
                file=node.method.file,
                line=node.method.line,
            )
            for node in trace.nodes
        ),
    )


def encode_trace(trace: CallTrace) -> bytes:
    """Encode as one line, also without anything installed in the traced program."""
    line = {
        "format": TRACE_FORMAT,
        "version": 1,
        "service": _name(trace.service),
        "unit": "ms",
        "repetitions": trace.repetitions,
        "nodes": [_entry(node) for node in trace.nodes],
        **({"samples": trace.samples} if trace.samples else {}),
    }
    return json.dumps(line, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode() + b"\n"


def descended_paths(profiles: "Iterable[Profile]") -> frozenset[Path]:
    """Return the paths whose callees these profiles contain: another revision's trace then descends there, too."""
    descended: set[Path] = set()
    for profile in profiles:
        paths: list[Path] = []
        for node in profile.nodes:
            above = () if node.parent is None else paths[node.parent]
            descended.add(above)
            paths.append((*above, node.method))
    return frozenset(descended - {()})


def _entry(node: TimedNode) -> dict[str, Any]:
    entry = {
        "method": _name(node.method.name),
        "parent": node.parent,
        "elapsed": _rounded(node.elapsed_ms),
        "self": _rounded(node.self_ms),
        "calls": node.calls,
        "file": node.method.file and _name(node.method.file),
        "line": node.method.line,
    }
    return {name: value for name, value in entry.items() if value is not None}


def _rounded(times_ms: Sequence[float]) -> list[float]:
    return [round(time_ms, 6) for time_ms in times_ms]  # the clock counts in ns


def _name(text: str) -> str:
    """Replace bytes of file names that are not UTF-8, which JSON cannot hold; limit the length."""
    return text.encode("utf-8", "replace").decode()[: TRACE_LIMITS.name_characters]
