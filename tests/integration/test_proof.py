"""Suspicions against stored runs are measured in rounds automatically: publishing, dispatch, machines, one comment."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from perf_culprit.config.settings import Config
from perf_culprit.model.dispatch import BisectJob, BisectJobResult, BisectRequest
from perf_culprit.model.run import Run
from perf_culprit.model.run_file import encode_run
from perf_culprit.say.certainty_words import NOT_PROVEN
from perf_culprit.store.opening import open_history
from perf_culprit.store.protocol import NamedRun
from tests.support.fake_github.faults import Fault
from tests.support.fake_github.state import FORK_ID, REPOSITORY_ID, PullRequest, WorkflowRun
from tests.support.git_repository import run_git
from tests.support.job import JobResult, zipped
from tests.support.mainline import Mainline, Recorded, open_mainline, recorded_mainline
from tests.support.measurements import measured
from tests.support.rounds import in_rounds
from tests.support.webhooks import event

CONFIG: Mapping[str, Any] = {"bisect": {"run": "./bench", "profile-seconds": 0}}
BRANCH = "faster"
# The report after a dispatch is not told which workflow measures.
WORKFLOW = ".github/workflows/bench.yml"
INPUTS = {"config": ".perf-culprit.yml", "measure_workflow": "bench.yml"}
SLOW = 0.0096


@dataclass(kw_only=True, slots=True)
class Measured(Mainline):
    """A main line; `most` is how many rounds of one execution a side fit into the time of a dispatch."""

    most: int | None = None

    def _measured(self, request: BisectRequest, job: BisectJob, place: int) -> BisectJobResult:
        result = super(Measured, self)._measured(request, job, place)
        return replace(result, rounds=result.rounds[: self.most], metric=result.metric if self.most != 0 else None)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return recorded_mainline(tmp_path_factory.mktemp("recorded"), config=CONFIG)


@pytest.fixture
def mainline(
    recorded: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Measured]:
    with open_mainline(recorded, tmp_path, monkeypatch, capsys, Measured) as opened:
        assert isinstance(opened, Measured)
        yield opened


def serve(mainline: Measured, name: str, commit: str) -> None:
    run_git(mainline.bare, "update-ref", f"refs/{name}", commit)
    run_git(mainline.runner.workspace, "fetch", "--quiet", "origin", f"refs/{name}", "main:refs/remotes/origin/main")


def published(
    mainline: Measured, head: str, *, cause: str, owner: str = "octocat", more: Mapping[str, bytes] | None = None
) -> JobResult:
    """Run the measuring job and then the trusted job on its results. `more`: further files of the artifact."""
    runner, fake = mainline.runner, mainline.fake
    runner.checkout(head)
    (runner.workspace / "bench.json").write_bytes(encode_run(mainline.run(head)))
    facts = {"head_sha": head, "base_sha": mainline.commits[-1], "head_owner": owner, "head_branch": BRANCH}
    where = {"sha": head, "ref": "refs/heads/main" if cause == "push" else "refs/pull/7/merge"}
    payload = with_main(event(cause, **({"head_sha": head, "base_branch": "main"} if cause == "push" else facts)))
    left = runner.run(
        cause, payload, **where, mode="compare", output_file_path="bench.json", config=".perf-culprit.yml"
    )
    assert left.exit_code == 0, left.log
    files = {path.name: path.read_bytes() for path in (runner.workspace / "perf-culprit").iterdir()}
    run_id = next(fake.state.ids)
    branch = "main" if cause == "push" else BRANCH
    run = WorkflowRun(id=run_id, head_sha=head, head_branch=branch, event=cause, workflow=WORKFLOW)
    run.status, run.conclusion = "completed", "success"
    fake.state.runs[run_id] = run
    fake.state.add_artifact(
        name="perf-culprit-report", run_id=run_id, head_sha=head, zip_bytes=zipped({**files, **(more or {})})
    )
    facts = {"head_sha": head, "head_owner": owner, "head_branch": branch, "run_event": cause, "workflow": WORKFLOW}
    return runner.run("workflow_run", with_main(event("workflow_run", run_id=run_id, **facts)), **INPUTS)


def with_main(payload: dict[str, Any]) -> dict[str, Any]:
    payload["repository"]["default_branch"] = "main"
    return payload


def pull_request(mainline: Measured, *, owner: str = "octocat", **levels: float) -> str:
    """Open #7, one commit on top of the default branch; return its head."""
    before, tip = dict(mainline.now), mainline.commits[-1]
    head = mainline.commit("Fold accents", **levels)
    mainline.commits.pop()
    mainline.now = before
    assert mainline.commits[-1] == tip
    serve(mainline, "pull/7/head", head)
    mainline.fake.state.pulls[7] = PullRequest(
        number=7,
        head_sha=head,
        head_branch=BRANCH,
        head_owner=owner,
        head_repository_id=REPOSITORY_ID if owner == "octocat" else FORK_ID,
    )
    return head


def comment(mainline: Measured) -> str:
    (only,) = (one for one in mainline.fake.state.comments.values() if not one.minimized)
    return only.body


def test_a_suspicion_in_a_pull_request_is_proven_in_the_one_comment_in_sight(mainline: Measured) -> None:
    head = pull_request(mainline, parse=SLOW)
    first = published(mainline, head, cause="pull_request")
    assert first.outputs["conclusion"] == "suspected", first.log
    assert "Both commits are measured in turn now; the answer follows." in comment(mainline)
    assert list(mainline.fake.state.check_runs.values())[-1].conclusion == "neutral"
    (dispatch,) = mainline.fake.state.dispatches
    assert '"minutes":10' in dispatch["inputs"]["request"]
    answer = answered(mainline)
    assert answer.outputs["conclusion"] == "regression"
    assert "1 of 2 benchmarks got slower" in comment(mainline)
    assert "measured again: 1 flagged benchmark; 1 proven, 0 refuted, 0 still open" in comment(mainline)
    assert "are measured in turn now" not in comment(mainline)
    assert list(mainline.fake.state.check_runs.values())[-1].conclusion == "failure"


def answered(mainline: Measured) -> JobResult:
    answer = mainline.measure()
    assert answer is not None
    assert answer.exit_code == 0, answer.log
    return answer


def test_a_suspicion_that_was_the_machines_is_refuted(mainline: Measured) -> None:
    head = pull_request(mainline)
    mainline.slowness = {"parse": 2.0}
    assert published(mainline, head, cause="pull_request").outputs["conclusion"] == "suspected"
    mainline.slowness, mainline.noise = {}, 0.003
    assert answered(mainline).outputs["conclusion"] == "no_change"
    assert "the first runs were on another state of the machine" in comment(mainline)
    assert list(mainline.fake.state.check_runs.values())[-1].conclusion == "success"


def test_rounds_that_do_not_exclude_the_change_leave_it_suspected(mainline: Measured) -> None:
    head = pull_request(mainline)
    mainline.slowness = {"parse": 2.0}
    published(mainline, head, cause="pull_request")
    mainline.slowness, mainline.noise = {}, 0.1
    assert answered(mainline).outputs["conclusion"] == "suspected"
    assert f"1 of 2 benchmarks looks slower, {NOT_PROVEN}" in comment(mainline)
    assert "0 proven, 0 refuted, 1 still open" in comment(mainline)


@pytest.mark.parametrize(
    ("most", "told"),
    [(3, "1 round of 7 fit into the 10 minutes of confirm.budget"), (0, "its machine left no result")],
)
def test_a_budget_that_is_spent_leaves_it_suspected_and_says_so(mainline: Measured, most: int, told: str) -> None:
    mainline.most = most
    published(mainline, pull_request(mainline, parse=0.006), cause="pull_request")
    assert answered(mainline).outputs["conclusion"] == "suspected"
    assert told in comment(mainline)
    assert f"looks slower, {NOT_PROVEN}" in comment(mainline)


def test_rounds_that_decide_before_the_budget_ends_say_nothing_of_it(mainline: Measured) -> None:
    mainline.most = 10
    published(mainline, pull_request(mainline, parse=SLOW), cause="pull_request")
    assert answered(mainline).outputs["conclusion"] == "regression"
    assert "confirm.budget" not in comment(mainline)


def test_a_forks_commit_is_never_sent(mainline: Measured) -> None:
    head = pull_request(mainline, owner="mallory", parse=SLOW)
    assert published(mainline, head, cause="pull_request", owner="mallory").outputs["conclusion"] == "suspected"
    assert not mainline.fake.state.dispatches
    assert "Not measured in turn by itself:** a fork" in comment(mainline)


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({**CONFIG, "confirm": {"budget": 0}}, "by itself:** confirm.budget is 0"),
        ({}, "by itself:** bisect.run is not set"),
    ],
)
def test_nothing_is_sent_where_the_default_branch_says_no(
    mainline: Measured, config: Mapping[str, Any], told: str
) -> None:
    mainline.configure(config)
    serve(mainline, "heads/main", mainline.commit())
    head = pull_request(mainline, parse=SLOW)
    assert published(mainline, head, cause="pull_request").outputs["conclusion"] == "suspected"
    assert not mainline.fake.state.dispatches
    assert told in comment(mainline)


def test_a_dispatch_that_github_refuses_costs_only_itself(mainline: Measured) -> None:
    mainline.fake.faults.append(Fault(request=r"POST .*/dispatches", status=404, times=2))
    assert published(mainline, pull_request(mainline, parse=SLOW), cause="pull_request").exit_code == 0
    assert "Not measured in turn by itself:** measuring in turn failed: GitHub does not start it" in comment(mainline)


def test_a_pull_request_that_moved_on_keeps_its_newer_comment(mainline: Measured) -> None:
    published(mainline, pull_request(mainline, parse=SLOW), cause="pull_request")
    before = comment(mainline)
    mainline.fake.state.pulls[7].head_sha = "9" * 40
    answered(mainline)
    assert comment(mainline) == before


def test_a_push_is_proven_and_stored_once(mainline: Measured) -> None:
    mainline.configure({**CONFIG, "issues": {"when": "regression"}})
    head = mainline.commit(parse=SLOW)
    serve(mainline, "heads/main", head)
    assert published(mainline, head, cause="push").outputs["conclusion"] == "suspected"
    assert not mainline.fake.state.issues
    assert answered(mainline).outputs["conclusion"] == "regression"
    assert list(mainline.fake.state.check_runs.values())[-1].conclusion == "failure"
    assert list(mainline.fake.state.check_runs.values())[-1].head_sha == head
    assert len(mainline.fake.state.issues) == 1
    with open_history(Config().history, url=str(mainline.bare)) as history:
        (stored,) = history.runs("default", [head])
    assert isinstance(stored, NamedRun)
    assert [key.benchmark for key in stored.run.regressions] == ["parse"]


def test_the_report_job_run_again_measures_nothing_and_keeps_the_answer(mainline: Measured) -> None:
    head = pull_request(mainline, parse=SLOW)
    published(mainline, head, cause="pull_request")
    again = event(
        "workflow_run", run_id=min(mainline.fake.state.runs), head_sha=head, head_branch=BRANCH, workflow=WORKFLOW
    )
    assert mainline.runner.run("workflow_run", with_main(again), **INPUTS).exit_code == 0
    assert len(mainline.fake.state.dispatches) == 1
    answered(mainline)
    before = comment(mainline)
    assert mainline.runner.run("workflow_run", with_main(again), **INPUTS).exit_code == 0
    assert len(mainline.fake.state.dispatches) == 1
    assert comment(mainline) == before


def second(mainline: Measured, head: str, *names: str, base: str = "") -> dict[str, bytes]:
    """Return the files of a second measurement that finds no difference in these benchmarks."""
    sides = {"confirm": head, "confirm-baseline": base or mainline.commits[-1]}
    levels = {name: mainline.now[name] for name in names}
    return {
        f"{name}.json": encode_run(replace(in_turn(levels, seed), commit=commit))
        for seed, (name, commit) in enumerate(sides.items())
    }


def in_turn(levels: Mapping[str, float], seed: int) -> Run:
    return in_rounds(measured(levels, seed=seed, noise=0.002))


def test_a_second_measurement_of_the_same_job_counts_for_what_it_has(mainline: Measured) -> None:
    head = pull_request(mainline, owner="mallory", parse=SLOW)
    told = {
        "no_change": second(mainline, head, "parse"),
        "suspected": second(mainline, head, "render"),
    }
    for conclusion, files in told.items():
        result = published(mainline, head, cause="pull_request", owner="mallory", more=files)
        assert result.outputs["conclusion"] == conclusion, result.log
    assert "`parse`: not measured again, so nothing confirms it" in comment(mainline)


def test_a_second_measurement_of_another_base_does_not_count(mainline: Measured) -> None:
    head = pull_request(mainline, owner="mallory", parse=SLOW)
    files = second(mainline, head, "parse", base=head)
    result = published(mainline, head, cause="pull_request", owner="mallory", more=files)
    assert result.outputs["conclusion"] == "suspected", result.log
    assert "the second measurement is of another base" in comment(mainline)
