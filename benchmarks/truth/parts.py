"""The loss of a suite in parts: executions of three machines joined, of one machine, parts alone, blocks.

    python -m benchmarks.truth.parts CORPUS... [--ways 6r 5v5] [--runs 150] [--parts 3]

Corpora and ways are those of `benchmarks.truth.executions`. Each part has its benchmarks at its own time, as on
another machine. Changes are planted in one benchmark, or in all.

    joined   rounds or files of equal number are one, as `compare` takes them
    uneven   the same, but the first part has half of the rounds
    alone    each part is judged separately, at the stated error rates
    blocks   each part has its own rounds or files
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from msgspec.structs import replace

from benchmarks.truth.recordings import Suite, files_of, of_jobs, read_suites, rows_of, run_of
from perf_culprit.arrays import Booleans, Floats, Integers
from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge.policy import judge
from perf_culprit.model.finding import PROVEN, Baseline, BaselineSource, Verdict
from perf_culprit.model.report import Conclusion
from perf_culprit.model.run import Run

CHANGE: Final = 0.2


class Called(NamedTuple):
    """The results per benchmark, (B,). `worse` is the conclusion for all: 2 a regression, 1 a suspicion."""

    proven: Booleans
    suspected: Booleans
    worse: int


# Takes a suite, its parts (one per benchmark), and which executions are the target's.
Judge = Callable[[Suite, Integers, Booleans], Called]
ANY: Final = {Conclusion.REGRESSION: 2, Conclusion.SUSPECTED: 1}


def joined(suite: Suite, part: Integers, is_target: Booleans) -> Called:
    return called(suite, np.zeros_like(part), is_target)


def blocks(suite: Suite, part: Integers, is_target: Booleans) -> Called:
    return called(suite, part, is_target)


def uneven(suite: Suite, part: Integers, is_target: Booleans) -> Called:
    """Judge the joined parts when the first part was decided after half of the rounds."""
    return called(suite, np.zeros_like(part), is_target, half=part == 0)


def alone(suite: Suite, part: Integers, is_target: Booleans) -> Called:
    proven, suspected = (np.zeros(len(part), np.bool_) for _ in range(2))
    worse = 0
    for rows in (np.flatnonzero(part == one) for one in np.unique(part)):
        of_part = called(rows_of(suite, list(rows)), np.zeros_like(rows), is_target)
        proven[rows], suspected[rows], worse = of_part.proven, of_part.suspected, max(worse, of_part.worse)
    return Called(proven, suspected, worse)


def called(suite: Suite, block: Integers, is_target: Booleans, *, half: Booleans | None = None) -> Called:
    baseline, target = (_side(suite, block, side, half=half) for side in (~is_target, is_target))
    against = Baseline(runs=(baseline,), source=BaselineSource.PAIRED)
    if not (is_target[1] and not is_target[0]):  # files, not rounds
        files = [run_of(suite, np.exp(suite.y[:, [column]])) for column in np.flatnonzero(~is_target)]
        of_blocks = [np.flatnonzero(block == one) for one in np.unique(block)]
        runs = tuple(
            replace(run, benchmarks=tuple(run.benchmarks[row] for row in rows)) for run in files for rows in of_blocks
        )
        against = Baseline(runs=of_jobs(runs), source=BaselineSource.FILES)
        target = files_of(suite, np.exp(suite.y[:, is_target]))
    judgement = judge(against, target, settings=PolicySettings())
    findings = {one.key: one for one in judgement.findings}
    verdicts = [findings[entry.key].verdict for entry in target.benchmarks]
    proven = np.array([verdict in PROVEN for verdict in verdicts])
    suspected = proven | np.array([verdict is Verdict.SUSPECTED for verdict in verdicts])
    return Called(proven, suspected, ANY.get(judgement.conclusion, 0))


def _side(suite: Suite, block: Integers, side: Booleans, *, half: Booleans | None) -> Run:
    """Return one side's run. `half` (B,): the benchmarks that have half of the rounds."""
    run = run_of(suite, np.exp(suite.y[:, side]))
    benchmarks = []
    for row, entry in enumerate(run.benchmarks):
        kept = len(entry.rounds) // 4 * 2 if half is not None and half[row] else len(entry.rounds)
        rounds = tuple(number + len(side) * int(block[row]) for number in entry.rounds[:kept])
        benchmarks.append(replace(entry, samples=entry.samples[:kept], group_sizes=(1,) * kept, rounds=rounds))
    return replace(run, benchmarks=tuple(benchmarks))


def drawn(suite: Suite, way: str, rng: np.random.Generator, *, parts: int) -> tuple[Floats, Floats, Integers, Booleans]:
    """Draw (B, n) of one machine and of each part's own, the part of each benchmark, and the target's columns."""
    part = rng.permutation(len(suite.y)) % parts
    if way.endswith("r"):
        is_target = np.tile([False, True, True, False], int(way.removesuffix("r")))
        starts = rng.integers(suite.y.shape[1] - len(is_target) + 1, size=parts)
        columns = starts[:, None] + np.arange(len(is_target))
    else:
        baseline, target = map(int, way.split("v"))
        is_target = np.arange(baseline + target) >= baseline
        columns = np.array([rng.permutation(suite.y.shape[1])[: len(is_target)] for _ in range(parts)])
    return suite.y[:, columns[0]].copy(), np.take_along_axis(suite.y, columns[part], axis=1), part, is_target


JUDGES: Final[dict[str, Judge]] = {
    "whole": joined,
    "joined": joined,
    "uneven": uneven,
    "alone": alone,
    "blocks": blocks,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.truth.parts",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("corpora", type=Path, nargs="+", metavar="CORPUS")
    parser.add_argument("--ways", nargs="+", default=("6r",), metavar="WAY", help="rounds A B B A, as 6r")
    parser.add_argument("--runs", type=int, default=150, metavar="N", help="runs per figure")
    parser.add_argument("--judged", nargs="+", default=tuple(JUDGES), choices=JUDGES, help="uneven is for rounds")
    parser.add_argument("--parts", type=int, default=3, metavar="N")
    arguments = parser.parse_args()
    suites = list(read_suites(arguments.corpora).values())
    print("proven/suspected; unchanged: in any benchmark; all +20%: the conclusion says that something got worse")
    print("| way | judged | unchanged | one +20% | all +20% |\n|---|---|--:|--:|--:|")
    for way in arguments.ways:
        for name, judged in ((name, JUDGES[name]) for name in arguments.judged):
            rng = np.random.default_rng(0)
            rates: list[list[float]] = []
            for index in range(arguments.runs):
                suite = suites[index % len(suites)]
                one_machine, apart, part, is_target = drawn(suite, way, rng, parts=arguments.parts)
                y = one_machine if name == "whole" else apart
                row = rng.choice(np.flatnonzero(np.isfinite(y).all(axis=1)))
                figures: list[float] = []
                for rows in (np.zeros(0, np.intp), np.array([row]), np.arange(len(y))):
                    planted = y.copy()
                    planted[np.ix_(rows, is_target)] += np.log1p(CHANGE)
                    calls = judged(suite._replace(y=planted), part, is_target)
                    if len(rows) == 1:
                        figures += [float(one[rows].mean()) for one in (calls.proven, calls.suspected)]
                    elif len(rows):
                        figures += [float(calls.worse == 2), float(calls.worse > 0)]
                    else:
                        figures += [float(one.any()) for one in (calls.proven, calls.suspected)]
                rates.append(figures)
            mean = np.mean(rates, axis=0)
            cells = (f"{mean[at]:.3f}/{mean[at + 1]:.3f}" for at in (0, 2, 4))
            print("|", way, "|", name, "|", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
