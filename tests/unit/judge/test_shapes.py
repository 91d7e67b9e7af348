"""`shapes` notes benchmarks that became noisier, and none of the recorded executions, which did not change."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.truth.shapes import is_called, scattered, windows
from perf_culprit.arrays import Floats
from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge.policy import judge
from perf_culprit.model.finding import Baseline, BaselineSource
from perf_culprit.model.reason import Reason, Remark
from perf_culprit.model.run import Benchmark, Run

CORPORA = Path(__file__).parents[3] / "benchmarks" / "truth" / "corpora"
ROUNDS = 5


def run(logs: Floats) -> Run:
    """A run with one execution per row and two executions per round."""
    sizes, rounds = (logs.shape[1],) * len(logs), tuple(index // 2 + 1 for index in range(len(logs)))
    samples = tuple(np.exp(logs).ravel().tolist())
    return Run(benchmarks=(Benchmark(name="parse", samples=samples, group_sizes=sizes, rounds=rounds),))


def notes(
    spread: float, *, samples: int = 20, is_asked: bool = True, source: BaselineSource = BaselineSource.PAIRED
) -> list[Reason]:
    rng = np.random.default_rng(4)
    before, now = (rng.normal(0, 0.02 * factor, (2 * ROUNDS, samples)) for factor in (1.0, spread))
    baseline = Baseline(runs=(run(before),), source=source)
    (finding,) = judge(baseline, run(now), settings=PolicySettings(shapes=is_asked)).findings
    return [note for note in finding.notes if note.code is Remark.NOISIER]


def test_three_times_the_scatter_is_noted_with_its_factor() -> None:
    (note,) = notes(3.0)
    assert note.arguments["factor"] == pytest.approx(3.0, rel=0.2)


@pytest.mark.parametrize("options", [{"is_asked": False}, {"samples": 4}, {"source": BaselineSource.FILES}])
def test_it_is_off_by_default_and_needs_samples_of_rounds(options: dict[str, Any]) -> None:
    assert notes(3.0, **options) == []
    assert not PolicySettings().shapes


@pytest.mark.parametrize("spread", [1.0, 1.1, 0.3])
def test_the_same_scatter_a_little_more_and_less_are_not(spread: float) -> None:
    assert notes(spread) == []


@pytest.mark.parametrize("name", ["node", "java"])
def test_recorded_executions_that_nobody_changed_are_not_called(name: str) -> None:
    """Check every seventh comparison, and the power on the same. docs/evidence/error-rates.md has all of them."""
    values = np.load(CORPORA / f"{name}.npz")["seconds"]
    hits = []
    for stretch, labels in list(windows(values, ROUNDS))[::7]:
        assert not any(is_called(one, labels, len(stretch)) for one in stretch)
        hits += [is_called(scattered(one, labels, 3.0), labels, len(stretch)) for one in stretch]
    assert np.mean(hits) > 0.3
