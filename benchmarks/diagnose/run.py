"""How often the changed method is among the first three, and how often anything is when nothing changed.

    python benchmarks/diagnose/record.py OUT --clones DIR
    python benchmarks/diagnose/run.py OUT --clones DIR [--half tune|report] [--tool cprofile|pyspy] [--runs 5 2 1]

A hit: a function that the commit changed, or its direct caller in the profile. The comparison is not given the commit.
"""

import argparse
import json
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from perf_culprit import git
from perf_culprit.explain.changed_code import touched_code
from perf_culprit.explain.compare_trees import compare_profiles
from perf_culprit.explain.method_names import match_method
from perf_culprit.model.call_tree import Certainty, Profile, Touched
from perf_culprit.model.report import Answer, TreeComparison
from perf_culprit.read.profiles.profile_reading import read_profiles
from perf_culprit.say.call_tree_words import shown_suspects

HERE = Path(__file__).parent
SUFFIXES = {"cprofile": "prof", "pyspy": "txt", "tracer": "json"}
SURE = (Certainty.FILE_AND_LINE, Certainty.QUALIFIED_NAME, Certainty.BARE_NAME)
FIRST = 3
UNCHANGED_DRAWS = 10


@dataclass(frozen=True, kw_only=True)
class Case:
    pair: str
    half: str
    tool: str
    runs: int
    answer: Answer
    rank: int | None
    first: Sequence[str]
    seconds: float

    @property
    def is_found(self) -> bool:
        return self.rank is not None and self.rank <= FIRST


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--half", choices=("tune", "report", "new"))
    parser.add_argument("--tool", choices=tuple(SUFFIXES), action="append")
    parser.add_argument("--runs", type=int, nargs="+", default=[5, 2, 1])
    parser.add_argument("--only", action="append")
    arguments = parser.parse_args()
    pairs = [
        pair
        for pair in json.loads((HERE / "pairs.json").read_text())
        if (arguments.half in (None, pair["half"])) and (not arguments.only or pair["id"] in arguments.only)
    ]
    for tool in arguments.tool or SUFFIXES:
        for runs in arguments.runs:
            cases = [changed(pair, arguments, tool, runs) for pair in pairs]
            for case in cases:
                print(f"| {case.pair} | {case.half} | {tool} | {runs} | {case.answer.value} | {case.rank} | "
                      f"{', '.join(case.first)} | {case.seconds:.1f} |", flush=True)  # fmt: skip
            alarms = Counter(answer for pair in pairs for answer in unchanged(pair, arguments, tool, runs))
            total = sum(case.is_found for case in cases)
            wrong = sum(case.answer is Answer.NOT_SLOWER for case in cases)
            sure = sum(case.is_found and case.answer is Answer.SLOWER for case in cases)
            print(f"# {tool}, {runs} runs: found {total} of {len(cases)} ({sure} sure), 'nothing got slower' {wrong}; "
                  f"unchanged: {dict(alarms)}", flush=True)  # fmt: skip


def changed(pair: dict[str, str], arguments: argparse.Namespace, tool: str, runs: int) -> Case:
    start = time.perf_counter()
    sides = [profiles(arguments.out, pair, tool, [(name, i) for i in range(runs)]) for name in ("baseline", "target")]
    comparison = compare_profiles(*sides)
    seconds = time.perf_counter() - start
    touched = truth(pair, arguments.clones)
    suspects = shown_suspects(comparison)
    right = right_methods(sides, touched)
    return Case(
        pair=pair["id"],
        half=pair["half"],
        tool=tool,
        runs=runs,
        answer=comparison.answer,
        rank=next((rank for rank, one in enumerate(suspects, 1) if one.method in right), None),
        first=[one.method for one in suspects[:FIRST]],
        seconds=seconds,
    )


def unchanged(pair: dict[str, str], arguments: argparse.Namespace, tool: str, runs: int) -> Iterator[str]:
    """Runs of one revision, drawn for two sides. One run: by totals alone nothing is ever said for sure."""
    rng = random.Random(pair["id"])
    recorded = [(name, i) for name in ("baseline", "again") for i in range(5)]
    if tool == "tracer":
        runs, recorded = 1, [("baseline", 0), ("again", 0)]
    for _ in range(UNCHANGED_DRAWS if tool != "tracer" else 1):
        drawn = rng.sample(recorded, 2 * runs)
        comparison: TreeComparison = compare_profiles(
            profiles(arguments.out, pair, tool, drawn[:runs]), profiles(arguments.out, pair, tool, drawn[runs:])
        )
        if comparison.answer is Answer.SLOWER:
            print(f"unchanged {pair['id']}: {[one.method for one in comparison.suspects[:FIRST]]}")
        yield comparison.answer.value


def profiles(out: Path, pair: dict[str, str], tool: str, runs: Sequence[tuple[str, int]]) -> tuple[Profile, ...]:
    """A trace has its repetitions in one file."""
    runs = runs if tool != "tracer" else runs[:1]
    files = [str(out / pair["id"] / f"{tool}-{name}-{i}.{SUFFIXES[tool]}") for name, i in runs]
    return read_profiles(files, trusted=True).profiles


def truth(pair: dict[str, str], clones: Path) -> Touched:
    clone = next(clones.glob(pair["repository"].replace("/", "+") + "*"))
    clone = clone / "repo" if (clone / "repo").is_dir() else clone
    fix, parent = (git.resolve_commit(clone, revision) for revision in (pair["fix"], pair["fix"] + "~1"))
    return touched_code(clone, base=fix, head=parent)


def right_methods(sides: Sequence[Sequence[Profile]], touched: Touched) -> set[str]:
    """What the commit changed and its callers, by the names of the profiles."""
    right = set()
    for profile in (one for side in sides for one in side):
        for node in profile.nodes:
            match = match_method(node.method, touched=touched, file=node.file, line=node.line)
            if match is not None and match.certainty in SURE:
                right.add(node.method)
                if node.parent is not None:
                    right.add(profile.nodes[node.parent].method)
    return right


if __name__ == "__main__":
    main()
