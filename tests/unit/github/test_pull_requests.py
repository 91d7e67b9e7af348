from typing import Any

import pytest

from perf_culprit.errors import UsageError
from perf_culprit.github.client import create_client
from perf_culprit.github.host import PullRequest
from perf_culprit.github.pull_requests import find_pull_request
from perf_culprit.github.runner_files import workflow_files
from tests.support import webhooks

# Nothing here may send a request: the address leads nowhere.
CLIENT = create_client(token="t", api_url="http://127.0.0.1:9", repository="octocat/hello")


@pytest.mark.parametrize("name", ["pull_request", "pull_request_target"])
@pytest.mark.parametrize("owner", ["octocat", "mallory"])
def test_a_pull_request_event_holds_everything(name: str, owner: str) -> None:
    event = webhooks.event("pull_request", number=12, head_sha="d" * 40, base_branch="stable", head_owner=owner)
    pull_request = PullRequest(number=12, head_sha="d" * 40, base_branch="stable", from_fork=owner == "mallory")
    assert find_pull_request(CLIENT, event_name=name, event=event).pull_requests == (pull_request,)


def test_a_deleted_fork_is_a_fork() -> None:
    event = webhooks.event("pull_request")
    event["pull_request"]["head"]["repo"] = None
    (result,) = find_pull_request(CLIENT, event_name="pull_request", event=event).pull_requests
    assert result.from_fork


@pytest.mark.parametrize("name", ["push", "workflow_dispatch"])
def test_other_events_have_no_pull_request(name: str) -> None:
    outcome = find_pull_request(CLIENT, event_name=name, event=webhooks.event(name))
    assert outcome.pull_requests == ()
    assert outcome.reason == f"the event '{name}' belongs to no pull request"


BROKEN = [
    ({}, "repository.id"),
    ({"repository": {"id": 1}, "pull_request": None}, "pull_request.number"),
    ({"repository": {"id": True}}, "repository.id"),
    ({"repository": {"id": 1}, "pull_request": {"number": 1, "head": {"sha": "main"}}}, "pull_request.head.sha"),
    ({"repository": {"id": 1}, "pull_request": {"number": 1, "head": {"sha": "a" * 41}}}, "pull_request.head.sha"),
    ({"repository": {"id": 1}, "pull_request": {"number": "1"}}, "pull_request.number"),
]


@pytest.mark.parametrize(("event", "place"), BROKEN)
def test_a_broken_event_file_is_named(event: dict[str, Any], place: str) -> None:
    with pytest.raises(UsageError, match=f"{place} is missing or of the wrong kind"):
        find_pull_request(CLIENT, event_name="pull_request", event=event)


def test_a_broken_workflow_run_event_is_named() -> None:
    with pytest.raises(UsageError, match=r"workflow_run\.event"):
        find_pull_request(CLIENT, event_name="workflow_run", event={})


def test_a_workflow_path_may_name_its_branch() -> None:
    event = webhooks.event("workflow_run", workflow=".github/workflows/other.yml@refs/heads/main", run_event="push")
    assert workflow_files(event) == {"other.yml", ".github/workflows/other.yml"}
    outcome = find_pull_request(CLIENT, event_name="workflow_run", event=event)
    assert outcome.reason == "the benchmarks ran on 'push', not on a pull request"
