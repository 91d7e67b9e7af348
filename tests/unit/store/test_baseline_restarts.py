"""The stored runs that remain the baseline after an acceptance, walked from the newest to the oldest."""

from datetime import timedelta

import numpy as np
from msgspec.structs import replace

from perf_culprit.model.finding import Acceptance
from perf_culprit.model.run import CounterTable, Direction, Metric, MetricKey, Run
from perf_culprit.store.baseline import Restarts
from tests.support.reasons import words_of
from tests.support.stored_runs import START, make_run

SORT = MetricKey("sort", "time")
COMMITS = [f"{number:040x}" for number in (5, 4, 3, 2, 1)]  # newest first


def run(number: int, *, flagged: bool = False) -> Run:
    return replace(make_run(number), regressions=(SORT,) if flagged else ())


def accepted(number: int, *, benchmark: str | None = "sort", minute: float = 100, reason: str = "why") -> Acceptance:
    return Acceptance(
        suite="default",
        benchmark=benchmark,
        commit=f"{number:040x}",
        reason=reason,
        author="ada",
        time=START + timedelta(minutes=minute),
    )


def walk(restarts: Restarts, *runs: Run) -> list[int]:
    """The numbers of the runs that are a baseline for `sort`."""
    chosen = []
    for entry in runs:
        position = COMMITS.index(str(entry.commit))
        keys = restarts.kept(entry.keys, position)
        if keys:
            restarts.choose(keys, position)
            chosen.append(int(str(entry.commit), 16))
    return chosen


def restarts(*entries: Acceptance, head: str = "f" * 40) -> Restarts:
    positions = {commit: position for position, commit in enumerate(COMMITS)}
    return Restarts(accepted=entries, positions=positions, head=head)


def test_nothing_accepted_changes_nothing() -> None:
    walked = restarts()
    assert walk(walked, run(5), run(4, flagged=True), run(3)) == [5, 4, 3]
    assert walked.forgiven(run(4, flagged=True), 1).regressions == (SORT,)
    assert walked.pending == ()
    assert walked.notes == ()


def test_runs_before_the_accepted_commit_are_cut() -> None:
    walked = restarts(accepted(3))
    assert walk(walked, run(5), run(4), run(3), run(2), run(1)) == [5, 4, 3]
    assert walked.pending == ()
    assert words_of(walked.notes) == ("sort: the baseline begins at 0000000, accepted by ada there: why",)


def test_while_nothing_was_measured_since_the_old_level_stays_and_the_acceptance_is_pending() -> None:
    entry = accepted(4)
    walked = restarts(entry)
    assert walk(walked, run(3), run(2)) == [3, 2]
    assert walked.pending == (entry,)


def test_flags_from_before_the_acceptance_are_forgiven_and_later_ones_are_not() -> None:
    walked = restarts(accepted(3, minute=4))  # a run's number is its time in minutes
    flagged = [run(number, flagged=True) for number in (5, 4, 3)]
    assert walk(walked, *flagged, run(2, flagged=True)) == [5, 4, 3]
    assert [walked.forgiven(entry, position).regressions for position, entry in enumerate(flagged)] == [
        (SORT,),
        (),
        (),
    ]


def test_an_accepted_run_has_no_category_from_before_the_acceptance() -> None:
    """Otherwise the accepted level would leave the old category in every run."""
    fast = replace(run(3), benchmarks=tuple(replace(one, category="fast") for one in run(3).benchmarks))
    assert {one.category for one in restarts().forgiven(fast, 2).benchmarks} == {"fast"}
    assert {one.category for one in restarts(accepted(3)).forgiven(fast, 2).benchmarks} == {None}
    later = restarts(accepted(3, minute=1)).forgiven(replace(fast, commit=COMMITS[0]), 0)
    assert {one.category for one in later.benchmarks} == {"fast"}


def test_of_several_the_newest_commit_counts() -> None:
    assert walk(restarts(accepted(2), accepted(4)), run(5), run(4), run(3), run(2)) == [5, 4]


def test_one_for_all_cuts_nothing_by_itself() -> None:
    """Unchanged benchmarks keep their baseline. Changed ones are named when a run shows their change."""
    walked = restarts(accepted(3, benchmark=None))
    assert walk(walked, run(5), run(2)) == [5, 2]
    assert walked.pending == ()


def test_the_targets_own_commit_is_pending() -> None:
    entry = accepted(15)
    walked = restarts(entry, head=entry.commit)
    assert walk(walked, run(5)) == [5]
    assert walked.pending == (entry,)


def test_an_acceptance_elsewhere_is_nothing() -> None:
    walked = restarts(accepted(9))
    assert walk(walked, run(5), run(1)) == [5, 1]
    assert walked.pending == ()


def of_counters(number: int, *, flagged: str | None = None) -> Run:
    """A run of one table with two counters, and no benchmark."""
    table = CounterTable(
        name="server",
        metrics=tuple(Metric(name=name, unit="%", direction=Direction.UNKNOWN) for name in ("cpu", "disk")),
        times_s=np.arange(3.0),
        values=np.ones((3, 2)),
    )
    regressions = (MetricKey("server", flagged),) if flagged else ()
    return replace(make_run(number), benchmarks=(), counters=(table,), regressions=regressions)


def test_counters_are_kept_by_table_and_name() -> None:
    walked = restarts()
    assert walked.kept(of_counters(5).keys, 0) == (MetricKey("server", "cpu"), MetricKey("server", "disk"))
    assert walked.forgiven(of_counters(4, flagged="cpu"), 1).regressions == (MetricKey("server", "cpu"),)


def test_one_accepted_counter_leaves_the_others_of_its_table_alone() -> None:
    walked = restarts(accepted(4, benchmark="server cpu"))
    for number, names in ((5, {"cpu", "disk"}), (4, {"cpu", "disk"}), (3, {"disk"}), (2, {"disk"})):
        keys = walked.kept(of_counters(number).keys, COMMITS.index(f"{number:040x}"))
        walked.choose(keys, COMMITS.index(f"{number:040x}"))
        assert {key.metric for key in keys} == names
    assert walked.pending == ()


def test_an_accepted_table_is_all_its_counters() -> None:
    walked = restarts(accepted(4, benchmark="server"))
    walked.choose(walked.kept(of_counters(4, flagged="cpu").keys, 1), 1)
    assert walked.kept(of_counters(3).keys, 2) == ()
