"""The load of one program for the counters of another, aligned in time with or without known clock offsets."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from perf_culprit.arrays import Floats
from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge.counter_load import Load, load_of
from perf_culprit.judge.counter_pairs import pair_counters
from perf_culprit.judge.one_load import without_load
from perf_culprit.judge.policy import judge
from perf_culprit.judge.run_medians import RunMedians
from perf_culprit.model.finding import Baseline, BaselineSource, Finding, Verdict
from perf_culprit.model.reason import Reason, Remark, Untested
from perf_culprit.model.run import CounterTable, Direction, Metric, Run
from perf_culprit.store.retention import reduce_counters

START = 1_700_000_000.0
DETECTORS = ("control_chart", "rule_ensemble")


def table(name: str, times_s: NDArray[Any], *, load: Floats | None = None, **columns: Floats) -> CounterTable:
    return CounterTable(
        name=name,
        metrics=tuple(Metric(name=column, unit="", direction=Direction.UNKNOWN) for column in columns),
        times_s=times_s,
        values=np.column_stack(list(columns.values())),
        load=load,
        load_name=None if load is None else "requests/s",
    )


def driver(load: Floats, *, start_s: float = START, step_s: float = 1.0, name: str = "k6") -> CounterTable:
    times = start_s + step_s * np.arange(len(load))
    return table(name, times, load=load, users=np.full(len(load), 7.0))


def host(rows: int, *, start_s: float = START, step_s: float = 1.0) -> CounterTable:
    return table("host", start_s + step_s * np.arange(rows), cpu=np.ones(rows))


def single_load(counters: CounterTable, *beside: CounterTable) -> Load:
    load = load_of(counters, beside)
    assert isinstance(load, Load)
    return load


def test_the_own_load_comes_before_that_of_another_table() -> None:
    own = driver(np.arange(5.0))
    load = single_load(own, driver(np.ones(5)))
    assert load.values is own.load
    assert load.remark is None


def test_rows_at_the_same_times_get_the_load_of_their_instant() -> None:
    load = single_load(host(5), driver(np.array([1.0, 2, 4, 8, 16])))
    assert load.values.tolist() == [1, 2, 4, 8, 16]
    assert load.name == "requests/s"


def test_between_two_readings_of_the_load_lies_a_load_between_them() -> None:
    assert single_load(host(3, start_s=START + 0.5), driver(np.array([1.0, 3, 5, 7]))).values.tolist() == [2, 4, 6]


def test_a_row_of_a_minute_is_under_the_load_of_that_minute_not_of_its_last_second() -> None:
    """`sar 60` reports each minute at its end."""
    minutes = np.repeat([10.0, 50.0, 30.0, 20.0], 60)
    minutes[59::60] = 0  # the last second of each
    load = single_load(host(4, start_s=START + 60, step_s=60), driver(minutes))
    assert load.values == pytest.approx([10, 50, 30, 20], abs=3)


def test_before_and_after_the_load_test_the_load_is_unknown() -> None:
    load = single_load(host(10, start_s=START - 3), driver(np.ones(5)))
    assert np.isfinite(load.values).tolist() == [False, False, *[True] * 7, False]


def test_several_drivers_add_up() -> None:
    load = single_load(host(3), driver(np.ones(3)), driver(np.full(3, 2.0), name="k6 (2)"))
    assert load.values.tolist() == [3, 3, 3]


def test_clocks_without_a_common_time_count_from_their_starts_where_the_recordings_are_equally_long() -> None:
    load = single_load(host(100), driver(np.arange(100.0), start_s=0.0))
    assert load.values.tolist() == list(range(100))
    assert load.remark is not None
    assert load.remark.code is Remark.LOAD_BY_START


def test_clocks_that_nothing_brings_together_are_said_to_be_so() -> None:
    misfit = load_of(host(1_000), [driver(np.ones(100), start_s=0.0)])
    assert isinstance(misfit, Reason)
    assert misfit.code is Remark.LOAD_ON_OTHER_CLOCK
    run = Run(counters=(host(1_000), driver(np.ones(100), start_s=0.0)))
    notes = pair_counters(Baseline(runs=(run,), source=BaselineSource.HISTORY), run).notes
    assert misfit in notes


Response = Callable[[Floats, np.random.Generator], Floats]


def follows(load: Floats, rng: np.random.Generator) -> Floats:
    return load * np.exp(rng.normal(0, 0.03, len(load)))


def independent(load: Floats, rng: np.random.Generator) -> Floats:
    return rng.normal(4_000, 120, len(load))


def slower_by(factor: float) -> Response:
    return lambda load, rng: factor * follows(load, rng)


def run(rng: np.random.Generator, response: Response, *, more: float, varied: bool, rows: int, skew: float = 0) -> Run:
    """Ten counters of a host and the load of a driver. `response` computes the first counter, `cpu`, from the load."""
    wave = np.convolve(rng.normal(size=rows + 9), np.ones(10) / np.sqrt(10), "valid")
    load = 4_000 * more * np.exp((0.07 if varied else 0.001) * wave)
    others = {f"c{n}": rng.normal(50, 2, rows) for n in range(9)}
    counters = table("host", START + np.arange(rows), cpu=response(load, rng), **others)
    return Run(counters=(counters, driver(load, start_s=START + skew)))


def judged(response: Response, *, varied: bool, rows: int = 300, skew: float = 0, detector: str, seed: int) -> Finding:
    """The finding on `cpu` for a target with a 14% higher load, against six stored runs."""
    rng = np.random.default_rng(seed)
    runs = tuple(reduce_counters(run(rng, follows, more=1, varied=varied, rows=rows, skew=skew), 144) for _ in range(6))
    if response is independent:
        runs = tuple(
            reduce_counters(run(rng, independent, more=1, varied=varied, rows=rows, skew=skew), 144) for _ in range(6)
        )
    target = run(rng, response, more=1.14, varied=varied, rows=rows, skew=skew)
    made = judge(
        Baseline(runs=runs, source=BaselineSource.HISTORY),
        target,
        counter_detector=detector,
        settings=PolicySettings(),
    )
    (cpu,) = [finding for finding in made.findings if finding.key.metric == "cpu"]
    return cpu


@pytest.mark.parametrize("skew", [0.0, 1.5])
def test_a_counter_that_follows_the_drivers_load_is_brought_to_one_load(skew: float) -> None:
    finding = judged(follows, varied=True, skew=skew, detector="control_chart", seed=1)
    assert finding.verdict is Verdict.NOT_SEEN
    assert finding.relative_change == pytest.approx(0, abs=0.03)
    assert finding.details["load_spearman"] > 0.5


def test_what_is_slower_at_the_same_load_is_found_under_another_load() -> None:
    finding = judged(slower_by(1.2), varied=True, detector="control_chart", seed=1)
    assert finding.verdict is Verdict.REGRESSION
    assert finding.relative_change == pytest.approx(0.2, abs=0.03)


@pytest.mark.parametrize("detector", DETECTORS)
def test_a_load_that_no_baseline_run_was_under_may_explain_a_change(detector: str) -> None:
    """The load never varied in the baseline, so nothing shows whether `cpu` follows it."""
    finding = judged(follows, varied=False, detector=detector, seed=2)
    assert finding.verdict is Verdict.UNTESTED
    assert finding.reason.code is Untested.UNUSUAL_LOAD
    assert finding.reason.arguments["change"] == pytest.approx(0.14, abs=0.01)


@pytest.mark.parametrize("detector", DETECTORS)
def test_an_unusual_load_does_not_explain_more_than_its_own_change(detector: str) -> None:
    assert judged(slower_by(1.4), varied=False, detector=detector, seed=2).verdict is Verdict.REGRESSION


@pytest.mark.parametrize("detector", DETECTORS)
def test_an_unusual_load_excuses_no_counter_that_stayed(detector: str) -> None:
    assert judged(independent, varied=False, detector=detector, seed=2).verdict is Verdict.NOT_SEEN


@pytest.mark.parametrize(
    ("target", "difference", "left"),
    [(114.0, 0.14, 100.0), (100.0, 0.14, 100.0), (140.0, 0.14, 140 / 1.175), (90.0, 0.14, 90.0), (80.0, -0.2, 100.0)],
)
def test_a_load_explains_as_much_as_a_counter_may_follow_it(target: float, difference: float, left: float) -> None:
    medians = RunMedians(target=target, runs=np.array([99.0, 101.0]))
    assert without_load(medians, difference).target == pytest.approx(left)
    assert without_load(medians, 0.0) == medians
