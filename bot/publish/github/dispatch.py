"""Runs of the bisect workflow on GitHub: started, found again by their title, and what they left."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from github import GithubException
from github.WorkflowRun import WorkflowRun

from bot.errors import ConfigError, DataError
from bot.model.dispatch import RunArtifact, RunFacts, run_title
from bot.publish.github.artifacts import ArtifactLimits, ListedArtifact, download, list_artifacts, newest_by_name
from bot.publish.github.client import Client
from bot.publish.github.failure import explained, message_of
from bot.publish.github.posting import post_once

WORKFLOW_FOLDER: Final = ".github/workflows"
LOOKED_AT_PAGES: Final = 3
PER_PAGE: Final = 100
# Servers that do not know `return_run_details` call the whole request invalid.
UNKNOWN_PARAMETER_STATUSES: Final = (400, 422)


class GitHubDispatcher:
    """`workflow` is the file's name, `ref` the default branch: never a pull request's workflow."""

    def __init__(self, client: Client, *, workflow: str, ref: str, limits: ArtifactLimits | None = None) -> None:
        self._client = client
        self._workflow = workflow
        self._ref = ref
        self._limits = limits or ArtifactLimits()

    def send(self, inputs: Mapping[str, str]) -> int | None:
        title = run_title(inputs["bisection"], inputs["dispatch"])
        with explained("start the bisect workflow"):
            try:
                # A lost answer is looked for by the run's title before anything is sent again.
                return post_once(self._client, post=lambda: self._post(inputs), find=lambda: self.find(title))
            except GithubException as error:
                if error.status not in (404, 422):
                    raise
                raise ConfigError(
                    f"GitHub does not start it: {message_of(error)}",
                    place=f"{WORKFLOW_FOLDER}/{self._workflow} on {self._ref}",
                    next_step="add the bisect workflow to the default branch, with the inputs of docs/bisection.md, "
                    "and give this job `permissions: actions: write`",
                ) from None

    def _post(self, inputs: Mapping[str, str]) -> int | None:
        workflow = self._client.repository.get_workflow(self._workflow)
        try:
            started: WorkflowRun | bool = workflow.create_dispatch(
                self._ref, dict(inputs), throw=True, return_run_details=True
            )
        except GithubException as error:
            if error.status not in UNKNOWN_PARAMETER_STATUSES:
                raise
            workflow.create_dispatch(self._ref, dict(inputs), throw=True)
            return None
        # A server that knows the parameter and nothing of runs answers without a body.
        return started.id if isinstance(started, WorkflowRun) else None

    def find(self, title: str) -> int | None:
        """The newest run of the bisect workflow with this title."""
        url = f"{self._client.repository.url}/actions/runs"
        with explained("look for the bisect workflow's runs"):
            for page in range(1, LOOKED_AT_PAGES + 1):
                parameters: dict[str, Any] = {"event": "workflow_dispatch", "per_page": PER_PAGE, "page": page}
                _, answer = self._client.repository.requester.requestJsonAndCheck("GET", url, parameters=parameters)
                for run in answer["workflow_runs"]:
                    if run["display_title"] == title and self._is_ours(run):
                        return int(run["id"])
                if page * PER_PAGE >= answer["total_count"]:
                    break
        return None

    def look(self, run_id: int) -> RunFacts | None:
        run = self._run(run_id)
        if run is None or not self._is_ours(run):
            return None
        return RunFacts(title=run["display_title"], is_completed=run["status"] == "completed")

    def artifacts(self, run_id: int, names: Sequence[str]) -> tuple[RunArtifact, ...]:
        run = self._run(run_id)
        if run is None:
            return ()
        with explained("list the artifacts"):
            artifacts = list_artifacts(self._client, run_id=run_id, head_sha=run["head_sha"], name=None)
        wanted = [artifact for artifact in newest_by_name(artifacts) if artifact.name in names]
        return tuple(self._artifact(artifact) for artifact in wanted)

    def _artifact(self, artifact: ListedArtifact) -> RunArtifact:
        """One that is broken or too large costs only itself."""
        try:
            return RunArtifact(name=artifact.name, zip_bytes=download(self._client, artifact, limits=self._limits))
        except DataError as error:
            return RunArtifact(name=artifact.name, problem=error.message)

    def _run(self, run_id: int) -> dict[str, Any] | None:
        url = f"{self._client.repository.url}/actions/runs/{run_id}"
        with explained("look at the bisect workflow's run"):
            try:
                _, run = self._client.repository.requester.requestJsonAndCheck("GET", url)
            except GithubException as error:
                if error.status == 404:
                    return None
                raise
        return dict(run)

    def _is_ours(self, run: Mapping[str, Any]) -> bool:
        """The workflow's file on a branch of ours, started by a dispatch: its title cannot be a stranger's."""
        path = str(run["path"]).partition("@")[0]
        ours = ("workflow_dispatch", self._ref, f"{WORKFLOW_FOLDER}/{self._workflow}")
        return (run["event"], run["head_branch"], path) == ours


def dispatcher(client: Client, *, workflow: str, ref: str) -> GitHubDispatcher:
    return GitHubDispatcher(client, workflow=workflow, ref=ref)
