"""The acceptance and the culprit that belong to a change of a series."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from msgspec import structs

from perf_culprit.judge.panel_status import Circumstances, shown_changes, standing
from perf_culprit.model.finding import Acceptance
from perf_culprit.model.run import MetricKey
from perf_culprit.model.series import ChangePoint, PanelRun, SeriesCulprit, ShownChange
from tests.unit.judge.test_panels import COMMITS, LINE, grown

PANEL = grown(range(60))
((AT,),) = ([change.index for change in series.changes] for series in PANEL.series if series.changes)
SORT = MetricKey("sort", PANEL.series[-1].metric.name)


def accepted(run: int, benchmark: str | None = "sort", *, suite: str = "api") -> Acceptance:
    return Acceptance(
        suite=suite,
        benchmark=benchmark,
        commit=COMMITS[run],
        reason="",
        author="a",
        time=datetime(2026, 1, 1, tzinfo=UTC),
    )


def culprit(run: int, key: MetricKey = SORT, *, suite: str = "api") -> SeriesCulprit:
    return SeriesCulprit(suite=suite, key=key, commit=COMMITS[run], relative_change=0.3, posterior=0.99)


def shown(*entries: Acceptance | SeriesCulprit) -> ShownChange:
    around = Circumstances(
        line=LINE,
        accepted=[entry for entry in entries if isinstance(entry, Acceptance)],
        culprits=[entry for entry in entries if isinstance(entry, SeriesCulprit)],
    )
    (change,) = shown_changes([PANEL], around)
    return change


@pytest.mark.parametrize(
    ("entry", "counts"),
    [
        (accepted(AT), True),
        (accepted(AT - 3), True),
        (accepted(AT - 4), False),
        (accepted(59, None), True),
        (accepted(AT, "parse"), False),
        (accepted(AT, suite="web"), False),
    ],
)
def test_a_change_was_accepted_near_its_run_or_later(entry: Acceptance, counts: bool) -> None:
    assert shown(entry).accepted == (entry if counts else None)


@pytest.mark.parametrize(
    ("entry", "counts"),
    [
        (culprit(AT), True),
        (culprit(AT - 3), True),
        (culprit(AT + 3), True),
        (culprit(AT - 4), False),
        (culprit(AT + 4), False),
        (culprit(AT, MetricKey("parse", SORT.metric)), False),
        (culprit(AT, suite="web"), False),
    ],
)
def test_a_culprit_is_one_that_a_bisection_named_near_the_change(entry: SeriesCulprit, counts: bool) -> None:
    assert shown(entry).culprit == (entry if counts else None)
    nearer = culprit(AT - 1)
    assert shown(culprit(AT + 2), entry, nearer).culprit == (
        entry if counts and entry.commit == COMMITS[AT] else nearer
    )


def test_the_worst_of_lately_is_of_changes_that_nobody_accepted() -> None:
    (lately,) = (standing([PANEL], [change], (), LINE) for change in [shown()])
    assert lately.worst == pytest.approx(0.3, abs=0.01)
    assert (lately.release, lately.judged) == (None, 2)
    assert standing([PANEL], [shown(accepted(AT))], (), LINE).worst is None
    assert standing([PANEL], [], (), LINE).worst is None


def stepped(values: str, commits: str, at: int, *, culprits: str = "") -> ShownChange:
    """The change at run `at` of a series: a level of 1 ("-") or 2 ("+") and a commit's letter for each run."""
    levels = tuple(1.0 + (value == "+") for value in values)
    change = ChangePoint(
        index=at, kind="step", before=1.0, after=2.0, relative_change=1.0, p_value=0, q_value=0, strength=9
    )
    (one, *_) = PANEL.series
    series = structs.replace(one, values=levels, changes=(change,))
    panel = structs.replace(PANEL, runs=tuple(PanelRun(commit=name) for name in commits), series=(series,))
    named = [replace(culprit(0, MetricKey("other", "time")), commit=name) for name in culprits]
    order = {name: -place for place, name in enumerate(dict.fromkeys(commits))}
    (change_shown,) = shown_changes([panel], Circumstances(line=order, culprits=named))
    return change_shown


@pytest.mark.parametrize(
    ("values", "commits", "at", "after", "since"),
    [
        ("----++++", "abcdefgh", 4, None, "e"),
        # A burst before the true step draws the detected step to earlier runs, one after it to later runs.
        ("-+---+++++", "abcdefghij", 5, "e", "g"),
        ("-----++-++", "abcdefghij", 5, "d", "f"),
        # All runs of a commit have one level: the step is at one of its ends, and a burst shows at which.
        ("--------++++", "aaaabbbbcccc", 8, None, "c"),
        ("------++++++", "aaaabbbbcccc", 6, "a", "c"),
        ("--++--++++++", "aaaabbbbcccc", 6, None, "c"),
    ],
)
def test_a_step_beside_bursts_is_between_two_commits(
    values: str, commits: str, at: int, after: str | None, since: str
) -> None:
    one = stepped(values, commits, at)
    assert (one.after, one.since) == (after, since)


def test_a_search_of_another_benchmark_decides_between_them() -> None:
    assert (one := stepped("-+---+++++", "abcdefghij", 5, culprits="g")).since == "g"
    assert one.after is None
    far = stepped("-+---+++++", "abcdefghij", 5, culprits="i")
    assert (far.after, far.since) == ("e", "g")


def hidden(values: str, *, relative_change: float = 1.0, changes: tuple[ChangePoint, ...] = ()) -> list[ShownChange]:
    """The changes of a series whose fifth run is the culprit's: levels are digits, "." is a missing value."""
    commits = "abcdefghijklmnop"[: len(values)]
    (*_, one) = PANEL.series
    levels = tuple(None if value == "." else float(value) for value in values)
    series = structs.replace(one, values=levels, changes=changes)
    panel = structs.replace(PANEL, runs=tuple(PanelRun(commit=name) for name in commits), series=(series,))
    named = [replace(culprit(0), commit="e", relative_change=relative_change)]
    order = {name: -place for place, name in enumerate(commits)}
    return list(shown_changes([panel], Circumstances(line=order, culprits=named)))


@pytest.mark.parametrize(
    ("values", "relative_change", "counts"),
    [
        ("12124242", 1.0, True),
        ("1.1.4.4.", 3.0, True),
        ("12121212", 1.0, False),  # fixed by now, or never there
        ("42421212", 1.0, False),
        ("42421212", -0.5, True),
        ("....4242", 1.0, False),
    ],
)
def test_a_culprit_whose_step_noise_hides_is_shown_if_the_runs_agree(
    values: str, relative_change: float, counts: bool
) -> None:
    changes = hidden(values, relative_change=relative_change)
    assert [(one.change.index, one.since, one.after) for one in changes] == ([(4, "e", None)] if counts else [])
    assert all(one.culprit and one.change.relative_change == relative_change for one in changes)


def test_a_culprit_between_two_changes_is_judged_by_the_runs_between_them() -> None:
    step = ChangePoint(
        index=8, kind="step", before=2.0, after=1.0, relative_change=-0.5, p_value=0, q_value=0, strength=9
    )
    shown_ones = hidden("1111222211111111", changes=(step,))
    assert [(one.change.index, one.culprit is not None) for one in shown_ones] == [(4, True), (8, False)]


def test_a_hidden_step_has_the_size_that_the_runs_show() -> None:
    (one,) = hidden("1.1.4.4.", relative_change=8.0)
    assert (one.change.before, one.change.after, one.change.relative_change) == pytest.approx((1.0, 4.0, 3.0))
    assert one.culprit is not None
    assert one.culprit.relative_change == 8.0
