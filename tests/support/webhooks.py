"""Webhook payloads as GitHub sends them: Octokit's examples with our values in them, checked by Octokit's schema."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from jsonschema import Draft7Validator

from tests.support.fake_github.state import FORK_ID, REPOSITORY_ID
from tests.support.webhooks_subset import EVENTS, GOLDEN, SCHEMA_FILE

TIME = "2026-01-02T03:04:05Z"
API_URL = "https://api.github.com"


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """What tests care about; each event uses what it has."""

    repository: str = "octocat/hello"
    number: int = 7
    head_sha: str = "a" * 40
    head_branch: str = "faster"
    head_owner: str = "octocat"
    base_sha: str = "b" * 40
    base_branch: str = "main"
    run_id: int = 55
    run_event: str = "pull_request"
    workflow: str = ".github/workflows/perf.yml"
    workflow_name: str = "Benchmarks"
    conclusion: str = "success"
    comment_id: int = 900
    comment_body: str = "/perf-help"
    author: str = "octocat"
    author_association: str = "OWNER"
    on_pull_request: bool = True
    issue_author: str = "octocat"
    issue_body: str = "It is slow."
    inputs: dict[str, str] = field(default_factory=dict)

    @property
    def is_fork(self) -> bool:
        return self.head_owner != self.repository.partition("/")[0]

    @property
    def head_repository_id(self) -> int:
        return FORK_ID if self.is_fork else REPOSITORY_ID


def event(name: str, **facts: Any) -> dict[str, Any]:
    """`event("pull_request", number=7, head_sha=...)`; the names are those of `Facts`."""
    known = Facts(**facts)
    payload: dict[str, Any] = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    set_repository(payload["repository"], full_name=known.repository, number=REPOSITORY_ID)
    payload["sender"]["login"] = known.author
    BUILDERS[name](payload, known)
    mistakes = [f"{list(error.absolute_path)}: {error.message[:200]}" for error in validator(name).iter_errors(payload)]
    assert not mistakes, mistakes
    return payload


@cache
def validator(name: str) -> Draft7Validator:
    schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    return Draft7Validator({**schema, "$ref": f"#/definitions/{EVENTS[name]}"})


def set_repository(repository: dict[str, Any], *, full_name: str, number: int) -> None:
    owner, _, name = full_name.partition("/")
    repository |= {"id": number, "name": name, "full_name": full_name, "url": f"{API_URL}/repos/{full_name}"}
    repository["owner"]["login"] = owner


def head_repository(facts: Facts) -> str:
    return f"{facts.head_owner}/{facts.repository.partition('/')[2]}"


def pull_request(payload: dict[str, Any], facts: Facts) -> None:
    payload |= {"number": facts.number, "before": facts.base_sha, "after": facts.head_sha}
    pull = payload["pull_request"]
    pull["number"] = facts.number
    pull["user"]["login"] = facts.author
    pull["head"] |= {"sha": facts.head_sha, "ref": facts.head_branch}
    pull["base"] |= {"sha": facts.base_sha, "ref": facts.base_branch}
    set_repository(pull["head"]["repo"], full_name=head_repository(facts), number=facts.head_repository_id)
    set_repository(pull["base"]["repo"], full_name=facts.repository, number=REPOSITORY_ID)


def push(payload: dict[str, Any], facts: Facts) -> None:
    person = {"name": facts.author, "email": "octocat@example.com"}
    commit = {
        "id": facts.head_sha,
        "tree_id": "c" * 40,
        "distinct": True,
        "message": "Faster",
        "timestamp": TIME,
        "url": f"https://github.com/{facts.repository}/commit/{facts.head_sha}",
        "author": person,
        "committer": person,
        **{kind: [] for kind in ("added", "removed", "modified")},
    }
    payload |= {"ref": f"refs/heads/{facts.base_branch}", "before": facts.base_sha, "after": facts.head_sha}
    payload |= {"deleted": False, "head_commit": commit, "commits": [commit], "pusher": person}


def workflow_run(payload: dict[str, Any], facts: Facts) -> None:
    run = payload["workflow_run"]
    run |= {"id": facts.run_id, "event": facts.run_event, "path": facts.workflow, "name": facts.workflow_name}
    run |= {"head_sha": facts.head_sha, "head_branch": facts.head_branch, "conclusion": facts.conclusion}
    run |= {"artifacts_url": f"{API_URL}/repos/{facts.repository}/actions/runs/{facts.run_id}/artifacts"}
    # GitHub leaves this empty for forks; the bot must not need it.
    run["pull_requests"] = []
    run["head_commit"]["id"] = facts.head_sha
    set_repository(run["repository"], full_name=facts.repository, number=REPOSITORY_ID)
    set_repository(run["head_repository"], full_name=head_repository(facts), number=facts.head_repository_id)
    payload["workflow"] |= {"path": facts.workflow, "name": facts.workflow_name}


def issue_comment(payload: dict[str, Any], facts: Facts) -> None:
    issue, comment = payload["issue"], payload["comment"]
    issue |= {"number": facts.number, "body": facts.issue_body}
    issue["user"]["login"] = facts.issue_author
    comment |= {"id": facts.comment_id, "body": facts.comment_body, "author_association": facts.author_association}
    comment["user"] |= {"login": facts.author, "type": "Bot" if facts.author.endswith("[bot]") else "User"}
    if facts.on_pull_request:
        url = f"https://github.com/{facts.repository}/pull/{facts.number}"
        links = {"html_url": url, "diff_url": f"{url}.diff", "patch_url": f"{url}.patch"}
        issue["pull_request"] = links | {"url": f"{API_URL}/repos/{facts.repository}/pulls/{facts.number}"}


def workflow_dispatch(payload: dict[str, Any], facts: Facts) -> None:
    payload |= {"ref": f"refs/heads/{facts.base_branch}", "inputs": facts.inputs, "workflow": facts.workflow}


BUILDERS: dict[str, Callable[[dict[str, Any], Facts], None]] = {
    "pull_request": pull_request,
    "push": push,
    "workflow_run": workflow_run,
    "issue_comment": issue_comment,
    "issue_comment_edited": issue_comment,
    "issue_comment_deleted": issue_comment,
    "workflow_dispatch": workflow_dispatch,
}
