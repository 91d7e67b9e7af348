"""The choice of the regressions of stored runs to search, and of the commits that bound each search."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from perf_culprit.dispatch.alarms import Step, new_steps
from perf_culprit.model.bisection import CommitRange, Outcome, OutcomeKind, SearchSettings
from perf_culprit.model.dispatch import Alarm, BisectCommands, Bisection
from perf_culprit.model.run import MetricKey, Run
from perf_culprit.search.search import Search
from tests.support.measurements import measured
from tests.support.runner_pool import START

WINDOW = 30


def line(levels: Mapping[str, Sequence[float]], marks: Mapping[str, Sequence[int]]) -> list[Run]:
    """One run per level. `marks` gives, by benchmark, the runs that were judged a regression."""
    count = len(next(iter(levels.values())))
    runs = []
    for place in range(count):
        run = measured({name: values[place] for name, values in levels.items()}, seed=place, commit=f"{place:040x}")
        marked = tuple(MetricKey(name, "time") for name, places in marks.items() if place in places)
        runs.append(replace(run, regressions=marked, time=START))
    return runs


def steps_of(runs: Sequence[Run], searches: Sequence[Bisection]) -> tuple[Step, ...]:
    return new_steps(runs, searches, suite="default", window=WINDOW, minimum_effect=0.05)


def searched(good: int, bad: int, *steps: Any) -> Bisection:
    commits = tuple(f"{place:040x}" for place in range(good + 1, bad + 1))
    parents = tuple((place - 1,) if place else () for place in range(len(commits)))
    commit_range = CommitRange(good=f"{good:040x}", bad=commits[-1], commits=commits, parents=parents)
    (step,) = steps_of(*steps) if steps else (None,)
    return Bisection(
        id="auto-1",
        key=MetricKey("a", "time"),
        metric=None,
        commands=BisectCommands(run="./bench"),
        search=Search.start(commit_range, settings=SearchSettings()).state,
        started_at=START,
        alarm=None if step is None else step.alarm,
    )


def ends(runs: Sequence[Run], *searches: Bisection) -> list[tuple[int, int]]:
    return [(int(step.good, 16), int(step.bad, 16)) for step in steps_of(runs, searches)]


def test_it_begins_before_the_first_slow_run_though_the_mark_came_later() -> None:
    runs = line({"a": [1.0] * 10 + [1.4] * 4}, {"a": [12, 13]})
    assert ends(runs) == [(8, 13)]


def test_what_is_well_again_or_was_never_called_is_not_searched() -> None:
    assert ends(line({"a": [1.0] * 10 + [1.4] * 2 + [1.0] * 3}, {"a": [11]})) == []
    assert ends(line({"a": [1.0] * 10 + [1.4] * 4}, {})) == []


def test_200_benchmarks_that_step_together_are_one_search_of_the_clearest() -> None:
    levels = {f"b{number}": [1.0] * 10 + [1.2 + 0.01 * (number == 7)] * 3 for number in range(200)}
    runs = line(levels, {name: [10, 11, 12] for name in levels})
    (step,) = steps_of(runs, ())
    assert len(step.alarm.metrics) == 200
    distances = [entry.after / entry.before for entry in step.alarm.metrics]
    assert np.allclose(distances, 1.2, atol=0.03)


def test_steps_at_different_places_are_different_searches_the_older_first() -> None:
    runs = line({"a": [1.0] * 6 + [1.4] * 8, "b": [1.0] * 11 + [1.4] * 3}, {"a": [6], "b": [11, 12, 13]})
    assert ends(runs) == [(4, 6), (9, 13)]


def test_what_a_search_looked_at_is_not_searched_again_but_a_later_step_is() -> None:
    runs = line({"a": [1.0] * 6 + [1.4] * 4}, {"a": [6, 7]})
    before = searched(4, 7, runs, ())
    assert ends(runs, before) == []
    later = line({"a": [1.0] * 6 + [1.4] * 20 + [2.0] * 3}, {"a": [6, 7, 26, 27, 28]})
    assert ends(later, before) == [(24, 28)]
    # A search of commits that are no longer on the line has no effect.
    moved = [replace(run, commit=f"{place + 100:040x}") for place, run in enumerate(runs)]
    assert len(ends(moved, before)) == 1


def test_a_benchmark_that_some_runs_lack_is_followed_over_the_hole() -> None:
    runs = line({"a": [1.0] * 8 + [1.4] * 4, "b": [1.0] * 12}, {"a": [11]})
    runs[7] = replace(runs[7], benchmarks=runs[7].benchmarks[1:])
    assert ends(runs) == [(5, 11)]


def test_one_slow_run_is_no_step_until_a_second_run_or_measurement_says_so() -> None:
    levels = [1.0] * 10 + [1.4]
    runs = line({"a": levels}, {"a": [10]})
    assert ends(runs) == []
    confirmed = [*runs[:-1], replace(runs[-1], confirmed=runs[-1].regressions)]
    assert ends(confirmed) == [(8, 10)]
    assert ends(line({"a": [*levels, 1.4]}, {"a": [10]})) == [(8, 10)]


def test_a_step_too_small_for_any_one_run_is_seen_by_many() -> None:
    noise = np.exp(np.random.default_rng(3).normal(0, 0.02, 60))
    after = np.where(np.arange(60) < 45, 1.0, 1.10) * noise
    ((good, bad),) = ends(line({"a": after.tolist()}, {}))
    assert good < 45 <= bad
    assert bad < 60
    assert ends(line({"a": noise.tolist()}, {})) == []
    # Lower is better here, so this step is an improvement.
    assert ends(line({"a": (1 / after).tolist()}, {})) == []


def test_a_step_that_nine_single_runs_do_not_show_is_seen_by_pairs_of_runs() -> None:
    rng = np.random.default_rng(11)
    seen = []
    for _ in range(6):
        after = np.where(np.arange(120) < 90, 1.0, 1.10) * np.exp(rng.normal(0, 0.045, 120))
        seen += ends(line({"a": after.tolist()}, {}))
    assert len(seen) >= 5
    assert all(good < 90 <= bad for good, bad in seen)


def test_a_step_below_the_minimum_effect_is_not_searched_whatever_a_run_was_judged() -> None:
    levels = [*[1.0] * 10, 1.4, *[1.03] * 20]
    assert ends(line({"a": levels}, {"a": [10, 15]})) == []
    assert ends(line({"a": [*levels[:11], *[1.08] * 20]}, {"a": [10, 15]})) == [(8, 15)]


def test_what_steps_with_it_though_less_clearly_is_in_the_same_search() -> None:
    rng = np.random.default_rng(4)
    step = np.where(np.arange(55) < 45, 1.0, 1.3)
    noise = {f"b{number}": np.exp(rng.normal(0, 0.01 + 0.02 * number, 55)) for number in range(5)}
    levels = {name: (step * values).tolist() for name, values in noise.items()} | {"still": noise["b1"].tolist()}
    (only,) = steps_of(line(levels, {"b0": [45, 46, 47]}), ())
    assert {entry.key.benchmark for entry in only.alarm.metrics} == set(noise)
    assert only.alarm.metrics[0].key.benchmark == "b0"


def test_what_a_search_measured_beside_its_own_is_answered_where_its_ends_show_no_step() -> None:
    runs = line({"a": [1.0] * 6 + [1.4] * 6, "b": [1.0] * 7 + [1.4] * 5}, {"a": [6, 7], "b": [7, 8]})
    of_a = line({"a": [1.0] * 6 + [1.4] * 6, "b": [1.0] * 12}, {"a": [6, 7]})
    begun = searched(4, 7, of_a, ())
    assert begun.alarm is not None
    assert begun.alarm.beside == (MetricKey("b", "time"),)
    good, bad = begun.search.commit_range.good, begun.search.commit_range.bad

    def ended(after: float) -> Bisection:
        noise = np.exp(np.random.default_rng(6).normal(0, 0.02, (8, 2)))
        followed = {
            f"round-{number}": {good: (float(first),), bad: (float(after * second),)}
            for number, (first, second) in enumerate(noise)
        }
        outcome = Outcome(kind=OutcomeKind.NOT_REPRODUCED, executions=16)
        return replace(begun, followed=followed, search=replace(begun.search, outcome=outcome))

    assert ends(runs, begun) == [(5, 8)]  # no rounds measured yet
    assert ends(runs, ended(1.0)) == []
    assert ends(runs, ended(1.4)) == [(5, 8)]


def test_what_many_runs_show_beside_a_wrong_alarm_gets_a_search_of_its_own_and_no_third_one() -> None:
    noise = np.exp(np.random.default_rng(3).normal(0, 0.02, 60))
    after = np.where(np.arange(60) < 45, 1.0, 1.10) * noise
    runs = line({"a": [1.0] * 45 + [1.4] * 15, "b": after.tolist()}, {"a": [45, 46]})
    (step,) = steps_of(runs, ())
    keys = [entry.key.benchmark for entry in step.alarm.metrics]
    assert keys == ["a", "b"]

    def ended(alarm: Alarm) -> Bisection:
        begun = searched(int(step.good, 16), int(step.bad, 16))
        outcome = Outcome(kind=OutcomeKind.NOT_REPRODUCED, executions=16)
        return replace(begun, alarm=alarm, search=replace(begun.search, outcome=outcome))

    wrong = ended(step.alarm)
    (again,) = steps_of(runs, [wrong])
    assert [entry.key.benchmark for entry in again.alarm.metrics] == ["b"]
    assert steps_of(runs, [wrong, ended(replace(again.alarm, metrics=again.alarm.metrics[:1]))]) == ()
    assert steps_of(runs, [wrong, wrong]) == ()
