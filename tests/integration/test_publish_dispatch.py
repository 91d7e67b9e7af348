"""Runs of the bisect workflow on the fake GitHub: started once, found by title, and only ours are believed."""

import pytest

from perf_culprit.errors import ConfigError, InfrastructureError
from perf_culprit.github.workflow_runs import GitHubDispatcher
from perf_culprit.model.artifact_limits import ArtifactLimits
from perf_culprit.model.dispatch import artifact_name, run_title
from tests.support.fake_github.clients import connected
from tests.support.fake_github.faults import Fault
from tests.support.fake_github.server import FakeGitHub

WORKFLOW = "perf-bisect.yml"
INPUTS = {"bisection": "7", "dispatch": "1-abcd", "jobs": '["job-1"]', "request": "{}"}
TITLE = run_title("7", "1-abcd")


def dispatcher(fake: FakeGitHub, **options: ArtifactLimits) -> GitHubDispatcher:
    return GitHubDispatcher(connected(fake)[0], workflow=WORKFLOW, ref="main", **options)


def test_a_dispatch_is_a_run_of_the_default_branch_s_workflow(fake: FakeGitHub) -> None:
    run_id = dispatcher(fake).send(INPUTS)
    (sent,) = fake.state.dispatches
    assert (sent["workflow"], sent["ref"], sent["inputs"], sent["run_id"]) == (WORKFLOW, "main", INPUTS, run_id)
    assert dispatcher(fake).find(TITLE) == run_id
    assert dispatcher(fake).find(run_title("7", "2-abcd")) is None
    assert run_id is not None
    facts = dispatcher(fake).look(run_id)
    assert facts is not None
    assert (facts.title, facts.is_completed) == (TITLE, False)
    fake.state.runs[run_id].status = "completed"
    facts = dispatcher(fake).look(run_id)
    assert facts is not None
    assert facts.is_completed


@pytest.mark.parametrize("status", [400, 422])
def test_a_server_that_does_not_know_run_details_is_asked_without(fake: FakeGitHub, status: int) -> None:
    fake.faults.append(Fault(request=r"POST .*/dispatches", status=status))
    assert dispatcher(fake).send(INPUTS) is None
    assert len(fake.state.dispatches) == 1
    assert "return_run_details" not in fake.state.dispatches[0]


def test_a_lost_answer_is_no_second_dispatch(fake: FakeGitHub) -> None:
    fake.faults.append(Fault(request=r"POST .*/dispatches", status=502, applied=True))
    run_id = dispatcher(fake).send(INPUTS)
    assert len(fake.state.dispatches) == 1
    assert run_id == fake.state.dispatches[0]["run_id"]


@pytest.mark.parametrize("status", [404, 422])
def test_a_missing_workflow_is_told_with_what_to_add(fake: FakeGitHub, status: int) -> None:
    fake.faults.append(Fault(request=r"POST .*/dispatches", status=status, times=2))
    with pytest.raises(ConfigError, match="GitHub does not start it") as caught:
        dispatcher(fake).send(INPUTS)
    assert caught.value.place == f".github/workflows/{WORKFLOW} on main"
    assert fake.state.dispatches == []


@pytest.mark.parametrize("status", [403, 422])
def test_a_workflow_execution_protection_is_told_with_its_setting(fake: FakeGitHub, status: int) -> None:
    refusal = "Event 'workflow_dispatch' is not allowed to trigger Actions workflows. Workflow file: 'x.yml'."
    fake.faults.append(Fault(request=r"POST .*/dispatches", status=status, message=refusal, times=2))
    with pytest.raises(InfrastructureError, match="is not allowed to trigger") as caught:
        dispatcher(fake).send(INPUTS)
    assert "Settings → Actions → Policies" in str(caught.value.next_step)
    assert fake.state.dispatches == []


def test_a_missing_permission_is_told(fake: FakeGitHub) -> None:
    token = fake.add_token("reader", {"actions": "read"})
    client = connected(fake, token=token)[0]
    with pytest.raises(InfrastructureError, match="lacks a permission"):
        GitHubDispatcher(client, workflow=WORKFLOW, ref="main").send(INPUTS)


@pytest.mark.parametrize(
    ("name", "value"),
    [("event", "pull_request"), ("head_branch", "topic"), ("workflow", ".github/workflows/other.yml")],
)
def test_a_run_that_is_not_ours_is_none(fake: FakeGitHub, name: str, value: str) -> None:
    run_id = dispatcher(fake).send(INPUTS)
    assert run_id is not None
    setattr(fake.state.runs[run_id], name, value)
    assert dispatcher(fake).look(run_id) is None
    assert dispatcher(fake).find(TITLE) is None
    assert dispatcher(fake).look(1) is None


def test_artifacts_by_name_and_a_bad_one_costs_only_itself(fake: FakeGitHub) -> None:
    run_id = dispatcher(fake).send(INPUTS)
    assert run_id is not None
    sha = fake.state.runs[run_id].head_sha
    names = [artifact_name("7", f"job-{number}") for number in (1, 2, 3)]
    fake.state.add_artifact(name=names[0], run_id=run_id, head_sha=sha, zip_bytes=b"one")
    fake.state.add_artifact(name=names[1], run_id=run_id, head_sha=sha, zip_bytes=b"two", expired=True)
    fake.state.add_artifact(name=names[2], run_id=run_id, head_sha=sha, zip_bytes=b"three" * 10)
    fake.state.add_artifact(name="other", run_id=run_id, head_sha=sha, zip_bytes=b"x")
    fake.state.add_artifact(name=names[0], run_id=run_id + 1, head_sha=sha, zip_bytes=b"of another run")
    result = dispatcher(fake, limits=ArtifactLimits(zip_bytes=20)).artifacts(run_id, names)
    assert {entry.name: entry.zip_bytes for entry in result if entry.problem is None} == {names[0]: b"one"}
    problems = {entry.name: entry.problem or "" for entry in result if entry.problem}
    assert "expired" in problems[names[1]]
    assert set(problems) == set(names[1:])
    assert dispatcher(fake).artifacts(1, names) == ()
