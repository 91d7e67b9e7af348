"""The fate of suspicions against stored runs when the suspected benchmarks are measured in rounds: real noise only.

    python -m benchmarks.truth.screening CORPUS... [--runs 200] [--rounds 6]

Nine stored runs and one new one of an unchanged suite are drawn at random. A change of the given size is planted in one
benchmark. If any is suspected worse, the suspected ones are judged in rounds A B B A of successive executions, with the
same change. `refuted` is right without a change, and wrong with one.
"""

import argparse
import math
from pathlib import Path
from typing import Final

import numpy as np
from msgspec.structs import replace

from benchmarks.truth.recordings import Suite, read_suites, run_of
from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge.conclusion import confirmed, flagged_benchmarks
from perf_culprit.judge.policy import judge
from perf_culprit.model.finding import Baseline, BaselineSource, Verdict
from perf_culprit.model.run import Run

CHANGES: Final = (0.0, 0.1, 0.2, 0.5, 1.0)
STORED: Final = 9


def outcome(suite: Suite, change: float, *, rounds: int, rng: np.random.Generator) -> tuple[bool, str]:
    """Return whether the planted benchmark (or any, without a change) was flagged, and its result in rounds."""
    settings, y = PolicySettings(), suite.y
    row = int(rng.integers(len(y)))
    drawn = y[:, rng.permutation(y.shape[1])[: STORED + 1]].copy()
    drawn[row, STORED] += math.log1p(change)
    files = tuple(run_of(suite, np.exp(drawn[:, [column]])) for column in range(STORED))
    target = run_of(suite, np.exp(drawn[:, [STORED]]))
    first = judge(Baseline(runs=files, source=BaselineSource.HISTORY), target, settings=settings)
    names = set(flagged_benchmarks(first.findings))
    watched = {suite.names[row]} & names if change else names
    if not watched:
        return False, ""
    start = int(rng.integers(y.shape[1] - 4 * rounds + 1))
    window, is_target = y[:, start : start + 4 * rounds].copy(), np.tile([False, True, True, False], rounds)
    window[row, is_target] += math.log1p(change)
    base, again = (_only(run_of(suite, np.exp(window[:, side])), names) for side in (~is_target, is_target))
    second = judge(Baseline(runs=(base,), source=BaselineSource.PAIRED), again, settings=settings)
    verdicts = {one.verdict for one in confirmed(first.findings, second.findings) if one.benchmark in watched}
    if Verdict.REGRESSION in verdicts:
        return True, "proven"
    return True, "open" if Verdict.SUSPECTED in verdicts else "refuted"


def _only(run: Run, names: set[str]) -> Run:
    return replace(run, benchmarks=tuple(one for one in run.benchmarks if one.name in names))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.truth.screening", description=__doc__)
    parser.add_argument("corpora", type=Path, nargs="+", metavar="CORPUS")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=6)
    arguments = parser.parse_args()
    suites = list(read_suites(arguments.corpora).values())
    print("| change | suspected | of these proven | refuted | open |")
    for change in CHANGES:
        rng = np.random.default_rng(2)
        told = [
            outcome(suites[i % len(suites)], change, rounds=arguments.rounds, rng=rng) for i in range(arguments.runs)
        ]
        became = [what for flagged, what in told if flagged]
        shares = (f"{became.count(word)} of {len(became)}" for word in ("proven", "refuted", "open"))
        print("|", " | ".join([f"+{change:.0%}", f"{len(became)} of {len(told)}", *shares]), "|", flush=True)


if __name__ == "__main__":
    main()
