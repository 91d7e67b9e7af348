"""How often the changed function is the first suspect, and how often there is a suspect when nothing changed.

    python -m benchmarks.diagnose.record OUT --clones DIR
    python -m benchmarks.diagnose.run OUT --clones DIR [--half choose] [--profiler pyspy] [--loaded] [--only ID]

A right suspect is a function that the commit changed, or its direct caller in the profile. The comparison is not given
the commit. `denied`: `not_slower` for a slower pair. These columns count pairs whose profiles' total is larger
by a fifth or more. `unchanged`: a suspect between base and base2, over all pairs.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.diagnose import record

from perf_culprit.explain.compare_trees import compare_profiles
from perf_culprit.explain.method_names import match_method
from perf_culprit.model.call_tree import Certainty, Profile, Touched
from perf_culprit.model.report import Answer, TreeComparison
from perf_culprit.read.profiles.profile_reading import read_profiles
from perf_culprit.model.notable_calls import shown_suspects

SURE = (Certainty.FILE_AND_LINE, Certainty.QUALIFIED_NAME, Certainty.BARE_NAME)
FIRST = 3
LEAST_CHANGE = 0.2


@dataclass(frozen=True, kw_only=True)
class Case:
    pair: str
    answer: Answer
    total_change: float
    rank: int | None
    first: Sequence[str]
    unchanged: Sequence[str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--half", choices=("choose", "report", "seen"), action="append")
    parser.add_argument("--profiler", choices=tuple(record.SUFFIXES), action="append")
    parser.add_argument("--loaded", action="store_true")
    parser.add_argument("--only", action="append")
    parser.add_argument("--table", action="store_true", help="without the pairs")
    arguments = parser.parse_args()
    pairs = record.chosen_pairs(arguments.only, arguments.half)
    code = {pair["id"]: record.touched(pair, record.clone_of(pair, arguments.clones)) for pair in pairs}
    table = []
    for profiler in arguments.profiler or record.SUFFIXES:
        folders = {one: arguments.out / one / profiler / ("loaded" * arguments.loaded) for one in code}
        cases = [judge(one, folders[one], profiler, code[one]) for one in code if is_recorded(folders[one], profiler)]
        if not arguments.table:
            print("".join(row(case, profiler) for case in cases), end="", flush=True)
        for half in sorted({pair["half"] for pair in pairs}):
            of_half = {pair["id"] for pair in pairs if pair["half"] == half}
            table += sums(profiler, half, [case for case in cases if case.pair in of_half])
    print("\n| profiler | half | pairs | first | in the first three | denied | unchanged with a suspect |")
    print("|---|---|--:|--:|--:|--:|--:|\n" + "\n".join(table))


def is_recorded(folder: Path, profiler: str) -> bool:
    last = 1 if profiler == "tracer" else record.RUNS
    return all((folder / f"{side}-{last}.{record.SUFFIXES[profiler]}").exists() for side in record.SIDES)


def judge(pair: str, folder: Path, profiler: str, code: Touched) -> Case:
    sides = {side: profiles(folder, side, record.SUFFIXES[profiler]) for side in record.SIDES}
    comparison = compare_profiles(sides["base"], sides["head"])
    suspects = shown_suspects(comparison)
    right = right_methods((sides["base"], sides["head"]), code)
    return Case(
        pair=pair,
        answer=comparison.answer,
        total_change=total_change(comparison),
        rank=next((rank for rank, one in enumerate(suspects, 1) if one.method in right), None),
        first=[one.method for one in suspects[:FIRST]],
        unchanged=suspects_of(compare_profiles(sides["base"], sides["base2"])),
    )


def suspects_of(comparison: TreeComparison) -> list[str]:
    return [one.method for one in shown_suspects(comparison)] if comparison.answer is Answer.SLOWER else []


def total_change(comparison: TreeComparison) -> float:
    base, head = (sum(getattr(one, name) for one in comparison.services) for name in ("baseline_total", "target_total"))
    return head / base - 1 if base else 0.0


def profiles(folder: Path, side: str, suffix: str) -> tuple[Profile, ...]:
    return read_profiles([str(one) for one in sorted(folder.glob(f"{side}-*.{suffix}"))], trusted=True).profiles


def right_methods(sides: Sequence[Sequence[Profile]], touched: Touched) -> set[str]:
    """Return changed functions and their callers, as named in the profiles; "(other paths)" is no method."""
    right = set()
    suffixes = tuple(Path(one.path).suffix for one in touched.functions)
    for profile in (one for side in sides for one in side):
        for node in profile.nodes:
            file = node.file if node.file and node.file.endswith(suffixes) else None  # no shared object
            match = match_method(node.method, touched=touched, file=file, line=node.line)
            if match is not None and match.certainty in SURE:
                right.add(node.method)
                if node.parent is not None:
                    right.add(profile.nodes[node.parent].method)
    return {method for method in right if not method.startswith("(")}


def row(case: Case, profiler: str) -> str:
    unchanged = f"unchanged: {', '.join(case.unchanged[:FIRST]) or 'nothing'}"
    return (
        f"| {case.pair} | {profiler} | {case.answer.value} | {case.total_change:+.0%} | {case.rank} | "
        f"{', '.join(case.first)} | {unchanged} |\n"
    )


def sums(profiler: str, half: str, cases: Sequence[Case]) -> list[str]:
    """Return a row, empty if nothing was recorded."""
    if not cases:
        return []
    slower = [case for case in cases if case.total_change >= LEAST_CHANGE]
    first = sum(case.rank == 1 for case in slower)
    three = sum(case.rank is not None and case.rank <= FIRST for case in slower)
    denied = sum(case.answer is Answer.NOT_SLOWER for case in slower)
    wrong = sum(bool(case.unchanged) for case in cases)
    return [f"| {profiler} | {half} | {len(slower)} | {first} | {three} | {denied} | {wrong} of {len(cases)} |"]


if __name__ == "__main__":
    main()
