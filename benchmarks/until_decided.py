"""How many executions `measure --until-decided` takes on executions that nobody simulated, and what it then says.

    python -m benchmarks.until_decided CORPUS... [--draws 100] [--change .1]

A draw is a stretch of a suite's executions in their order in time, of 1, 3 or 20 benchmarks. The command writes the
next of them. In half of the draws one benchmark's numbers are multiplied for the target. Corpora are those of
`benchmarks.truth.recordings`.
"""

import argparse
import json
import shlex
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from benchmarks.truth.recordings import Suite, read_suites
from benchmarks.truth.verbs import perf_culprit
from benchmarks.truth.with_measure import SimulatedWorkplace, simulated
from perf_culprit.arrays import Floats
from tests.support.git_repository import chain, import_commits, init_repository

SIZES: Final = (1, 3, 20)
MOST_ROUNDS: Final = 20
EARLY: Final = 10  # executions


class Ended(NamedTuple):
    executions: int
    conclusion: str
    suspected: bool


class Replayed:
    """A job whose executions are the recorded ones, in their order."""

    def __init__(self, samples: Floats) -> None:
        self.executions = 0
        self._samples = samples

    def execute(self, samples: int) -> Floats:
        times: Floats = self._samples[:, self.executions, :samples]
        self.executions += 1
        return times


def ended(samples: Floats, change: float) -> Ended:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        init_repository(folder / "repository")
        base, head = import_commits(folder / "repository", chain("c", 2)).values()
        job = Replayed(samples)
        workplace = SimulatedWorkplace(job, folder, slow=head, effect=change, samples=samples.shape[2])
        rounds = min(samples.shape[1] // 4, MOST_ROUNDS)
        with simulated(workplace):
            text = perf_culprit(
                "measure", "--repo", str(folder / "repository"), "--commits", base, head, "--run", "recorded",
                "--output", str(folder / "out"), "--until-decided", "--warmup", "0", "--rounds", str(rounds),
            )  # fmt: skip
        typed = next(line for line in text.splitlines() if line.startswith("compare: "))
        perf_culprit(
            "compare", *shlex.split(typed.partition("perf-culprit compare ")[2]), "--json", str(folder / "report.json")
        )
        report = json.loads((folder / "report.json").read_bytes())
    verdicts = {one["verdict"] for one in report["findings"]}
    return Ended(job.executions, report["conclusion"], bool(verdicts & {"suspected", "regression"}))


def draws(suites: dict[str, Suite], size: int, count: int, change: float) -> Iterator[tuple[float, Ended]]:
    rng = np.random.default_rng(size)
    usable = [suite for suite in suites.values() if len(suite.names) >= size]
    for number in range(count):
        samples = usable[number % len(usable)].samples
        rows = rng.permutation(len(samples))[:size]
        units = min(samples.shape[1], 4 * MOST_ROUNDS)
        start = int(rng.integers(samples.shape[1] - units + 1))
        planted = change * (number // len(usable) % 2)
        yield planted, ended(samples[rows, start : start + units], planted)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="+", type=Path)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--change", type=float, default=0.1)
    asked = parser.parse_args()
    suites = read_suites(asked.corpus)
    for size in SIZES:
        all_draws = list(draws(suites, size, asked.draws, asked.change))
        for planted in (0.0, asked.change):
            some = [one for change, one in all_draws if change == planted]
            early = np.mean([one.executions <= EARLY for one in some])
            words = dict(sorted(Counter(one.conclusion for one in some).items()))
            print(
                f"{size:2} benchmarks, {planted:+.0%}: {len(some)} draws, executions in the median "
                f"{np.median([one.executions for one in some]):.0f}, ended within {EARLY}: {early:.2f}, suspected or "
                f"proven {np.mean([one.suspected for one in some]):.2f}, "
                f"{words}",
                flush=True,
            )


if __name__ == "__main__":
    main()
