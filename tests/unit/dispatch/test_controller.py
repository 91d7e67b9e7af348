"""A bisection on other machines: lost, late, duplicate, killed or forged runs do not change the search."""

import dataclasses
import math
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from perf_culprit.dispatch.controller import advance_bisection, settle
from perf_culprit.errors import BotError, DataError, InfrastructureError
from perf_culprit.model.bisection import Engine, OutcomeKind
from perf_culprit.model.reason import SearchReason, because
from perf_culprit.model.run import Direction, Metric
from perf_culprit.say.bisection_steps import step_texts
from tests.support.reasons import words_of
from tests.support.runner_pool import JOB_SECONDS, NAME, TIME, Killed, Pool, Scene, altered, new_bisection, zipped

ENGINES = pytest.mark.parametrize("engine", list(Engine))
CULPRIT = 11


def begun(engine: Engine = Engine.BAYES, *, seed: int = 1, size: int = 16, **pool: Any) -> Scene:
    scene = Scene(pool=Pool(slow_from=CULPRIT, seed=seed, **pool))
    scene.begin(new_bisection(engine=engine, seed=seed, size=size))
    return scene


def culprits(scene: Scene) -> list[int]:
    outcome = scene.branch.bisection.search.outcome
    assert outcome is not None
    return [int(culprit.commit, 16) for culprit in outcome.culprits]


def numbers(scene: Scene) -> list[int]:
    """The numbers of the dispatches, in the order in which they were sent."""
    return [int(run.inputs["dispatch"].partition("-")[0]) for run in scene.pool.runs]


@ENGINES
@pytest.mark.parametrize("offset", [0.06, 0.15, 0.3])
def test_machines_of_any_speed_find_the_culprit(engine: Engine, offset: float) -> None:
    scene = begun(engine, offset=offset)
    outcome = scene.work()
    assert (outcome.kind, culprits(scene)) == (OutcomeKind.CULPRIT, [CULPRIT])
    assert numbers(scene) == list(range(1, len(scene.pool.runs) + 1))
    last = scene.told[-1]
    assert last.report is not None
    assert last.report.outcome == outcome
    assert last.report.metric == TIME


@ENGINES
def test_a_job_has_several_rounds_of_commits_side_by_side(engine: Engine) -> None:
    scene = begun(engine)
    scene.work()
    first = scene.pool.runs[0].request
    assert len(first.jobs) == 4
    assert {len(job.rounds) for job in first.jobs} <= {1, 2, 3}
    for run in scene.pool.runs:
        for entry in (entry for job in run.request.jobs for entry in job.rounds):
            assert len(set(entry.commits)) == len(entry.commits) > 1


@ENGINES
def test_lost_jobs_are_measured_again(engine: Engine) -> None:
    scene = begun(engine, lost=0.3)
    scene.work()
    assert culprits(scene) == [CULPRIT]
    assert any(remark.code is SearchReason.ROUNDS_LOST for step in scene.told for remark in step.remarks)
    results = [result.job_id for result in scene.branch.bisection.search.results]
    assert len(set(results)) == len(results)


@ENGINES
def test_two_lost_dispatches_are_borne_and_a_third_ends_it(engine: Engine) -> None:
    scene = begun(engine)
    for _ in range(2):
        scene.pool.runs[-1].completed = True
        advance_bisection(scene.controller(), run_id=scene.pool.runs[-1].id)
    scene.work()
    assert culprits(scene) == [CULPRIT]
    scene = begun(engine)
    for _ in range(3):
        scene.pool.runs[-1].completed = True
        advance_bisection(scene.controller(), run_id=scene.pool.runs[-1].id)
    outcome = scene.branch.bisection.search.outcome
    assert outcome is not None
    assert outcome.kind is OutcomeKind.BUDGET_SPENT
    assert because(SearchReason.DISPATCHES_FRUITLESS, count=3) in outcome.notes
    assert len(scene.pool.runs) == 3


@ENGINES
def test_a_run_that_is_told_again_changes_nothing(engine: Engine) -> None:
    scene, calm = begun(engine), begun(engine)
    calm.work()
    while not scene.branch.bisection.is_done:
        run = scene.pool.runs[-1]
        scene.pool.measure(run)
        for _ in range(3):
            advance_bisection(scene.controller(), run_id=run.id)
        for old in scene.pool.runs[:-1]:
            advance_bisection(scene.controller(), run_id=old.id)
    assert scene.branch.bisection.search == calm.branch.bisection.search
    assert numbers(scene) == numbers(calm)
    jobs = sum(len(dispatch.jobs) for dispatch in scene.branch.bisection.dispatches)
    assert scene.branch.bisection.runner_seconds == jobs * JOB_SECONDS
    minutes = math.ceil(jobs * JOB_SECONDS / 60)
    body = step_texts(scene.told[-1], repository_url="https://example.org/a/b").body
    assert f", {minutes:,} minutes of measuring and building; " in body


@ENGINES
def test_what_comes_late_counts_once(engine: Engine) -> None:
    scene = begun(engine)
    first = scene.pool.runs[0]
    scene.pool.measure(first)
    late = first.artifacts.pop()
    advance_bisection(scene.controller(), run_id=first.id)
    before = len(scene.branch.bisection.search.results)
    first.artifacts.append(late)
    for _ in range(2):
        advance_bisection(scene.controller(), run_id=first.id)
        assert before < len(scene.branch.bisection.search.results) <= before + 3
    assert len(scene.pool.runs) == 2
    scene.work()
    assert culprits(scene) == [CULPRIT]


def killed_at(what: str, moment: str, number: int, engine: Engine) -> tuple[Scene, bool]:
    """A search whose controller dies at this store or dispatch and that others continue; and whether it died."""
    scene = Scene(pool=Pool(slow_from=CULPRIT, seed=1))
    hooked: Any = {"store": scene.branch, "dispatch": scene.pool}[what]
    died: list[int] = []

    def kill(count: int) -> None:
        if count == number and not died:
            died.append(count)
            raise Killed

    setattr(hooked, moment, kill)
    try:
        scene.begin(new_bisection(engine=engine, seed=1))
    except Killed:
        if scene.branch.content is None:  # the search never started: the command is handled again
            scene.begin(new_bisection(engine=engine, seed=1))
    while scene.branch.content is None or not scene.branch.bisection.is_done:
        try:
            scene.work()
        except Killed:
            continue
    # If it died after its last store, the next event reports the stored state.
    advance_bisection(scene.controller(), bisection=NAME)
    return scene, bool(died)


@ENGINES
@pytest.mark.parametrize("what", ["store", "dispatch"])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_killed_controller_costs_nothing(engine: Engine, what: str, moment: str) -> None:
    calm = begun(engine)
    calm.work()
    for number in (*range(1, 6), *range(6, 100, 9)):  # each of the first steps, then a sample of the similar later ones
        scene, died = killed_at(what, moment, number, engine)
        assert scene.branch.bisection.search == calm.branch.bisection.search, number
        assert numbers(scene) == numbers(calm), number
        assert scene.told[-1].report == calm.told[-1].report
        if not died:
            break
    else:
        pytest.fail("no search has so many steps")
    assert number > 3  # enough moments to cover several dispatches


@ENGINES
@pytest.mark.parametrize("what", ["store", "dispatch"])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_two_controllers_at_once_are_as_one(engine: Engine, what: str, moment: str) -> None:
    calm = begun(engine)
    calm.work()
    scene = begun(engine)
    hooked: Any = {"store": scene.branch, "dispatch": scene.pool}[what]
    inside: list[int] = []

    def meanwhile(_: int) -> None:
        """Let another job handle the same event at the worst moment."""
        if not inside:
            inside.append(1)
            completed = [run.id for run in scene.pool.runs if run.completed]
            advance_bisection(scene.controller(), run_id=completed[-1] if completed else None, bisection=NAME)
            inside.clear()

    setattr(hooked, moment, meanwhile)
    scene.work()
    assert scene.branch.bisection.search == calm.branch.bisection.search
    assert numbers(scene) == numbers(calm)


@ENGINES
def test_runs_are_known_by_their_title_where_the_server_tells_no_id(engine: Engine) -> None:
    scene, calm = begun(engine, tells_run=False, hidden=3), begun(engine)
    calm.work()
    scene.work()
    assert scene.branch.bisection.search == calm.branch.bisection.search


def test_a_dispatch_that_was_never_sent_is_sent_after_a_while() -> None:
    scene = Scene(pool=Pool(slow_from=CULPRIT, seed=1))
    scene.pool.before = lambda _: (_ for _ in ()).throw(Killed)
    with pytest.raises(Killed):
        scene.begin(new_bisection(seed=1))
    scene.pool.before = lambda _: None
    step = advance_bisection(scene.controller(), bisection=NAME)
    assert step.waiting is not None
    assert step.waiting.code is SearchReason.BEING_SENT
    assert scene.pool.runs == []
    scene.clock.pass_minutes(6)
    step = advance_bisection(scene.controller(), bisection=NAME)
    assert any(remark.code is SearchReason.SENT_LATE for remark in step.remarks)
    assert numbers(scene) == [1]


def test_a_jobs_next_attempt_sends_at_once_what_the_one_before_has_stored() -> None:
    scene = Scene(pool=Pool(slow_from=CULPRIT, seed=1))
    scene.pool.before = lambda _: (_ for _ in ()).throw(Killed)
    with pytest.raises(Killed):
        settle(dataclasses.replace(scene.controller(), name="55"), new_bisection(seed=1), loaded=None)
    scene.pool.before = lambda _: None
    advance_bisection(dataclasses.replace(scene.controller(), name="55"), bisection=NAME)
    assert numbers(scene) == [1]


def test_a_refused_dispatch_is_an_error_and_the_next_call_sends_it() -> None:
    scene = Scene(pool=Pool(slow_from=CULPRIT, seed=1))

    def refuse(_: int) -> None:
        raise InfrastructureError("GitHub forbids it")

    scene.pool.before = refuse
    with pytest.raises(InfrastructureError, match="forbids"):
        scene.begin(new_bisection(seed=1))
    scene.pool.before = lambda _: None
    advance_bisection(scene.controller(), bisection=NAME)
    assert len(scene.pool.runs) == 1
    assert scene.branch.bisection.open_dispatch is not None


def test_a_run_that_is_not_over_is_waited_for() -> None:
    scene = begun()
    step = advance_bisection(scene.controller(), bisection=NAME)
    assert step.waiting == because(SearchReason.RUN_UNDER_WAY, run=1000)
    with pytest.raises(InfrastructureError, match="not over yet"):
        advance_bisection(scene.controller(), run_id=1000)
    with pytest.raises(DataError, match="not a run of a bisection"):
        advance_bisection(scene.controller(), run_id=77)
    assert len(scene.pool.runs) == 1


def test_a_deleted_run_is_a_lost_dispatch() -> None:
    scene = begun()
    scene.pool.runs.clear()
    step = advance_bisection(scene.controller(), bisection=NAME)
    assert len(scene.pool.runs) == 1
    assert because(SearchReason.ROUNDS_LOST, lost=4, rounds=4) in step.remarks


def test_a_bisection_that_is_gone_is_said() -> None:
    scene = begun()
    scene.pool.measure(scene.pool.runs[0])
    scene.branch.content = None
    with pytest.raises(DataError, match="is not on the history branch") as caught:
        advance_bisection(scene.controller(), run_id=1000)
    assert "rewritten" in str(caught.value)


@ENGINES
def test_a_branch_that_was_put_back_is_noticed_and_nothing_counts_wrongly(engine: Engine) -> None:
    scene = begun(engine)
    scene.pool.measure(scene.pool.runs[0])
    before = scene.branch.content
    advance_bisection(scene.controller(), run_id=1000)
    scene.branch.content = before
    advance_bisection(scene.controller(), run_id=1000)
    lost = scene.pool.runs[1]
    scene.pool.measure(lost)
    step = advance_bisection(scene.controller(), run_id=lost.id)
    assert any(remark.code is SearchReason.RUN_UNKNOWN for remark in step.remarks)
    scene.work()
    assert culprits(scene) == [CULPRIT]


def test_a_second_run_of_one_dispatch_is_refused() -> None:
    scene = begun()
    scene.pool.send(scene.pool.runs[0].inputs)
    scene.pool.measure(scene.pool.runs[1])
    step = advance_bisection(scene.controller(), run_id=1001)
    assert any("run 1001 was refused" in remark for remark in words_of(step.remarks))
    assert step.bisection.search.results == ()


def first_round(file: dict[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = file["rounds"][0]
    return entry


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        pytest.param(lambda file: file.update(bisection="4712"), "another bisection", id="another bisection"),
        pytest.param(lambda file: file.update(dispatch="1-00000000"), "another dispatch", id="another dispatch"),
        pytest.param(lambda file: file.update(job="job-2"), "another job", id="another job"),
        pytest.param(
            lambda file: file.update(diagnosis={"commit": "f" * 40}), "diagnoses a commit", id="unasked diagnosis"
        ),
        pytest.param(lambda file: first_round(file).update(id="round-0999"), "not asked for", id="unknown round"),
        pytest.param(lambda file: file["rounds"].append(first_round(file)), "stands there twice", id="twice"),
        pytest.param(
            lambda file: first_round(file)["values"].update({"f" * 40: [1.0]}), "does not have", id="wrong commit"
        ),
        pytest.param(
            lambda file: first_round(file)["values"].update({f"{5:040x}": [1.0]}), "does not have", id="unasked commit"
        ),
        pytest.param(lambda file: _first_value(file, float("nan")), "NaN is not a number", id="nan"),
        pytest.param(lambda file: _first_value(file, float("inf")), "Infinity is not a number", id="infinity"),
        pytest.param(lambda file: _first_value(file, 1e300), "< 1e+18", id="huge"),
        pytest.param(lambda file: _first_value(file, 0.0), "> 1e-18", id="zero"),
        pytest.param(lambda file: _first_value(file, -1.0), "> 1e-18", id="negative"),
        pytest.param(lambda file: _first_value(file, "fast"), "got `str`", id="text"),
        pytest.param(
            lambda file: first_round(file)["values"].update({"0" * 40: [1.0] * 20_000}), "<= 10000", id="many"
        ),
        pytest.param(lambda file: file.update(more=1), "more", id="unknown field"),
        pytest.param(lambda file: file.update(metric=None), "of what metric", id="no metric"),
        pytest.param(lambda file: file["metric"].update(name="size"), "another metric", id="other metric"),
        pytest.param(lambda file: file["metric"].update(unit="ms"), "unit or direction", id="other unit"),
        pytest.param(lambda file: file["metric"].update(direction="unknown"), "which way is good", id="no direction"),
        pytest.param(
            lambda file: file.update(environment={str(n): "" for n in range(100)}), "environment", id="environment"
        ),
        pytest.param(lambda _: "[" * 100_000, "not a valid bisect-job-v1", id="deep"),
        pytest.param(lambda _: " " * (2 << 20) + "{}", "unpacks to more than", id="large"),
        pytest.param(lambda _: "", "not a valid bisect-job-v1", id="empty"),
    ],
)
def test_a_forged_result_is_refused_and_never_counts(change: Callable[[dict[str, Any]], object], fault: str) -> None:
    scene = begun()
    run = scene.pool.runs[0]
    scene.pool.measure(run)
    run.artifacts.sort(key=lambda artifact: artifact.name)
    run.artifacts[0] = altered(run.artifacts[0], change)
    forged = {entry.id for entry in run.request.jobs[0].rounds}
    step = advance_bisection(scene.controller(), run_id=run.id)
    counted = {result.job_id for result in step.bisection.search.results}
    assert not counted & forged
    assert counted
    assert any("job-1" in remark and "refused" in remark and fault in remark for remark in words_of(step.remarks))
    scene.work()
    assert culprits(scene) == [CULPRIT]


def _first_value(file: dict[str, Any], value: object) -> None:
    first_round(file)["values"]["0" * 40] = [value]


def test_an_artifact_without_a_result_and_one_that_could_not_be_had() -> None:
    scene = begun()
    run = scene.pool.runs[0]
    scene.pool.measure(run)
    run.artifacts.sort(key=lambda artifact: artifact.name)
    run.artifacts[0] = zipped(run.artifacts[0].name, b"hello", member="log.txt")
    run.artifacts[1] = type(run.artifacts[1])(name=run.artifacts[1].name, problem="the artifact has expired")
    run.artifacts[2] = type(run.artifacts[2])(name=run.artifacts[2].name, zip_bytes=b"PK\x03\x04 no zip")
    remarks = words_of(advance_bisection(scene.controller(), run_id=run.id).remarks)
    assert any("job-1" in remark and "holds 0 files" in remark for remark in remarks)
    assert any("job-2" in remark and "has expired" in remark for remark in remarks)
    assert any("job-3" in remark and "broken zip" in remark for remark in remarks)


def test_unit_and_direction_are_learned_where_the_history_knows_none() -> None:
    rate = Metric(name="time", unit="op/s", direction=Direction.HIGHER_IS_BETTER)
    scene = Scene(pool=Pool(slow_from=CULPRIT, seed=1, metric=rate))
    scene.begin(new_bisection(seed=1, metric=None))
    outcome = scene.work()
    assert culprits(scene) == [CULPRIT]
    assert outcome.relative_change is not None
    assert outcome.relative_change < 0
    assert scene.branch.bisection.metric == rate


def test_the_time_ends_it_with_the_answer_so_far() -> None:
    scene = Scene(pool=Pool(slow_from=CULPRIT, seed=1))
    bisection = new_bisection(seed=1)
    scene.begin(replace(bisection, deadline=bisection.started_at + timedelta(minutes=30)))
    scene.pool.measure(scene.pool.runs[0])
    scene.clock.pass_minutes(31)
    step = advance_bisection(scene.controller(), run_id=1000)
    assert step.report is not None
    assert because(SearchReason.TIME_SPENT) in step.report.outcome.notes
    assert len(scene.pool.runs) == 1


def test_a_bisection_that_has_ended_is_told_again_and_takes_nothing_more() -> None:
    scene = begun()
    scene.work()
    content = scene.branch.content
    told, runs = scene.told[-1], len(scene.pool.runs)
    step = advance_bisection(scene.controller(), run_id=scene.pool.runs[0].id)
    assert (step.report, step.waiting, len(scene.pool.runs)) == (told.report, None, runs)
    assert scene.branch.content == content
    assert advance_bisection(scene.controller(), bisection=NAME).report == told.report


def test_a_request_that_github_would_not_take_is_refused_before_it_is_sent() -> None:
    scene = Scene(pool=Pool(slow_from=CULPRIT))
    bisection = new_bisection()
    commands = type(bisection.commands)(run="x" * 60_000)
    with pytest.raises(BotError, match="more than GitHub takes"):
        settle(scene.controller(), replace(bisection, commands=commands), loaded=None)
    assert scene.pool.runs == []


def test_neither_a_run_nor_a_bisection() -> None:
    with pytest.raises(DataError, match="neither"):
        advance_bisection(begun().controller())
