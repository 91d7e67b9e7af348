"""Finding the pull request of a finished benchmark run, with the fake GitHub."""

import pytest

from perf_culprit.errors import InfrastructureError
from perf_culprit.github.host import PullRequest, PullRequestSearch
from perf_culprit.github.pull_requests import find_pull_request, has_judged_head
from tests.support import webhooks
from tests.support.fake_github import state
from tests.support.fake_github.clients import connected
from tests.support.fake_github.faults import Fault
from tests.support.fake_github.server import FakeGitHub
from tests.support.fake_github.state import FORK_ID

HEAD = "a" * 40
BRANCH = "faster"


def add_pull(fake: FakeGitHub, number: int = 7, **more: object) -> state.PullRequest:
    values = {"head_sha": HEAD, "head_branch": BRANCH} | more
    fake.state.pulls[number] = state.PullRequest(number=number, **values)  # type: ignore[arg-type]  # a test's shorthand
    return fake.state.pulls[number]


def search(fake: FakeGitHub, **facts: object) -> PullRequestSearch:
    client, _ = connected(fake)
    event = webhooks.event("workflow_run", head_sha=HEAD, head_branch=BRANCH, **facts)
    return find_pull_request(client, event_name="workflow_run", event=event)


def test_finds_the_pull_request_of_a_fork(fake: FakeGitHub) -> None:
    add_pull(fake, head_owner="mallory", head_repository_id=FORK_ID)
    pull_request = PullRequest(number=7, head_sha=HEAD, base_branch="main", from_fork=True)
    assert search(fake, head_owner="mallory") == PullRequestSearch(pull_requests=(pull_request,))
    assert fake.log[0].request.query["head"] == "mallory:faster"
    assert len(fake.log) == 1


def test_finds_the_pull_request_of_an_own_branch(fake: FakeGitHub) -> None:
    add_pull(fake)
    (result,) = search(fake).pull_requests
    assert not result.from_fork


def test_finds_branches_with_unusual_names(fake: FakeGitHub) -> None:
    client, _ = connected(fake)
    branch = "feature/größer & schneller?x=1#2"
    add_pull(fake, head_branch=branch)
    event = webhooks.event("workflow_run", head_sha=HEAD, head_branch=branch)
    assert find_pull_request(client, event_name="workflow_run", event=event).pull_requests


def test_refuses_runs_that_no_pull_request_started(fake: FakeGitHub) -> None:
    add_pull(fake)
    assert search(fake, run_event="push").reason == "the benchmarks ran on 'push', not on a pull request"


def test_says_stale_when_the_head_has_moved(fake: FakeGitHub) -> None:
    add_pull(fake, head_sha="d" * 40)
    assert search(fake).reason == "stale: the pull request has moved on since aaaaaaaaaa"


def test_finds_nothing_when_there_is_no_pull_request(fake: FakeGitHub) -> None:
    assert search(fake).reason == "no open pull request has the head aaaaaaaaaa"


def test_finds_nothing_when_the_pull_request_is_closed(fake: FakeGitHub) -> None:
    add_pull(fake, state="closed")
    assert search(fake).pull_requests == ()


def test_all_with_one_head_are_found_within_bounds(fake: FakeGitHub) -> None:
    for number, base in enumerate(("main", "stable", "next", "old"), start=7):
        add_pull(fake, number, base_branch=base)
    assert [(entry.number, entry.base_branch) for entry in search(fake).pull_requests] == [
        (7, "main"),
        (8, "stable"),
        (9, "next"),
    ]


def test_checks_the_branch_itself_where_github_lists_everything(fake: FakeGitHub) -> None:
    fake.state.ignores_head = True
    add_pull(fake, 7)
    add_pull(fake, 8, head_branch="same-commit")
    assert [entry.number for entry in search(fake).pull_requests] == [7]


def test_ignores_pull_requests_into_another_repository(fake: FakeGitHub) -> None:
    add_pull(fake, base_repository_id=FORK_ID)
    assert search(fake).pull_requests == ()


def test_ignores_the_same_branch_of_another_fork(fake: FakeGitHub) -> None:
    add_pull(fake, head_owner="mallory", head_repository_id=999)
    assert search(fake, head_owner="mallory").pull_requests == ()


def test_says_that_the_fork_is_gone(fake: FakeGitHub) -> None:
    client, _ = connected(fake)
    event = webhooks.event("workflow_run")
    event["workflow_run"]["head_repository"] = None
    outcome = find_pull_request(client, event_name="workflow_run", event=event)
    assert outcome.reason == "the repository that the run came from is gone"


def test_names_the_missing_permission(fake: FakeGitHub) -> None:
    fake.add_token("none", {"contents": "read"})
    client, _ = connected(fake, token="none")
    with pytest.raises(InfrastructureError, match="`permissions: pull-requests: read`"):
        find_pull_request(client, event_name="workflow_run", event=webhooks.event("workflow_run"))


def test_survives_server_errors(fake: FakeGitHub) -> None:
    add_pull(fake)
    fake.faults.append(Fault(request=r"GET .*/pulls", status=502, times=3))
    assert search(fake).pull_requests


def test_notices_that_the_head_moved_before_posting(fake: FakeGitHub) -> None:
    pull = add_pull(fake)
    client, _ = connected(fake)
    (result,) = search(fake).pull_requests
    assert has_judged_head(client, result)
    pull.head_sha = "d" * 40
    assert not has_judged_head(client, result)
