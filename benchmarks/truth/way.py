"""A documented way of use, and the result of a trial of it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchmarks.truth.noise import World
from benchmarks.truth.oracle import Design
from benchmarks.truth.verbs import Outcome

# With an effect of 0 nothing changed; else the first benchmark of the target became so much slower.
Judged = tuple[str, float, Outcome]


# One answer per row of the way and effect, the same numbers under each effect; the folder is empty.
Trial = Callable[[World, Path, Sequence[float]], Iterator[Judged]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """`stated` is the share `of` runs (or metrics) that may have a false alarm; of lives, the share of each one's runs.

    `design` is the input of the best test.
    """

    stated: float = 0.01
    of: Literal["runs", "metrics", "lives"] = "runs"
    design: Design | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Way:
    """`command` is the one of README or docs. Slow ways have fewer trials: `weight` divides their number."""

    command: str
    rows: Mapping[str, Row]
    noises: Sequence[str]
    trial: Trial
    benchmarks: int = 20
    weight: int = 1
    has_power: bool = True
