"""The harness of error rates itself: the stated noise, the most powerful test, and detection of broken methods."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from benchmarks.truth.cells import run_cells
from benchmarks.truth.noise import MODE_RATIO, NOISES, Noise, SimulatedWorld, World
from benchmarks.truth.oracle import Design, best_power
from benchmarks.truth.record_tails import ROUNDS, UNCHANGED, order
from benchmarks.truth.recorded import RecordedWorld, read_series
from benchmarks.truth.results import Results, dump, load
from benchmarks.truth.tails import apart, by_ratio, comparisons, in_turn, share
from benchmarks.truth.verbs import Outcome
from benchmarks.truth.way import Judged, Row, Way
from benchmarks.truth.with_files import PLANTED, WAYS, interleaved, slowed
from perf_culprit.model.finding import Verdict

SEED = 10


def world(noise: Noise, benchmarks: int = 2000) -> SimulatedWorld:
    return SimulatedWorld(noise=noise, rng=np.random.default_rng(SEED), benchmarks=benchmarks)


def logs(noise: Noise, executions: int = 2, samples: int = 2) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Logarithms relative to the benchmarks' levels, of shape (executions, benchmarks, samples)."""
    machine = world(noise)
    job = machine.job()
    return np.stack([np.log(job.execute(samples)) - machine.levels[:, None] for _ in range(executions)])


def test_samples_of_an_execution_are_correlated_as_stated_and_no_others() -> None:
    first, second = logs(NOISES["AR 0.3"], samples=2)
    assert np.corrcoef(first[:, 0], first[:, 1])[0, 1] == pytest.approx(0.3, abs=0.06)
    assert np.corrcoef(first[:, 1], second[:, 0])[0, 1] == pytest.approx(0, abs=0.06)
    assert first.std() == pytest.approx(0.05, rel=0.05)


@pytest.mark.parametrize(("noise", "together"), [("modes per execution", False), ("modes per benchmark and run", True)])
def test_a_mode_lasts_as_long_as_its_noise_says(noise: str, together: bool) -> None:
    first, second = (values.mean(axis=1) > np.log(MODE_RATIO) / 2 for values in logs(NOISES[noise]))
    assert first.mean() == pytest.approx(0.2, abs=0.03)
    assert bool(np.array_equal(first, second)) is together


def test_drift_is_of_the_machine_and_meets_both_sides_of_a_round() -> None:
    bases, heads = interleaved(world(NOISES["drift 1% per execution"]).job(), rounds=1, samples=4)
    assert np.log(bases[1] / bases[0]).mean() == pytest.approx(0.03, abs=0.003)
    assert np.log(np.stack(bases)).mean() == pytest.approx(np.log(np.stack(heads)).mean(), abs=0.003)


def test_recorded_executions_keep_their_order(tmp_path: Path) -> None:
    (tmp_path / "series.csv").write_text("seconds,cpu_s\n0,1\n1,2\n2,3\n")
    series = read_series(tmp_path / "series.csv")
    assert series.tolist() == [1, 2, 3]
    recorded = RecordedWorld(series=[series], rng=np.random.default_rng(SEED), benchmarks=2)
    job = recorded.job()
    for first, second in zip(job.execute(4), job.execute(2), strict=True):
        assert [*first, *second] == [1 + (first[0] - 1 + step) % 3 for step in range(6)]


def test_the_best_test_of_normal_units_is_the_z_test() -> None:
    noise, design = Noise(own=0.03, spread=0.05), Design(baseline=3, target=3, samples=25)
    error = np.sqrt((0.03**2 + 0.05**2 / 25) * 2 / 3)
    expected = stats.norm.sf(stats.norm.isf(0.005) - np.log(1.1) / error)
    assert best_power(noise, design, effect=0.1, metrics=1) == pytest.approx(expected)
    in_one_job = Design(baseline=3, target=3, samples=25, same_job=True)
    assert best_power(noise, in_one_job, effect=0.1, metrics=1) > 0.99


def test_the_best_test_is_calibrated_under_modes_and_cannot_tell_a_change_from_a_mode() -> None:
    noise, design = NOISES["modes per benchmark and run"], Design(baseline=1, target=1, samples=20)
    assert best_power(noise, design, effect=1e-6, metrics=1, rate=0.1) < 0.1
    assert best_power(noise, design, effect=0.2, metrics=20) > 0.9
    # Found only if just the target got the slow mode, because 2.25 is not a ratio of modes.
    assert best_power(noise, design, effect=MODE_RATIO - 1, metrics=20) == pytest.approx(0.8 * 0.2, abs=0.04)


def test_only_the_planted_benchmark_is_slower() -> None:
    times = np.ones((3, 2))
    assert slowed(times, 0.5).tolist() == [[1.5, 1.5], [1, 1], [1, 1]]
    assert PLANTED.endswith("test_000")


def liar(alarms: int) -> Way:
    """A method that raises an alarm in each of its first `alarms` trials."""
    numbers = iter(range(1000))

    def trial(_world: World, _folder: Path, effects: Sequence[float]) -> Iterator[Judged]:
        called = int(next(numbers) < alarms)
        yield from (("lie", effect, Outcome(metrics=5, judged=5, called=called, alarmed=called)) for effect in effects)

    return Way(command="lie", rows={"lie": Row()}, noises=("lognormal",), trial=trial)


@pytest.mark.parametrize(("alarms", "broken"), [(0, False), (2, False), (5, True)])
def test_a_way_that_alarms_too_often_is_found_out(alarms: int, broken: bool) -> None:
    (cell,) = run_cells(liar(alarms), "lognormal", trials=60, power_trials=0).values()
    assert (cell.alarmed, cell.runs, cell.is_broken) == (alarms, 60, broken)


def test_a_planted_change_is_found_and_is_no_false_alarm(tmp_path: Path) -> None:
    way = next(way for way in WAYS if "five rounds" in way.rows)
    cell = run_cells(way, "lognormal", trials=2, power_trials=2)["five rounds"]
    assert (cell.trials, cell.runs, cell.alarmed, cell.judged) == (2, 2, 0, 40)
    assert cell.hits[0.5] == [2, 2]
    kept = tmp_path / "results.json"
    kept.write_text(dump(Results(commit="abc", command="truth", cells=[]).with_cells([cell], [])))
    (read,) = load(kept).cells
    assert (read.hits, read.counted) == (cell.hits, cell.counted)
    assert load(kept).best["five rounds", "lognormal", 0.5] > 0.99


def test_the_same_seed_gives_the_same_counts() -> None:
    way = next(way for way in WAYS if "one round" in way.rows)
    first, second = (run_cells(way, "AR 0.3", trials=4, power_trials=2)["one round"] for _ in range(2))
    assert (first.called, first.hits) == (second.called, second.hits)


def test_a_slower_tail_is_called_by_its_percentile_and_not_by_the_time(tmp_path: Path) -> None:
    generator, slower = np.random.default_rng(SEED), "tail +100%"
    turns = [(number, change) for number in range(1, ROUNDS + 1) for change in order([UNCHANGED, slower])]
    samples = np.exp(generator.normal(scale=0.02, size=(len(turns), 1000))) * 1000
    for calls, (_, change) in zip(samples, turns, strict=True):
        calls[::33] *= 8 if change == slower else 4
    rounds, changes = zip(*turns, strict=True)
    file, same = tmp_path / "tails.npz", np.zeros(len(turns), np.int64)
    np.savez(file, samples=samples, measurement=same, workload=same, change=changes, round=rounds)
    pairs = list(comparisons(file))
    assert [(sides.change, sides.rounds) for sides in pairs] == [
        (change, (1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6)) for change in (UNCHANGED, slower)
    ]
    assert [in_turn(sides) for sides in pairs] == [
        {"time": Verdict.UNCHANGED, "p99": Verdict.UNCHANGED},
        {"time": Verdict.UNCHANGED, "p99": Verdict.REGRESSION},
    ]
    assert [share(sum(map(by_ratio, pairs)), 2), apart(pairs[1])["p99"].name] == ["0.500 [0.01, 0.99]", "REGRESSION"]
