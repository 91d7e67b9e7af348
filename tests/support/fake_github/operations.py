"""What each operation does. One function per operation id of GitHub's description; requests are checked before."""

import base64
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tests.support.fake_github.pages import Listing
from tests.support.fake_github.shapes import Shapes
from tests.support.fake_github.state import Artifact, CheckRun, Comment, Issue, PullRequest, State

MAXIMUM_BODY_CHARACTERS = 65_536
MAXIMUM_DISPATCH_INPUTS = 25

Item = TypeVar("Item")


class ApiError(Exception):
    def __init__(self, status: int, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.headers: dict[str, str] = more.pop("headers", {})
        self.body = {"message": message, "documentation_url": "https://docs.github.com/rest", "status": str(status)}
        self.body |= more


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    state: State
    shapes: Shapes
    git_dir: Path | None
    store_url: str
    login: str
    path: dict[str, str]
    query: dict[str, str]
    body: Any

    def number(self, name: str) -> int:
        return int(self.path[name])

    def git(self, *arguments: str) -> str:
        if self.git_dir is None:
            raise ApiError(404, "Not Found")
        command = ["git", "--git-dir", str(self.git_dir), *arguments]
        result = subprocess.run(command, capture_output=True, check=False)
        if result.returncode != 0:
            raise ApiError(404, "Not Found")
        return result.stdout.decode()


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


def found(items: dict[int, Item], number: int) -> Item:
    if number not in items:
        raise ApiError(404, "Not Found")
    return items[number]


def refuse_long_body(body: str) -> None:
    if len(body) > MAXIMUM_BODY_CHARACTERS:
        message = f"Body is too long (maximum is {MAXIMUM_BODY_CHARACTERS} characters)"
        error = {"resource": "IssueComment", "code": "unprocessable", "field": "data", "message": message}
        raise ApiError(422, "Validation Failed", errors=[error])


# --- repository, collaborators, git data


def get_repository(call: Call) -> Answer:
    return Answer(200, call.shapes.base_repository("full-repository"))


def get_permission(call: Call) -> Answer:
    role = call.state.roles.get(call.path["username"], "none")
    permission = {"maintain": "write", "triage": "read"}.get(role, role)
    return Answer(200, {"permission": permission, "role_name": role, "user": None})


def get_reference(call: Call) -> Answer:
    reference = f"refs/{call.path['ref']}"
    sha = call.git("rev-parse", "--verify", reference).strip()
    return Answer(200, reference_body(call, reference, sha))


def create_reference(call: Call) -> Answer:
    call.git("update-ref", call.body["ref"], call.body["sha"], "")
    return Answer(201, reference_body(call, call.body["ref"], call.body["sha"]))


def reference_body(call: Call, reference: str, sha: str) -> dict[str, Any]:
    url = call.shapes.repository_url
    target = {"type": "commit", "sha": sha, "url": f"{url}/git/commits/{sha}"}
    return {"ref": reference, "node_id": "REF", "url": f"{url}/git/{reference}", "object": target}


def get_content(call: Call) -> Answer:
    path = call.path["path"]
    sha = call.git("rev-parse", f"{call.query.get('ref', 'HEAD')}:{path}").strip()
    text = call.git("cat-file", "blob", sha)
    url = f"{call.shapes.repository_url}/contents/{path}"
    content = base64.encodebytes(text.encode()).decode()
    described = {"name": path.rsplit("/", 1)[-1], "path": path, "sha": sha, "size": len(text), "url": url}
    links = {"git": None, "html": None, "self": url}
    nothing = dict.fromkeys(("git_url", "html_url", "download_url"))
    return Answer(
        200, {**described, **nothing, "type": "file", "encoding": "base64", "content": content, "_links": links}
    )


def compare(call: Call) -> Answer:
    base, _, head = call.path["basehead"].partition("...")
    merge_base = call.git("merge-base", base, head).strip()
    behind, ahead = map(int, call.git("rev-list", "--left-right", "--count", f"{base}...{head}").split())
    status = {(False, False): "identical", (True, False): "ahead", (False, True): "behind"}.get(
        (ahead > 0, behind > 0), "diverged"
    )
    commit = {"sha": merge_base, "url": f"{call.shapes.repository_url}/commits/{merge_base}"}
    values = {
        "status": status,
        "ahead_by": ahead,
        "behind_by": behind,
        "total_commits": ahead,
        "merge_base_commit": call.shapes.fill("commit", commit),
    }
    return Answer(200, call.shapes.fill("commit-comparison", values))


def create_status(call: Call) -> Answer:
    call.state.statuses.append({"sha": call.path["sha"], **call.body})
    values = {"state": call.body["state"], "context": call.body.get("context", "default")}
    return Answer(201, call.shapes.fill("status", values))


# --- issues and comments


def list_comments(call: Call) -> Answer:
    shown = []
    for comment in call.state.comments.values():
        if comment.issue == call.number("issue_number"):
            if comment.hidden_listings > 0:
                comment.hidden_listings -= 1
            else:
                shown.append(call.shapes.comment(comment))
    return Answer(200, Listing(shown))


def create_comment(call: Call) -> Answer:
    issue = call.number("issue_number")
    if issue in call.state.locked_issues:
        raise ApiError(403, "Unable to create comment because issue is locked.")
    refuse_long_body(call.body["body"])
    comment = call.state.add_comment(issue=issue, author=call.login, body=call.body["body"])
    return Answer(201, call.shapes.comment(comment))


def get_comment(call: Call) -> Answer:
    return Answer(200, call.shapes.comment(found(call.state.comments, call.number("comment_id"))))


def update_comment(call: Call) -> Answer:
    comment = own_comment(call)
    refuse_long_body(call.body["body"])
    comment.body = call.body["body"]
    comment.writes += 1
    return Answer(200, call.shapes.comment(comment))


def delete_comment(call: Call) -> Answer:
    del call.state.comments[own_comment(call).id]
    return Answer(204)


def own_comment(call: Call) -> Comment:
    # Real GitHub lets a token with write permission change others' comments; nothing here ever should.
    comment = found(call.state.comments, call.number("comment_id"))
    if comment.author != call.login:
        raise ApiError(403, "Resource not accessible by integration")
    return comment


def create_reaction(call: Call) -> Answer:
    comment = found(call.state.comments, call.number("comment_id"))
    for reaction in comment.reactions:
        if reaction[1:] == (call.login, call.body["content"]):
            return Answer(200, call.shapes.reaction(reaction))
    comment.reactions.append((next(call.state.ids), call.login, call.body["content"]))
    return Answer(201, call.shapes.reaction(comment.reactions[-1]))


def list_reactions(call: Call) -> Answer:
    comment = found(call.state.comments, call.number("comment_id"))
    return Answer(200, Listing([call.shapes.reaction(reaction) for reaction in comment.reactions]))


def delete_reaction(call: Call) -> Answer:
    comment = found(call.state.comments, call.number("comment_id"))
    comment.reactions[:] = [reaction for reaction in comment.reactions if reaction[0] != call.number("reaction_id")]
    return Answer(204)


def list_issues(call: Call) -> Answer:
    state = call.query.get("state", "open")
    labels = set(filter(None, call.query.get("labels", "").split(",")))
    issues = [
        issue for issue in call.state.issues.values() if state in ("all", issue.state) and labels <= set(issue.labels)
    ]
    return Answer(200, Listing([call.shapes.issue(issue) for issue in issues]))


def create_issue(call: Call) -> Answer:
    refuse_long_body(call.body.get("body") or "")
    number = next(call.state.ids)
    issue = Issue(number=number, title=call.body["title"], body=call.body.get("body"), author=call.login)
    issue.labels += call.body.get("labels", [])
    call.state.issues[number] = issue
    return Answer(201, call.shapes.issue(issue))


def get_issue(call: Call) -> Answer:
    return Answer(200, call.shapes.issue(found(call.state.issues, call.number("issue_number"))))


def update_issue(call: Call) -> Answer:
    issue = found(call.state.issues, call.number("issue_number"))
    for name in ("title", "body", "state", "labels"):
        if name in call.body:
            setattr(issue, name, call.body[name])
    return Answer(200, call.shapes.issue(issue))


# --- pull requests


def list_pulls(call: Call) -> Answer:
    state, head = call.query.get("state", "open"), None if call.state.ignores_head else call.query.get("head")
    pulls = [
        pull
        for pull in call.state.pulls.values()
        if state in ("all", pull.state) and head in (None, f"{pull.head_owner}:{pull.head_branch}")
    ]
    return Answer(200, Listing([call.shapes.pull(pull) for pull in pulls]))


def get_pull(call: Call) -> Answer:
    pull: PullRequest = found(call.state.pulls, call.number("pull_number"))
    return Answer(200, call.shapes.pull(pull, "pull-request"))


def list_pulls_of_commit(call: Call) -> Answer:
    sha = call.path["commit_sha"]
    return Answer(200, Listing([call.shapes.pull(pull) for pull in call.state.pulls.values() if pull.head_sha == sha]))


# --- check runs


def create_check_run(call: Call) -> Answer:
    check = CheckRun(id=next(call.state.ids), name=call.body["name"], head_sha=call.body["head_sha"])
    write_check_run(check, call.body)
    call.state.check_runs[check.id] = check
    return Answer(201, call.shapes.check_run(check))


def update_check_run(call: Call) -> Answer:
    check = found(call.state.check_runs, call.number("check_run_id"))
    write_check_run(check, call.body)
    return Answer(200, call.shapes.check_run(check))


def write_check_run(check: CheckRun, body: dict[str, Any]) -> None:
    output = dict(body.get("output") or {})
    annotations = output.pop("annotations", [])
    for name in ("status", "conclusion", "external_id", "details_url"):
        if name in body:
            setattr(check, name, body[name])
    if body.get("conclusion"):
        check.status = "completed"
    check.output |= output
    check.annotations += annotations


def get_check_run(call: Call) -> Answer:
    return Answer(200, call.shapes.check_run(found(call.state.check_runs, call.number("check_run_id"))))


def list_check_runs(call: Call) -> Answer:
    checks = [
        check
        for check in call.state.check_runs.values()
        if check.head_sha == call.path["ref"] and call.query.get("check_name", check.name) == check.name
    ]
    if call.query.get("filter", "latest") == "latest":
        checks = list({check.name: check for check in checks}.values())
    return Answer(200, Listing([call.shapes.check_run(check) for check in checks], "check_runs"))


# --- actions


def list_runs(call: Call) -> Answer:
    runs = [run for run in call.state.runs.values() if call.query.get("head_sha", run.head_sha) == run.head_sha]
    return Answer(200, Listing([call.shapes.workflow_run(run) for run in runs], "workflow_runs"))


def get_run(call: Call) -> Answer:
    return Answer(200, call.shapes.workflow_run(found(call.state.runs, call.number("run_id"))))


def list_run_artifacts(call: Call) -> Answer:
    run_id = call.number("run_id")
    return artifact_listing(call, [a for a in call.state.artifacts.values() if a.run_id == run_id])


def list_artifacts(call: Call) -> Answer:
    return artifact_listing(call, list(call.state.artifacts.values()))


def artifact_listing(call: Call, artifacts: list[Artifact]) -> Answer:
    named = [a for a in artifacts if call.query.get("name", a.name) == a.name]
    return Answer(200, Listing([call.shapes.artifact(artifact) for artifact in named], "artifacts"))


def get_artifact(call: Call) -> Answer:
    return Answer(200, call.shapes.artifact(found(call.state.artifacts, call.number("artifact_id"))))


def download_artifact(call: Call) -> Answer:
    artifact = found(call.state.artifacts, call.number("artifact_id"))
    if artifact.expired:
        raise ApiError(410, "Artifact has expired")
    return Answer(
        302, None, {"location": artifact.redirect or f"{call.store_url}/{artifact.id}/archive.zip?sig=made-up"}
    )


def dispatch_workflow(call: Call) -> Answer:
    if len(call.body.get("inputs", {})) > MAXIMUM_DISPATCH_INPUTS:
        raise ApiError(422, f"you may only define up to {MAXIMUM_DISPATCH_INPUTS} inputs")
    run_id = next(call.state.ids)
    call.state.dispatches.append({"workflow": call.path["workflow_id"], "run_id": run_id, **call.body})
    if not call.body.get("return_run_details"):
        return Answer(204)
    url, html = call.shapes.repository_url, f"{call.shapes.api_url}/{call.shapes.repository}"
    details = {"run_url": f"{url}/actions/runs/{run_id}", "html_url": f"{html}/actions/runs/{run_id}"}
    return Answer(200, {"workflow_run_id": run_id, **details})


OPERATIONS: dict[str, Callable[[Call], Answer]] = {
    "repos/get": get_repository,
    "repos/get-collaborator-permission-level": get_permission,
    "repos/get-content": get_content,
    "repos/compare-commits-with-basehead": compare,
    "repos/create-commit-status": create_status,
    "repos/list-pull-requests-associated-with-commit": list_pulls_of_commit,
    "git/get-ref": get_reference,
    "git/create-ref": create_reference,
    "issues/list-for-repo": list_issues,
    "issues/create": create_issue,
    "issues/get": get_issue,
    "issues/update": update_issue,
    "issues/list-comments": list_comments,
    "issues/create-comment": create_comment,
    "issues/get-comment": get_comment,
    "issues/update-comment": update_comment,
    "issues/delete-comment": delete_comment,
    "reactions/create-for-issue-comment": create_reaction,
    "reactions/list-for-issue-comment": list_reactions,
    "reactions/delete-for-issue-comment": delete_reaction,
    "pulls/list": list_pulls,
    "pulls/get": get_pull,
    "checks/create": create_check_run,
    "checks/update": update_check_run,
    "checks/get": get_check_run,
    "checks/list-for-ref": list_check_runs,
    "actions/list-workflow-runs-for-repo": list_runs,
    "actions/get-workflow-run": get_run,
    "actions/list-workflow-run-artifacts": list_run_artifacts,
    "actions/list-artifacts-for-repo": list_artifacts,
    "actions/get-artifact": get_artifact,
    "actions/download-artifact": download_artifact,
    "actions/create-workflow-dispatch": dispatch_workflow,
}
