"""Webhook payloads as GitHub sends them: the fake's objects, with the fields that only webhooks have.

`tests/integration/test_webhooks.py` checks them against Octokit's published schema, which is not kept here: set
PERF_CULPRIT_WEBHOOK_SCHEMA to `schema.json` of the npm package @octokit/webhooks-schemas, as CI does.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.support.fake_github.description import load
from tests.support.fake_github.shapes import Shapes
from tests.support.fake_github.state import FORK_ID, REPOSITORY_ID, TIME, Comment, Issue, PullRequest, WorkflowRun

API_URL = "https://api.github.com"
# Webhooks always give these fields of a repository; the REST API omits plain ones or makes them null.
OF_REPOSITORIES = {
    "is_template": False,
    "web_commit_signoff_required": False,
    "topics": [],
    "visibility": "public",
    "custom_properties": {},
    "created_at": TIME,
    "updated_at": TIME,
}
NO_REACTIONS = dict.fromkeys(
    ("total_count", "+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes"), 0
) | {"url": f"{API_URL}/made-up"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """Facts that tests set; each event uses those that it has."""

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
    title: str = "Fold accents"
    labels: list[str] = field(default_factory=list)
    inputs: dict[str, str] = field(default_factory=dict)

    @property
    def is_fork(self) -> bool:
        return self.head_owner != self.repository.partition("/")[0]

    @property
    def head_repository_id(self) -> int:
        return FORK_ID if self.is_fork else REPOSITORY_ID


def event(name: str, **facts: Any) -> dict[str, Any]:
    """Return a payload: `event("pull_request", number=7, head_sha=...)`; the names are those of `Facts`."""
    wanted = Facts(**facts)
    shapes = Shapes(description=load(), api_url=API_URL, repository=wanted.repository)
    common = {"repository": of_webhook(shapes.base_repository("repository")), "sender": user(shapes, wanted.author)}
    return common | BUILDERS[name](shapes, wanted)


def user(shapes: Shapes, login: str) -> dict[str, Any]:
    return shapes.user(login) | {"gravatar_id": ""}


def of_webhook(repository: dict[str, Any]) -> dict[str, Any]:
    return repository | OF_REPOSITORIES | {"owner": repository["owner"] | {"gravatar_id": ""}}


def pull_request(shapes: Shapes, facts: Facts) -> dict[str, Any]:
    pull = shapes.pull(
        PullRequest(
            number=facts.number,
            head_sha=facts.head_sha,
            head_branch=facts.head_branch,
            head_owner=facts.head_owner,
            head_repository_id=facts.head_repository_id,
            base_branch=facts.base_branch,
            base_sha=facts.base_sha,
            author=facts.author,
            title=facts.title,
            labels=facts.labels,
        ),
        schema="pull-request",
    )
    for end in ("head", "base"):
        owner = pull[end]["user"] | {"gravatar_id": ""}
        pull[end] |= {"user": owner, "repo": of_webhook(pull[end]["repo"])}
    lists: dict[str, Any] = {name: [] for name in ("assignees", "requested_reviewers", "requested_teams")}
    nothing = dict.fromkeys(("active_lock_reason", "rebaseable"))
    pull |= lists | nothing | {"draft": False, "user": user(shapes, facts.author)}
    ends = {"before": facts.base_sha, "after": facts.head_sha}
    return {"action": "synchronize", "number": facts.number, "pull_request": pull, **ends}


def push(_: Shapes, facts: Facts) -> dict[str, Any]:
    url = f"https://github.com/{facts.repository}"
    person = {"name": facts.author, "email": "octocat@example.com"}
    commit = {
        "id": facts.head_sha,
        "tree_id": "c" * 40,
        "distinct": True,
        "message": "Faster",
        "timestamp": TIME,
        "url": f"{url}/commit/{facts.head_sha}",
        "author": person,
        "committer": person,
        **{kind: [] for kind in ("added", "removed", "modified")},
    }
    return {
        "ref": f"refs/heads/{facts.base_branch}",
        "before": facts.base_sha,
        "after": facts.head_sha,
        **dict.fromkeys(("created", "deleted", "forced"), False),
        "base_ref": None,
        "compare": f"{url}/compare/{facts.base_sha}...{facts.head_sha}",
        "head_commit": commit,
        "commits": [commit],
        "pusher": person,
    }


def workflow_run(shapes: Shapes, facts: Facts) -> dict[str, Any]:
    run = shapes.workflow_run(
        WorkflowRun(
            id=facts.run_id,
            head_sha=facts.head_sha,
            head_branch=facts.head_branch,
            event=facts.run_event,
            conclusion=facts.conclusion,
            workflow=facts.workflow,
            head_repository_id=facts.head_repository_id,
        )
    )
    person = user(shapes, facts.author)
    author = {"name": facts.author, "email": "octocat@example.com"}
    head_commit = {"id": facts.head_sha, "tree_id": "c" * 40, "message": "Faster", "timestamp": TIME}
    run |= {
        "name": facts.workflow_name,
        "check_suite_id": 1,
        "check_suite_node_id": "made up",
        "run_started_at": TIME,
        "previous_attempt_url": None,
        "actor": person,
        "triggering_actor": person,
        "head_commit": head_commit | {"author": author, "committer": author},
        # GitHub leaves this empty for forks; the bot must not need it.
        "pull_requests": [],
    }
    for name, full_name in (("repository", facts.repository), ("head_repository", head_repository(facts))):
        short = {key: value for key, value in run[name].items() if key != "default_branch"}
        run[name] = short | {"full_name": full_name, "owner": user(shapes, full_name.partition("/")[0])}
    url = f"https://github.com/{facts.repository}/actions/workflows"
    workflow = {"id": 1, "node_id": "made up", "state": "active", "created_at": TIME, "updated_at": TIME}
    workflow |= {"path": facts.workflow, "name": facts.workflow_name, "url": url, "html_url": url, "badge_url": url}
    return {"action": "completed", "workflow_run": run, "workflow": workflow}


def issue_comment(shapes: Shapes, facts: Facts) -> dict[str, Any]:
    issue = shapes.issue(Issue(number=facts.number, title="Slow", body=facts.issue_body, author=facts.issue_author))
    comment = shapes.comment(
        Comment(id=facts.comment_id, issue=facts.number, author=facts.author, body=facts.comment_body)
    )
    shared = {"author_association": facts.author_association, "reactions": NO_REACTIONS}
    issue |= shared | {"assignees": [], "active_lock_reason": None, "user": user(shapes, facts.issue_author)}
    comment |= shared | {"performed_via_github_app": None, "user": user(shapes, facts.author)}
    if facts.on_pull_request:
        url = f"https://github.com/{facts.repository}/pull/{facts.number}"
        links = {"html_url": url, "diff_url": f"{url}.diff", "patch_url": f"{url}.patch"}
        issue["pull_request"] = links | {"url": f"{API_URL}/repos/{facts.repository}/pulls/{facts.number}"}
    return {"action": "created", "issue": issue, "comment": comment}


def issue_comment_edited(shapes: Shapes, facts: Facts) -> dict[str, Any]:
    return issue_comment(shapes, facts) | {"action": "edited", "changes": {"body": {"from": "before"}}}


def issue_comment_deleted(shapes: Shapes, facts: Facts) -> dict[str, Any]:
    return issue_comment(shapes, facts) | {"action": "deleted"}


def workflow_dispatch(_: Shapes, facts: Facts) -> dict[str, Any]:
    return {"ref": f"refs/heads/{facts.base_branch}", "inputs": facts.inputs, "workflow": facts.workflow}


def head_repository(facts: Facts) -> str:
    return f"{facts.head_owner}/{facts.repository.partition('/')[2]}"


BUILDERS: dict[str, Callable[[Shapes, Facts], dict[str, Any]]] = {
    "pull_request": pull_request,
    "push": push,
    "workflow_run": workflow_run,
    "issue_comment": issue_comment,
    "issue_comment_edited": issue_comment_edited,
    "issue_comment_deleted": issue_comment_deleted,
    "workflow_dispatch": workflow_dispatch,
}
