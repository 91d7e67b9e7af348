"""Rank planted slowdowns, step by step of the order.

    python -m benchmarks.diagnose.planted [--vary]

`planted/` holds the profiles that the comparison reads, by pair, profiler and side. A side is five recordings of a
project with or without a slowdown in one function. `base2` repeats the base. `planted/pairs.json` lists them. Right is
the changed function, or its direct caller in the profile. With `--vary` the script halves and doubles each constant of
the diagnosis. It does so with the difference to one of `SURE` and `TOUCHED`.
"""

import json
import lzma
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import msgspec
from scipy import stats

from perf_culprit.explain import (
    aligned_trees,
    compare_trees,
    diagnosis_constants,
    significance,
    slower_methods,
    suspects,
    tree_methods,
)
from perf_culprit.explain.compare_trees import compare_profiles
from perf_culprit.explain.method_names import name_parts
from perf_culprit.explain.slower_methods import Searched
from perf_culprit.model.call_tree import ChangeKind, Profile, Touched, TouchedFunction
from perf_culprit.model.notable_calls import shown_suspects
from perf_culprit.model.report import Answer

FOLDER = Path(__file__).parent / "planted"
FIRST = 3
STEPS = ("score alone", "+ folding", "+ passing through", "+ touched methods")


@dataclass(frozen=True, kw_only=True)
class Pair:
    project: str
    kind: str
    profiler: str
    function: str
    file: str
    line: int

    @property
    def name(self) -> str:
        return f"{self.project}-{self.kind}"

    def side(self, name: str) -> tuple[Profile, ...]:
        file = FOLDER / f"{self.project}-{self.profiler}-{name}.json.xz"
        return msgspec.json.decode(lzma.decompress(file.read_bytes()), type=tuple[Profile, ...])


@dataclass(frozen=True, kw_only=True)
class Ranked:
    """`grown`: how much more the profiles of the slower side hold."""

    pair: Pair
    rank: int | None
    answer: Answer
    grown: float


def pairs() -> list[Pair]:
    return [Pair(**one) for one in json.loads((FOLDER / "pairs.json").read_text())["pairs"]]


@contextmanager
def step(name: str) -> Iterator[None]:
    """Leave out the steps of the order after this one."""
    place = STEPS.index(name)
    with (
        patch.object(suspects, "in_new_calls", suspects.in_new_calls if place > 0 else _none),
        patch.object(suspects, "own_caller", suspects.own_caller if place > 1 else lambda _nodes, i: i),
    ):
        yield


def _none(one: Searched) -> list[bool]:
    return [False] * len(one.tree.nodes)


def ranked(pair: Pair, *, touched: bool = False) -> Ranked:
    sides = pair.side("base"), pair.side(f"head-{pair.kind}")
    comparison = compare_profiles(*sides, touched=_touched(pair) if touched else None)
    right = _right(sides, pair.function)
    names = [one.method for one in shown_suspects(comparison)]
    totals = [sum(getattr(one, name) for one in comparison.services) for name in ("baseline_total", "target_total")]
    return Ranked(
        pair=pair,
        rank=next((place for place, one in enumerate(names, 1) if one in right), None),
        answer=comparison.answer,
        grown=totals[1] / totals[0] - 1,
    )


def false_suspects(pair: Pair) -> list[str]:
    comparison = compare_profiles(pair.side("base"), pair.side("base2"))
    return [one.method for one in shown_suspects(comparison)] if comparison.answer is Answer.SLOWER else []


def _touched(pair: Pair) -> Touched:
    changed = TouchedFunction(
        path=pair.file,
        qualified_name=pair.function,
        kind=ChangeKind.CHANGED,
        first_line=pair.line,
        last_line=pair.line + 60,
    )
    return Touched(base="a" * 40, head="b" * 40, functions=(changed,))


def _right(sides: Sequence[Sequence[Profile]], function: str) -> set[str]:
    right = set()
    for profile in (one for side in sides for one in side):
        for node in profile.nodes:
            if name_parts(node.method)[-1:] == (function,):
                right.add(node.method)
                if node.parent is not None:
                    right.add(profile.nodes[node.parent].method)
    return right


def main() -> None:
    some = pairs()
    by_step = {}
    for name in STEPS:
        with step(name):
            by_step[name] = [ranked(one, touched=name == STEPS[-1]) for one in some]
    for i, pair in enumerate(some):
        ranks = " | ".join(str(by_step[name][i].rank or "-") for name in STEPS)
        last = by_step[STEPS[2]][i]
        about = f"{pair.name} | `{pair.function}` | {pair.profiler} | {last.grown:+.0%} | {last.answer.value}"
        print(f"| {about} | {ranks} |")
    for profiler in (*dict.fromkeys(one.profiler for one in some), ""):
        of = {name: [one for one in each if profiler in ("", one.pair.profiler)] for name, each in by_step.items()}
        _sums(profiler, of)
    sides = {(one.project, one.profiler): one for one in some}
    wrong = {key: names for key, one in sides.items() if (names := false_suspects(one))}
    print(f"unchanged with a suspect: {len(wrong)} of {len(sides)} {wrong or ''}")


def _sums(profiler: str, by_step: dict[str, list[Ranked]]) -> None:
    cells = []
    for each in by_step.values():
        first = sum(one.rank == 1 for one in each)
        three = sum(one.rank is not None and one.rank <= FIRST for one in each)
        low, high = stats.binomtest(first, len(each)).proportion_ci(method="wilson")
        cells.append(f"{first} [{low:.0%}, {high:.0%}], {three}")
    each = by_step[STEPS[2]]
    denied = sum(one.answer is Answer.NOT_SLOWER for one in each)
    print(f"| {profiler or '**all**'} | {len(each)} | {' | '.join(cells)} | {denied} |")


MODULES = (aligned_trees, compare_trees, significance, slower_methods, suspects, tree_methods)


@contextmanager
def constant(name: str, value: float) -> Iterator[None]:
    with ExitStack() as stack:
        for module in MODULES:
            if hasattr(module, name):
                stack.enter_context(patch.object(module, name, value))
        yield


def vary() -> None:
    some = pairs()
    sides = {(one.project, one.profiler): one for one in some}
    for name, value in vars(diagnosis_constants).items():
        if not name.isupper():
            continue
        cells = []
        for factor in (0.5, 1, 2):
            varied = 1 - (1 - value) * factor if name in ("SURE", "TOUCHED") else value * factor
            with constant(name, math.ceil(varied) if isinstance(value, int) else varied):
                first = [sum(ranked(one, touched=touched).rank == 1 for one in some) for touched in (False, True)]
                wrong = sum(bool(false_suspects(one)) for one in sides.values())
            cells.append(f"{first[0]}, {first[1]}, {wrong}")
        print(f"| {name} | {value:.3g} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    vary() if "--vary" in sys.argv else main()
