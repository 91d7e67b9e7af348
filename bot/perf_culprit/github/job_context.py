"""The current GitHub job: its event, repository, commits and addresses, and the connection with which it writes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from perf_culprit.errors import UsageError
from perf_culprit.github.host import Host
from perf_culprit.github.runner_files import PULL_REQUEST_EVENTS, read_event, text_or_none, value_at
from perf_culprit.model.dispatch import parse_run_title

# A run of these events is on one of our branches. A branch name alone is no proof: a fork may use the same name.
OWN_CAUSES: Final = ("push", "schedule", "workflow_dispatch")


@dataclass(frozen=True, kw_only=True, slots=True)
class Destination:
    """The place and the account to write with, never from an artifact. The token stays out of the representation.

    `measured_url`: the run that measured, if it is another one. `is_advice`: a stranger's code measured itself.
    """

    repository: str
    api_url: str
    server_url: str
    token: str = field(repr=False)
    bot_login: str
    run_url: str | None = None
    external_id: str = ""
    measured_url: str | None = None
    is_advice: bool = False

    @property
    def repository_url(self) -> str:
        return f"{self.server_url}/{self.repository}"


def connect_host(destination: Destination) -> Host:
    # PyGithub takes longer to load than everything else that a job needs before it contacts GitHub.
    from perf_culprit.github import github_host

    return github_host.connect_github(
        token=destination.token,
        api_url=destination.api_url,
        repository=destination.repository,
        bot_login=destination.bot_login,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """The current job. `head_commit` is judged: a pull request's head, even if GitHub's merge of it is measured."""

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
    def is_default_branch(self) -> bool:
        return self.ref == f"refs/heads/{self.default_branch}"

    @property
    def is_default_branch_push(self) -> bool:
        return self.event_name == "push" and self.is_default_branch

    @property
    def pushed_tag(self) -> str | None:
        """The tag whose push this job, or the run that it follows, is about. The name may be that of a branch."""
        if self.event_name == "push" and self.ref.startswith("refs/tags/"):
            return self.ref.removeprefix("refs/tags/")
        run = value_at(self.event, "workflow_run")
        is_own = value_at(run, "head_repository", "id") == value_at(self.event, "repository", "id")
        is_push = self.event_name == "workflow_run" and value_at(run, "event") == "push"
        return text_or_none(run, "head_branch") if is_own and is_push and not self.follows_default_branch else None

    @property
    def follows_default_branch_push(self) -> bool:
        return self.follows_default_branch and value_at(self.event, "workflow_run", "event") == "push"

    @property
    def follows_default_branch(self) -> bool:
        """Whether this workflow_run follows a run of our own default branch, which measures trusted code."""
        run = value_at(self.event, "workflow_run")
        return (
            self.event_name == "workflow_run"
            and value_at(run, "event") in OWN_CAUSES
            and value_at(run, "head_branch") == self.default_branch
            and value_at(run, "head_repository", "id") == value_at(self.event, "repository", "id")
        )

    @property
    def follows_bisection(self) -> bool:
        """Whether this workflow_run seems to follow the bisect workflow. GitHub confirms that later."""
        return parse_run_title(self.dispatched_title) is not None

    @property
    def dispatched_title(self) -> str:
        """The title of the run that this one follows, if a dispatch on the default branch set it: a writer's title.

        The title of any other run is somebody's text, such as the subject of a commit.
        """
        is_dispatched = value_at(self.event, "workflow_run", "event") == "workflow_dispatch"
        title = text_or_none(self.event, "workflow_run", "display_title")
        return title or "" if is_dispatched and self.follows_default_branch else ""

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
    def pull_request(self) -> int | None:
        number = value_at(self.event, "pull_request", "number")
        return number if isinstance(number, int) else None

    @property
    def is_fork(self) -> bool:
        """Whether the pull request's code comes from another repository, so that its token may not write."""
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
        """The branch to merge into. For a merge queue, the commit below, which may itself be queued."""
        keys = ("merge_group", "base_sha") if self.event_name == "merge_group" else ("pull_request", "base", "ref")
        return text_or_none(self.event, *keys)


def read_context(environ: Mapping[str, str], *, elsewhere: str) -> Context:
    """Read the runner's facts from `environ`. Outside a runner, raise a UsageError whose next step is `elsewhere`."""
    path = environ.get("GITHUB_EVENT_PATH")
    repository = environ.get("GITHUB_REPOSITORY")
    if not path or not repository:
        raise UsageError(
            "this is not a GitHub Actions job: GITHUB_EVENT_PATH and GITHUB_REPOSITORY are not set", next_step=elsewhere
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
