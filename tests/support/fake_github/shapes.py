"""The fake's objects as GitHub's JSON. Fields that no code reads are filled from the description."""

import urllib.parse
from dataclasses import dataclass
from typing import Any

from tests.support.fake_github.description import Description
from tests.support.fake_github.state import (
    FORK_ID,
    REPOSITORY_ID,
    TIME,
    Artifact,
    CheckRun,
    Comment,
    Issue,
    IssueEvent,
    PullRequest,
    WorkflowRun,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Shapes:
    description: Description
    api_url: str
    repository: str  # owner/name

    @property
    def repository_url(self) -> str:
        return f"{self.api_url}/repos/{self.repository}"

    def fill(self, schema: str, values: dict[str, Any]) -> dict[str, Any]:
        return self.description.fill(self.description.schema(schema), values, base_url=self.api_url)

    def user(self, login: str) -> dict[str, Any]:
        # GitHub escapes the brackets of bots: /users/github-actions%5Bbot%5D.
        quoted = urllib.parse.quote(login)
        kind = "Bot" if login.endswith("[bot]") else "User"
        links = {"url": f"{self.api_url}/users/{quoted}", "html_url": f"{self.api_url}/{quoted}"}
        return self.fill("simple-user", {"login": login, "type": kind, **links})

    def comment(self, comment: Comment) -> dict[str, Any]:
        return self.fill(
            "issue-comment",
            {
                "id": comment.id,
                "node_id": f"IC_{comment.id}",
                "url": f"{self.repository_url}/issues/comments/{comment.id}",
                "html_url": f"{self.api_url}/{self.repository}/pull/{comment.issue}#issuecomment-{comment.id}",
                "issue_url": f"{self.repository_url}/issues/{comment.issue}",
                "body": comment.body,
                "user": self.user(comment.author),
                "created_at": TIME,
                "updated_at": TIME,
            },
        )

    def reaction(self, reaction: tuple[int, str, str]) -> dict[str, Any]:
        number, author, content = reaction
        return self.fill("reaction", {"id": number, "user": self.user(author), "content": content, "created_at": TIME})

    def check_run(self, check: CheckRun) -> dict[str, Any]:
        url = f"{self.repository_url}/check-runs/{check.id}"
        output = {name: check.output.get(name) for name in ("title", "summary", "text")}
        return self.fill(
            "check-run",
            {
                "id": check.id,
                "name": check.name,
                "head_sha": check.head_sha,
                "status": check.status,
                "conclusion": check.conclusion,
                "external_id": check.external_id,
                "details_url": check.details_url,
                "url": url,
                "html_url": f"{self.api_url}/{self.repository}/runs/{check.id}",
                "output": {
                    **output,
                    "annotations_count": len(check.annotations),
                    "annotations_url": f"{url}/annotations",
                },
                "pull_requests": [],
                "check_suite": {"id": 1},
            },
        )

    def artifact(self, artifact: Artifact) -> dict[str, Any]:
        url = f"{self.repository_url}/actions/artifacts/{artifact.id}"
        return self.fill(
            "artifact",
            {
                "id": artifact.id,
                "name": artifact.name,
                "size_in_bytes": len(artifact.zip_bytes),
                "url": url,
                "archive_download_url": f"{url}/zip",
                "expired": artifact.expired,
                "created_at": artifact.created_at,
                "workflow_run": {
                    "id": artifact.run_id,
                    "repository_id": REPOSITORY_ID,
                    "head_sha": artifact.head_sha,
                },
            }
            | ({"digest": artifact.shown_digest} if artifact.shown_digest else {}),
        )

    def base_repository(self, schema: str) -> dict[str, Any]:
        owner, _, name = self.repository.partition("/")
        return self.fill(
            schema,
            {
                "id": REPOSITORY_ID,
                "name": name,
                "full_name": self.repository,
                "owner": self.user(owner),
                "url": self.repository_url,
                "default_branch": "main",
            },
        )

    def pull(self, pull: PullRequest, schema: str = "pull-request-simple") -> dict[str, Any]:
        return self.fill(
            schema,
            {
                "number": pull.number,
                "state": pull.state,
                "url": f"{self.repository_url}/pulls/{pull.number}",
                "html_url": f"{self.api_url}/{self.repository}/pull/{pull.number}",
                "user": self.user(pull.author),
                "head": self.pull_end(pull, "head"),
                "base": self.pull_end(pull, "base"),
                "title": pull.title,
                "labels": [self.label(name) for name in pull.labels],
                "merge_commit_sha": pull.merge_commit_sha,
                "merged_at": None if pull.merge_commit_sha is None else TIME,
                **({"merged": pull.merge_commit_sha is not None} if schema == "pull-request" else {}),
            },
        )

    def label(self, name: str) -> dict[str, Any]:
        url = f"{self.repository_url}/labels/{urllib.parse.quote(name)}"
        ids = {"id": 1, "node_id": "LA_1", "url": url}
        return {**ids, "name": name, "color": "ededed", "default": False, "description": ""}

    def issue_event(self, event: IssueEvent) -> dict[str, Any]:
        url = f"{self.repository_url}/issues/events/{event.id}"
        common = {"id": event.id, "url": url, "event": event.kind, "actor": self.user(event.actor), "created_at": TIME}
        more: dict[str, Any] = {"label": {"name": event.label, "color": "ededed"}}
        if event.kind == "renamed":
            more = {"rename": {"from": event.before, "to": event.after}}
        return self.fill(f"{event.kind}-issue-event", common | more)

    def pull_end(self, pull: PullRequest, end: str) -> dict[str, Any]:
        owner, _, name = self.repository.partition("/")
        if end == "head":
            owner, repository_id, branch, sha = (
                pull.head_owner,
                pull.head_repository_id,
                pull.head_branch,
                pull.head_sha,
            )
        else:
            repository_id, branch, sha = pull.base_repository_id, pull.base_branch, pull.base_sha
        repository = self.base_repository("repository") | {"id": repository_id, "full_name": f"{owner}/{name}"}
        repository |= {"owner": self.user(owner), "fork": repository_id == FORK_ID}
        return {"label": f"{owner}:{branch}", "ref": branch, "sha": sha, "repo": repository, "user": self.user(owner)}

    def workflow_run(self, run: WorkflowRun) -> dict[str, Any]:
        owner = self.repository.partition("/")[0]
        return self.fill(
            "workflow-run",
            {
                "id": run.id,
                "name": "Benchmarks",
                "display_title": run.title,
                "path": run.workflow,
                "event": run.event,
                "status": run.status,
                "conclusion": run.conclusion,
                "run_attempt": run.attempt,
                "head_sha": run.head_sha,
                "head_branch": run.head_branch,
                "url": f"{self.repository_url}/actions/runs/{run.id}",
                "html_url": f"{self.api_url}/{self.repository}/actions/runs/{run.id}",
                "artifacts_url": f"{self.repository_url}/actions/runs/{run.id}/artifacts",
                "repository": self.base_repository("minimal-repository"),
                "head_repository": self.base_repository("minimal-repository")
                | {"id": run.head_repository_id, "owner": self.user(run.head_owner or owner)},
            },
        )

    def issue(self, issue: Issue) -> dict[str, Any]:
        return self.fill(
            "issue",
            {
                "number": issue.number,
                "title": issue.title,
                "body": issue.body,
                "state": issue.state,
                "user": self.user(issue.author),
                "labels": list(issue.labels),
                "url": f"{self.repository_url}/issues/{issue.number}",
                "html_url": f"{self.api_url}/{self.repository}/issues/{issue.number}",
            },
        )
