"""Rank slowdowns whose place is known, step by step of the order.

    python -m benchmarks.diagnose.replay [planted] [fixes] [--vary]

`planted/` and `fixes/` hold the profiles that the comparison reads, by project, profiler and side. A side is five
recordings; `base2` repeats the base. In `planted/` the slower side has a slowdown in one function. In `fixes/` it is
the parent of a published fix, and the base is that fix. Each folder's `pairs.json` lists the pairs; `left_out` says why
one was not recorded. Right is a changed
function, or its direct caller in the profile. The sums count pairs whose slower side holds a fifth more, with Wilson's
intervals of the first and of the first three. With `--vary` the script halves and doubles each constant of the
diagnosis. It does so with the difference to one of `CONFIDENCE` and `TOUCHED`.
"""

import argparse
import json
import lzma
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from unittest.mock import patch

import msgspec
from scipy import stats

from benchmarks.diagnose.run import FIRST, LEAST_CHANGE, right_methods, suspects_of, total_change

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
from perf_culprit.explain.slower_methods import Searched
from perf_culprit.model.call_tree import ChangeKind, Profile, Touched, TouchedFunction
from perf_culprit.model.notable_calls import shown_suspects
from perf_culprit.model.report import Answer

HERE: Final = Path(__file__).parent
SETS: Final = ("planted", "fixes")
STEPS: Final = ("score alone", "+ folding", "+ passing through", "+ touched methods")


@dataclass(frozen=True, kw_only=True)
class Pair:
    """`kind`: what was planted, or "fix". `functions`: path, qualified name, kind of change, first and last line."""

    folder: Path
    project: str
    kind: str
    profiler: str
    functions: Sequence[tuple[str, str, str, int, int]]

    @property
    def name(self) -> str:
        return f"{self.project}-{self.kind}"

    @property
    def touched(self) -> Touched:
        functions = tuple(
            TouchedFunction(path=path, qualified_name=name, kind=ChangeKind(kind), first_line=first, last_line=last)
            for path, name, kind, first, last in self.functions
        )
        return Touched(base="a" * 40, head="b" * 40, functions=functions)

    def side(self, name: str) -> tuple[Profile, ...]:
        file = self.folder / f"{self.project}-{self.profiler}-{name}.json.xz"
        return msgspec.json.decode(lzma.decompress(file.read_bytes()), type=tuple[Profile, ...])


@dataclass(frozen=True, kw_only=True)
class Ranked:
    """`grown`: how much more the profiles of the slower side hold."""

    pair: Pair
    rank: int | None
    answer: Answer
    grown: float

    @property
    def is_visible(self) -> bool:
        return self.grown >= LEAST_CHANGE


def pairs(some: Sequence[str] = SETS) -> list[Pair]:
    return [
        Pair(
            folder=HERE / name,
            project=one["project"],
            kind=one["kind"],
            profiler=profiler,
            functions=one["functions"],
        )
        for name in some
        for one in json.loads((HERE / name / "pairs.json").read_text())["pairs"]
        if "left_out" not in one
        for profiler in one["profilers"]
    ]


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
    comparison = compare_profiles(*sides, touched=pair.touched if touched else None)
    right = right_methods(sides, pair.touched)
    names = [one.method for one in shown_suspects(comparison)]
    return Ranked(
        pair=pair,
        rank=next((place for place, one in enumerate(names, 1) if one in right), None),
        answer=comparison.answer,
        grown=total_change(comparison),
    )


def false_suspects(pair: Pair) -> list[str]:
    return suspects_of(compare_profiles(pair.side("base"), pair.side("base2")))


def by_step(some: Sequence[Pair]) -> dict[str, list[Ranked]]:
    results = {}
    for name in STEPS:
        with step(name):
            results[name] = [ranked(one, touched=name == STEPS[-1]) for one in some]
    return results


def unchanged(some: Sequence[Pair]) -> dict[tuple[str, str], list[str]]:
    """Map projects and profilers to the suspects between two recordings of one side."""
    return {
        (one.project, one.profiler): false_suspects(one) for one in {(p.project, p.profiler): p for p in some}.values()
    }


def print_tables(some: Sequence[Pair]) -> None:
    results = by_step(some)
    full = results[STEPS[2]]
    for i, one in enumerate(full):
        ranks = " | ".join(str(results[name][i].rank or "-") for name in STEPS)
        function = one.pair.functions[0][1].rpartition(".")[2]
        print(
            f"| {one.pair.name}, `{function}` | {one.pair.profiler} | {one.grown:+.0%} | {one.answer.value} | {ranks} |"
        )
    visible = [i for i, one in enumerate(full) if one.is_visible]
    for profiler in (*sorted({one.profiler for one in some}), ""):
        chosen = [i for i in visible if profiler in ("", some[i].profiler)]
        print_sums(profiler, {name: [each[i] for i in chosen] for name, each in results.items()})
    repeated = unchanged(some)
    wrong, of = {key: names for key, names in repeated.items() if names}, len(repeated)
    print(f"unchanged with a suspect: {len(wrong)} of {of}, {_interval(len(wrong), of)} {wrong or ''}")


def print_sums(profiler: str, results: Mapping[str, Sequence[Ranked]]) -> None:
    full = results[STEPS[2]]
    if not full:
        return
    counts = {name: (first(each), in_three(each)) for name, each in results.items()}
    intervals = ", ".join(_interval(count, len(full)) for count in counts[STEPS[2]])
    denied = sum(one.answer is Answer.NOT_SLOWER for one in full)
    cells = " | ".join(f"{one}, {three}" for one, three in counts.values())
    print(f"| {profiler or '**all**'} | {len(full)} | {cells} | {intervals} | {denied} |")


def first(results: Sequence[Ranked]) -> int:
    return sum(one.rank == 1 for one in results)


def in_three(results: Sequence[Ranked]) -> int:
    return sum(one.rank is not None and one.rank <= FIRST for one in results)


def _interval(count: int, of: int) -> str:
    low, high = stats.binomtest(count, of).proportion_ci(method="wilson")
    return f"{100 * low:.0f} to {100 * high:.0f}%"


MODULES: Final = (aligned_trees, compare_trees, significance, slower_methods, suspects, tree_methods)


@contextmanager
def constant(name: str, value: float) -> Iterator[None]:
    with ExitStack() as stack:
        for module in MODULES:
            if hasattr(module, name):
                stack.enter_context(patch.object(module, name, value))
        yield


def vary(some: Sequence[Pair]) -> None:
    for name, value in vars(diagnosis_constants).items():
        if not name.isupper():
            continue
        cells = []
        for factor in (0.5, 1, 2):
            varied = 1 - (1 - value) * factor if name in ("CONFIDENCE", "TOUCHED") else value * factor
            with constant(name, math.ceil(varied) if isinstance(value, int) else varied):
                counts = [first([ranked(one, touched=touched) for one in some]) for touched in (False, True)]
                wrong = sum(map(bool, unchanged(some).values()))
            cells.append(f"{counts[0]}, {counts[1]}, {wrong}")
        print(f"| {name} | {value:.3g} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", choices=SETS, default=SETS)
    parser.add_argument("--vary", action="store_true")
    arguments = parser.parse_args()
    some = pairs(arguments.sets)
    vary(some) if arguments.vary else print_tables(some)


if __name__ == "__main__":
    main()
