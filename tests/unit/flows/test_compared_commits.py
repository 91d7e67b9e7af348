"""The two commits that a GitHub job compares: the commit that is checked out and the base of its event."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from perf_culprit.errors import DataError, UsageError
from perf_culprit.flows.compared_commits import BaselineOrigin, EventEnds, event_ends, merge_of
from tests.support.git_repository import chain, import_commits, init_repository, run_git
from tests.support.webhooks import event

ZEROS = "0" * 40
HISTORY: Mapping[str, Sequence[str]] = {
    **chain("main", 5),
    **chain("fix", 2, start=["main2"]),
    "merge": ["main5", "fix2"],  # as GitHub creates it, with the base as the first parent
}


@pytest.fixture
def commits(tmp_path: Path) -> dict[str, str]:
    folder = init_repository(tmp_path / "origin")
    made = import_commits(folder, HISTORY)
    run_git(folder, "update-ref", "refs/heads/main", made["main5"])
    return made


def checkout(tmp_path: Path, commit: str, *options: str) -> Path:
    run_git(
        tmp_path, "-c", "protocol.file.allow=always", "clone", "--quiet", *options, f"file://{tmp_path}/origin", "w"
    )
    run_git(tmp_path / "w", "checkout", "--quiet", "--detach", commit)
    return tmp_path / "w"


def ends(repository: Path, name: str, payload: Mapping[str, Any]) -> EventEnds:
    file = repository.parent / "event.json"
    file.write_text(json.dumps(payload))
    return event_ends(repository, {"GITHUB_EVENT_NAME": name, "GITHUB_EVENT_PATH": str(file)})


def pull_request(commits: Mapping[str, str]) -> dict[str, Any]:
    return event("pull_request", head_sha=commits["fix2"], base_sha=commits["main5"])


def push(before: str, after: str) -> dict[str, Any]:
    payload = event("push", head_sha=after, base_sha=before, base_branch="main")
    payload["repository"]["default_branch"] = "main"
    return payload


def test_the_merge_that_github_made_is_compared_with_what_it_was_merged_into(
    tmp_path: Path, commits: dict[str, str]
) -> None:
    sides = ends(checkout(tmp_path, commits["merge"]), "pull_request", pull_request(commits))
    assert sides == EventEnds(baseline=commits["main5"], target=commits["merge"], origin=BaselineOrigin.MERGED_INTO)


def test_a_shallow_merge_still_names_its_parents(tmp_path: Path, commits: dict[str, str]) -> None:
    work = checkout(tmp_path, "merge", "--depth=1", "--branch=merge")
    merge = merge_of(work, revision="HEAD", head=commits["fix2"])
    assert merge is not None
    assert (merge.commit, merge.base) == (commits["merge"], commits["main5"])
    with pytest.raises(UsageError, match="not in this checkout"):
        ends(work, "pull_request", pull_request(commits))


def test_the_head_itself_is_compared_with_where_it_left_the_base(tmp_path: Path, commits: dict[str, str]) -> None:
    work = checkout(tmp_path, commits["fix2"])
    assert merge_of(work, revision="HEAD", head=commits["fix2"]) is None
    sides = ends(work, "pull_request", pull_request(commits))
    assert (sides.baseline, sides.origin) == (commits["main2"], BaselineOrigin.MERGE_BASE)


def test_a_merge_of_something_else_is_not_taken_for_githubs(tmp_path: Path, commits: dict[str, str]) -> None:
    work = checkout(tmp_path, commits["merge"])
    assert merge_of(work, revision="HEAD", head=commits["fix1"]) is None
    # The author merged the base into the branch, so the parents are in the opposite order.
    assert merge_of(work, revision="HEAD", head=commits["main5"]) is None


def test_a_push_of_several_commits_is_compared_with_the_state_before_it(
    tmp_path: Path, commits: dict[str, str]
) -> None:
    work = checkout(tmp_path, commits["main5"])
    sides = ends(work, "push", push(commits["main2"], commits["main5"]))
    assert sides == EventEnds(baseline=commits["main2"], target=commits["main5"], origin=BaselineOrigin.BEFORE_PUSH)


def test_a_forced_push_is_compared_with_what_is_left_of_before(tmp_path: Path, commits: dict[str, str]) -> None:
    work = checkout(tmp_path, commits["fix2"])
    sides = ends(work, "push", push(commits["main5"], commits["fix2"]))
    assert (sides.baseline, sides.origin) == (commits["main2"], BaselineOrigin.BEFORE_PUSH)


def test_a_new_branch_is_compared_with_where_it_left_the_default_branch(
    tmp_path: Path, commits: dict[str, str]
) -> None:
    work = checkout(tmp_path, commits["fix2"])
    sides = ends(work, "push", push(ZEROS, commits["fix2"]))
    assert (sides.baseline, sides.origin) == (commits["main2"], BaselineOrigin.MERGE_BASE)


def test_an_entry_of_a_merge_queue_is_compared_with_the_one_below(tmp_path: Path, commits: dict[str, str]) -> None:
    work = checkout(tmp_path, commits["main5"])
    sides = ends(work, "merge_group", {"merge_group": {"base_sha": commits["main4"]}})
    assert (sides.baseline, sides.origin) == (commits["main4"], BaselineOrigin.QUEUED_ON)


@pytest.mark.parametrize("before", [ZEROS, "f" * 40])
def test_without_a_state_before_the_parent_counts(tmp_path: Path, commits: dict[str, str], before: str) -> None:
    work = checkout(tmp_path, commits["main5"])
    sides = ends(work, "push", push(before, commits["main5"]))
    assert (sides.baseline, sides.origin) == (commits["main4"], BaselineOrigin.PARENT)


def test_the_first_commit_has_nothing_before_it(tmp_path: Path, commits: dict[str, str]) -> None:
    with pytest.raises(DataError, match="nothing to be compared with"):
        ends(checkout(tmp_path, commits["main1"]), "workflow_dispatch", {})


def test_outside_a_job_the_commits_must_be_named(tmp_path: Path, commits: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="no commits were named"):
        event_ends(checkout(tmp_path, commits["main1"]), {})
