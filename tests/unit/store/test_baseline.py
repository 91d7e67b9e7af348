from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec import structs

from perf_culprit.errors import UsageError
from perf_culprit.model.finding import Baseline, BaselineSource
from perf_culprit.model.reason import BaselineReason
from perf_culprit.model.run import Benchmark, Direction, Environment, Metric, MetricKey, Run
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.store.ancestry import TARGET_COMMIT, Ancestry
from perf_culprit.store.baseline import choose_baseline
from perf_culprit.store.protocol import NamedRun, UnreadableRun
from tests.support.fake_history import FakeHistory
from tests.support.reasons import words_of

TIME = Metric(name="time", unit="ns", direction=Direction.LOWER_IS_BETTER)
INTEL, AMD = "Intel Xeon 8370C", "AMD EPYC 7763"


def commit_name(number: int) -> str:
    return f"{number:040x}"


def make_run(number: int, *, cpu: str | None = INTEL, regressions: Sequence[str] = ()) -> Run:
    return Run(
        benchmarks=tuple(Benchmark.of(name=name, metric=TIME, samples=(float(number),)) for name in ("sort", "parse")),
        environment=Environment(
            components={"architecture": "x86_64", "os": "Linux"} | ({} if cpu is None else {"cpu": cpu})
        ),
        commit=commit_name(number),
        time=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=number),
        regressions=tuple(MetricKey(name, "time") for name in regressions),
    )


def entry(run: Run) -> NamedRun:
    assert run.commit is not None
    return NamedRun(id=f"runs/{run.commit}", commit=run.commit, run=run)


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> Ancestry:
    """Commits 1 … 1000 in a line. The merge base is 1000, the target 1001."""
    ancestry = Ancestry(commits=tuple(map(commit_name, range(1000, 0, -1))), base_commit=commit_name(1000))
    monkeypatch.setattr("perf_culprit.store.baseline.find_ancestry", lambda *_, **__: ancestry)
    return ancestry


TARGET = make_run(1001)


def choose(entries: Sequence[NamedRun | UnreadableRun], *, target: Run = TARGET, window: int = 30) -> Baseline:
    return choose_baseline(FakeHistory(entries), Path(), target=target, base="main", window=window)


@pytest.mark.usefixtures("line")
def test_nothing_stored_is_an_empty_baseline_without_doubt() -> None:
    baseline = choose([])
    assert baseline.runs == ()
    assert baseline.choices == ()
    assert baseline.notes == ()
    assert baseline.base_commit == commit_name(1000)
    assert baseline.source is BaselineSource.HISTORY
    assert not baseline.only_other_hardware


@pytest.mark.usefixtures("line")
def test_runs_are_chosen_newest_first_and_given_oldest_first() -> None:
    baseline = choose([entry(make_run(number)) for number in (990, 1000, 997)])
    assert [run.commit for run in baseline.runs] == [commit_name(number) for number in (990, 997, 1000)]
    assert [words_of(choice.reason) for choice in baseline.choices] == [
        "at the merge base",
        "3 commits before the merge base",
        "10 commits before the merge base",
    ]
    assert all(choice.chosen for choice in baseline.choices)
    assert baseline.choices[0].time == "2028-09-27T00:00:00Z"
    assert baseline.notes == ()


def test_after_a_push_distance_counts_from_the_target(line: Ancestry, monkeypatch: pytest.MonkeyPatch) -> None:
    pushed = replace(line, anchor=TARGET_COMMIT)
    monkeypatch.setattr("perf_culprit.store.baseline.find_ancestry", lambda *_, **__: pushed)
    baseline = choose([entry(make_run(number)) for number in (1000, 998)])
    assert [words_of(choice.reason) for choice in baseline.choices] == [
        "1 commit before the target commit",
        "3 commits before the target commit",
    ]


@pytest.mark.usefixtures("line")
def test_the_window_bounds_runs_and_the_rest_is_counted() -> None:
    baseline = choose([entry(make_run(number)) for number in range(901, 1001)], window=5)
    assert [run.commit for run in baseline.runs] == [commit_name(number) for number in range(996, 1001)]
    assert [words_of(choice.reason) for choice in baseline.choices[5:]] == ["5 newer runs are enough"] * 3
    assert words_of(baseline.notes) == ("92 older stored runs not looked at",)


@pytest.mark.usefixtures("line")
def test_other_hardware_is_left_out_by_name_and_the_window_filled_from_the_same() -> None:
    runs = [make_run(number, cpu=AMD if number % 2 else INTEL) for number in range(981, 1001)]
    baseline = choose([entry(run) for run in runs], window=10)
    assert [run.environment.components["cpu"] for run in baseline.runs] == [INTEL] * 10
    left_out = [choice for choice in baseline.choices if not choice.chosen]
    assert words_of(left_out[0].reason) == f"measured on {AMD}, the target on {INTEL} (cpu)"
    assert baseline.left_out_for_hardware == 9
    assert not baseline.only_other_hardware


@pytest.mark.usefixtures("line")
def test_only_other_hardware_is_said() -> None:
    baseline = choose([entry(make_run(number, cpu=AMD)) for number in (999, 1000)])
    assert baseline.only_other_hardware
    assert baseline.runs == ()
    assert {choice.reason.code for choice in baseline.choices} == {BaselineReason.OTHER_HARDWARE}


@pytest.mark.usefixtures("line")
@pytest.mark.parametrize("ours", [INTEL, None])
def test_unknown_hardware_counts_as_the_same_with_a_note(ours: str | None) -> None:
    baseline = choose([entry(make_run(1000, cpu=None))], target=make_run(1001, cpu=ours))
    assert len(baseline.runs) == 1
    assert words_of(baseline.notes) == ("cpu is not known on both sides for 1 baseline run; taken as the same",)


@pytest.mark.usefixtures("line")
def test_what_was_judged_a_regression_comes_along_with_its_mark() -> None:
    both = make_run(1000, regressions=["sort", "parse"])
    baseline = choose([entry(both), entry(make_run(999, regressions=["sort"]))])
    assert [[benchmark.name for benchmark in run.benchmarks] for run in baseline.runs] == [["sort", "parse"]] * 2
    assert [[key.benchmark for key in run.regressions] for run in baseline.runs] == [["sort"], ["sort", "parse"]]
    assert [words_of(choice.reason) for choice in baseline.choices] == [
        "at the merge base",
        "1 commit before the merge base",
    ]


@pytest.mark.usefixtures("line")
def test_the_target_s_own_commit_is_never_baseline() -> None:
    baseline = choose([entry(make_run(1000)), entry(make_run(999))], target=make_run(1000))
    assert [run.commit for run in baseline.runs] == [commit_name(999)]
    assert [choice.commit for choice in baseline.choices] == [commit_name(999)]


@pytest.mark.usefixtures("line")
def test_other_commits_and_suites_are_no_baseline() -> None:
    baseline = choose([entry(make_run(1002)), entry(make_run(5000)), entry(make_run(1000))])
    assert [run.commit for run in baseline.runs] == [commit_name(1000)]
    assert words_of(baseline.notes) == (
        "2 stored runs of commits not before the merge base (other branches, or newer)",
    )
    assert choose([entry(make_run(1000))], target=structs.replace(TARGET, suite="other")).runs == ()


@pytest.mark.usefixtures("line")
def test_unreadable_runs_are_named_and_bounded() -> None:
    broken = [UnreadableRun(id=f"runs/{n}", commit=commit_name(n), problem="not JSON") for n in range(986, 1001)]
    baseline = choose([*broken, entry(make_run(985))])
    assert [run.commit for run in baseline.runs] == [commit_name(985)]
    assert words_of(baseline.notes)[0] == "the stored run runs/1000 cannot be read: not JSON"
    assert words_of(baseline.notes)[10:] == (
        "5 more stored runs cannot be read",
        "the baseline is 15 commits older than the base: what changed since then is included in this comparison",
    )


@pytest.mark.usefixtures("line")
def test_reading_and_choices_are_bounded_whatever_is_stored() -> None:
    entries = [entry(make_run(number, cpu=AMD)) for number in range(1, 1001)]
    baseline = choose(entries, window=30)
    assert baseline.left_out_for_hardware == 300
    assert len(baseline.choices) == TEXT_LIMITS.choices
    assert "200 more runs looked at and not listed" in words_of(baseline.notes)
    assert "700 older stored runs not looked at" in words_of(baseline.notes)


def test_a_target_without_commit_is_refused() -> None:
    with pytest.raises(UsageError, match="no commit"):
        choose([], target=structs.replace(TARGET, commit=None))
