"""What the runner says about this job: event, repository, commit, addresses. All from GitHub, nothing from files."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.errors import UsageError
from bot.model.dispatch import parse_run_title
from bot.pipeline.event import PULL_REQUEST_EVENTS, read_event
from bot.pipeline.publish import Destination
from bot.publish.event import text_or_none, value_at


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """`head_commit` is whom the verdict is about: a pull request's head, of which GitHub's merge may be measured."""

    event_name: str
    event: dict[str, Any]
    repository: str
    workspace: Path
    sha: str
    ref: str
    server_url: str
    api_url: str
    run_id: str
    run_attempt: str
    output_path: Path | None
    summary_path: Path | None

    @property
    def run_url(self) -> str:
        return f"{self.server_url}/{self.repository}/actions/runs/{self.run_id}"

    @property
    def repository_url(self) -> str:
        return f"{self.server_url}/{self.repository}"

    @property
    def git_url(self) -> str:
        return f"{self.repository_url}.git"

    @property
    def default_branch(self) -> str | None:
        return text_or_none(self.event, "repository", "default_branch")

    @property
    def is_default_branch_push(self) -> bool:
        return self.event_name == "push" and self.ref == f"refs/heads/{self.default_branch}"

    @property
    def follows_default_branch_push(self) -> bool:
        """A workflow_run after a push to our own default branch: what it measured is trusted code."""
        run = value_at(self.event, "workflow_run")
        return (
            self.event_name == "workflow_run"
            and value_at(run, "event") == "push"
            and value_at(run, "head_branch") == self.default_branch
            and value_at(run, "head_repository", "id") == value_at(self.event, "repository", "id")
        )

    @property
    def follows_bisection(self) -> bool:
        """A workflow_run after the bisect workflow; that it really is one is asked of GitHub later."""
        run = value_at(self.event, "workflow_run")
        is_dispatched = self.event_name == "workflow_run" and value_at(run, "event") == "workflow_dispatch"
        return is_dispatched and parse_run_title(text_or_none(run, "display_title") or "") is not None

    def destination(self, *, token: str, bot_login: str) -> Destination:
        return Destination(
            repository=self.repository,
            api_url=self.api_url,
            server_url=self.server_url,
            token=token,
            bot_login=bot_login,
            run_url=self.run_url,
            external_id=f"{self.run_id}-{self.run_attempt}",
        )

    @property
    def is_fork(self) -> bool:
        """A pull request whose code comes from another repository: its token may not write."""
        head = value_at(self.event, "pull_request", "head", "repo", "id")
        return "pull_request" in self.event and head != value_at(self.event, "repository", "id")

    @property
    def is_pull_request(self) -> bool:
        return self.event_name in PULL_REQUEST_EVENTS

    @property
    def head_commit(self) -> str:
        return text_or_none(self.event, "pull_request", "head", "sha") or self.sha

    @property
    def base_ref(self) -> str | None:
        """What the measured commit goes into; of a merge queue's entry the commit below it, which may wait as well."""
        keys = ("merge_group", "base_sha") if self.event_name == "merge_group" else ("pull_request", "base", "ref")
        return text_or_none(self.event, *keys)


def read_context(environ: Mapping[str, str], *, elsewhere: str) -> Context:
    """The runner's facts in `environ`; outside a runner a UsageError whose next step is `elsewhere`."""
    path = environ.get("GITHUB_EVENT_PATH")
    repository = environ.get("GITHUB_REPOSITORY")
    if not path or not repository:
        raise UsageError(
            "this is no GitHub Actions job: GITHUB_EVENT_PATH and GITHUB_REPOSITORY are not set", next_step=elsewhere
        )
    return Context(
        event_name=environ.get("GITHUB_EVENT_NAME", ""),
        event=read_event(Path(path)),
        repository=repository,
        workspace=Path(environ.get("GITHUB_WORKSPACE", ".")),
        sha=environ.get("GITHUB_SHA", ""),
        ref=environ.get("GITHUB_REF", ""),
        server_url=environ.get("GITHUB_SERVER_URL", "https://github.com").rstrip("/"),
        api_url=environ.get("GITHUB_API_URL", "https://api.github.com").rstrip("/"),
        run_id=environ.get("GITHUB_RUN_ID", ""),
        run_attempt=environ.get("GITHUB_RUN_ATTEMPT", "1"),
        output_path=_path(environ, "GITHUB_OUTPUT"),
        summary_path=_path(environ, "GITHUB_STEP_SUMMARY"),
    )


def _path(environ: Mapping[str, str], name: str) -> Path | None:
    return Path(environ[name]) if environ.get(name) else None
