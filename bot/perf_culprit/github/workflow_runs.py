"""Workflow runs on GitHub: their artifacts, and the runs of the bisect workflow.

Artifacts are bytes from an untrusted source; `action` and `dispatch` open them.
"""

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import requests
from github import GithubException
from github.WorkflowRun import WorkflowRun

from perf_culprit.errors import ConfigError, DataError
from perf_culprit.github.client import Client, explained, message_of
from perf_culprit.github.host import ArtifactFile, NoArtifactError
from perf_culprit.github.posting import post_once
from perf_culprit.model.artifact_limits import ARTIFACT_LIMITS, ArtifactLimits
from perf_culprit.model.dispatch import RunArtifact, RunFacts, run_title
from perf_culprit.model.maintenance import protection_step

_MEBIBYTE = 1 << 20
PER_PAGE: Final = 100
_CHUNK_BYTES = 1 << 16
# The address of an artifact's bytes is valid for a minute, so each attempt asks for a new one.
DOWNLOAD_ATTEMPTS = 3
DOWNLOAD_WAIT_SECONDS = 2.0
EXPIRED_STEP = "run the benchmarks again, or keep artifacts longer (`retention-days` of actions/upload-artifact)"


@dataclass(frozen=True, kw_only=True, slots=True)
class ListedArtifact:
    """GitHub's data on an artifact. `digest` is `sha256:<hex>`, missing on older servers."""

    id: int
    name: str
    created_at: str
    size_bytes: int
    expired: bool
    digest: str | None

    @property
    def place(self) -> str:
        return f"artifact {self.name!r}"


def fetch_artifacts(
    client: Client, *, run_id: int, head_sha: str, name: str | None = None, limits: ArtifactLimits | None = None
) -> tuple[ArtifactFile, ...]:
    """Return the artifacts of run `run_id` on `head_sha`: all, or those called `name`, which may end with `*`.

    If several have one name (a job that ran again), the newest counts. Raise DataError if there is nothing to use:
    none, expired, too large, or bytes that differ from GitHub's digest.
    """
    limits = limits or ARTIFACT_LIMITS
    with explained("list the artifacts"):
        listed = newest_by_name(list_artifacts(client, run_id=run_id, head_sha=head_sha, name=name))
    if not listed:
        wanted = f"no artifact {name!r}" if name else "no artifacts"
        raise NoArtifactError(
            f"{wanted} for {head_sha[:10]}",
            place=f"workflow run {run_id}",
            next_step="upload the benchmark results with actions/upload-artifact in the workflow that measures",
        )
    if len(listed) > limits.artifacts:
        raise DataError(
            f"{len(listed)} artifacts; at most {limits.artifacts} are read",
            place=f"workflow run {run_id}",
            next_step="name the artifact that holds the results",
        )
    total_bytes = sum(artifact.size_bytes for artifact in listed)
    if total_bytes > limits.artifacts_bytes:
        raise too_large(f"workflow run {run_id}", size_bytes=total_bytes, limit_bytes=limits.artifacts_bytes)
    return tuple(
        ArtifactFile(name=artifact.name, zip_bytes=download(client, artifact, limits=limits)) for artifact in listed
    )


def list_artifacts(client: Client, *, run_id: int, head_sha: str, name: str | None) -> list[ListedArtifact]:
    # PyGithub's own listing cannot filter by name.
    url = f"{client.repository.url}/actions/runs/{run_id}/artifacts"
    artifacts: list[ListedArtifact] = []
    for page in range(1, ARTIFACT_LIMITS.artifact_pages + 1):
        parameters: dict[str, Any] = {"per_page": PER_PAGE, "page": page} | (
            {"name": name} if name and not name.endswith("*") else {}
        )
        _, answer = client.repository.requester.requestJsonAndCheck("GET", url, parameters=parameters)
        artifacts += [
            _listed_artifact(artifact)
            for artifact in answer["artifacts"]
            if belongs(artifact, run_id=run_id, head_sha=head_sha)
        ]
        if page * PER_PAGE >= answer["total_count"]:
            break
    start = name.removesuffix("*") if name and name.endswith("*") else None
    return [
        artifact
        for artifact in artifacts
        if name in (None, artifact.name) or (start and artifact.name.startswith(start))
    ]


def belongs(entry: dict[str, Any], *, run_id: int, head_sha: str) -> bool:
    run = entry.get("workflow_run") or {}
    return run.get("id") == run_id and run.get("head_sha") == head_sha


def _listed_artifact(entry: dict[str, Any]) -> ListedArtifact:
    return ListedArtifact(
        id=entry["id"],
        name=entry["name"],
        created_at=entry["created_at"] or "",
        size_bytes=entry["size_in_bytes"],
        expired=entry["expired"],
        digest=entry.get("digest"),
    )


def newest_by_name(artifacts: list[ListedArtifact]) -> list[ListedArtifact]:
    oldest_first = sorted(artifacts, key=lambda artifact: (artifact.created_at, artifact.id))
    return list({artifact.name: artifact for artifact in oldest_first}.values())


def download(client: Client, artifact: ListedArtifact, *, limits: ArtifactLimits) -> bytes:
    if artifact.expired:
        raise DataError("the artifact has expired", place=artifact.place, next_step=EXPIRED_STEP)
    if artifact.size_bytes > limits.zip_bytes:
        raise too_large(artifact.place, size_bytes=artifact.size_bytes, limit_bytes=limits.zip_bytes)
    content = fetch_zip(client, artifact, limits=limits)
    algorithm, _, expected = (artifact.digest or "").partition(":")
    if algorithm == "sha256" and hashlib.sha256(content).hexdigest() != expected.lower():
        raise DataError(
            "the downloaded bytes differ from the digest that GitHub states",
            place=artifact.place,
            next_step="run the job again; if it stays so, do not trust this artifact",
        )
    return content


def fetch_zip(
    client: Client, artifact: ListedArtifact, *, limits: ArtifactLimits, attempts: int = DOWNLOAD_ATTEMPTS
) -> bytes:
    with explained(f"download {artifact.place}"):
        location = redirect(client, artifact)
        try:
            return read(location, place=artifact.place, limits=limits)
        except requests.RequestException as error:
            answered = error.response is not None and error.response.status_code < 500
            if attempts == 1 or answered:
                raise
    client.sleep(DOWNLOAD_WAIT_SECONDS)
    return fetch_zip(client, artifact, limits=limits, attempts=attempts - 1)


def redirect(client: Client, artifact: ListedArtifact) -> str:
    """Return the address of the bytes, on another host. PyGithub would refuse it, so it does not follow the link."""
    requester = client.repository.requester
    url = f"{client.repository.url}/actions/artifacts/{artifact.id}/zip"
    status, headers, body = requester.requestJson("GET", url)
    if status == 410:
        raise DataError("the artifact has expired", place=artifact.place, next_step=EXPIRED_STEP)
    if status != 302:
        raise requester.createException(status, headers, json_object(body))
    location = str(headers.get("location", ""))
    schemes = ("https",) if str(client.repository.url).startswith("https:") else ("https", "http")
    parts = urlsplit(location)
    if parts.scheme not in schemes or not parts.hostname:
        raise GithubException(status, {"message": "the artifact's address is not a web address"}, headers)
    return location


def read(location: str, *, place: str, limits: ArtifactLimits) -> bytes:
    """Read at most `limits.zip_bytes` in at most `limits.download_s`, whatever the server announces."""
    deadline = time.monotonic() + limits.download_s
    # A fresh session: the token stays with the API. The `auth` that adds nothing keeps requests from reading ~/.netrc.
    with (
        requests.Session() as session,
        session.get(
            location,
            stream=True,
            timeout=limits.answer_s,
            allow_redirects=False,
            auth=lambda request: request,
            headers={"Accept-Encoding": "identity"},
        ) as response,
    ):
        response.raise_for_status()
        if response.status_code != 200:
            raise requests.HTTPError(f"status {response.status_code}", response=response)
        content = bytearray()
        for chunk in response.iter_content(_CHUNK_BYTES):
            content += chunk
            if len(content) > limits.zip_bytes:
                raise too_large(place, size_bytes=len(content), limit_bytes=limits.zip_bytes)
            if time.monotonic() > deadline:
                raise requests.Timeout("the download takes too long")
        return bytes(content)


def too_large(place: str, *, size_bytes: int, limit_bytes: int) -> DataError:
    return DataError(
        f"{size_bytes / _MEBIBYTE:.1f} MiB zipped or more; the limit is {limit_bytes / _MEBIBYTE:.1f} MiB",
        place=place,
        next_step="upload only the result files of the benchmarks",
    )


def json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


WORKFLOW_FOLDER: Final = ".github/workflows"
LOOKED_AT_PAGES: Final = 3
READ_OF_RUN: Final = ("display_title", "event", "head_branch", "head_sha", "path", "status")
# Servers without `return_run_details` call the whole request invalid.
UNKNOWN_PARAMETER_STATUSES: Final = (400, 422)


class GitHubDispatcher:
    """`workflow` is the file's name, `ref` the default branch: never a pull request's workflow."""

    def __init__(self, client: Client, *, workflow: str, ref: str, limits: ArtifactLimits | None = None) -> None:
        self._client = client
        self._workflow = workflow
        self._ref = ref
        self._limits = limits or ARTIFACT_LIMITS

    def send(self, inputs: Mapping[str, str], *, title: str | None = None) -> int | None:
        what, page = ("bisect", "bisection") if title is None else ("measuring", "commands")
        title = title or run_title(inputs["bisection"], inputs["dispatch"])
        with explained(f"start the {what} workflow"):
            try:
                # After a lost answer, search for the run by its title before sending again.
                return post_once(self._client, post=lambda: self._post(inputs), find=lambda: self.find(title))
            except GithubException as error:
                if error.status not in (404, 422) or protection_step(message_of(error)):
                    raise
                raise ConfigError(
                    f"GitHub does not start it: {message_of(error)}",
                    place=f"{WORKFLOW_FOLDER}/{self._workflow} on {self._ref}",
                    next_step=f"add the {what} workflow to the default branch, with the inputs of docs/{page}.md, "
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
        # A server that accepts the parameter but does not return the run answers without a body.
        return started.id if isinstance(started, WorkflowRun) else None

    def find(self, title: str) -> int | None:
        """Return the newest run of the bisect workflow with this title."""
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
        """Download an artifact. If it is broken or too large, only this one is lost."""
        try:
            return RunArtifact(name=artifact.name, zip_bytes=download(self._client, artifact, limits=self._limits))
        except DataError as error:
            return RunArtifact(name=artifact.name, problem=error.message)

    def _run(self, run_id: int) -> dict[str, Any] | None:
        with explained("look at the bisect workflow's run"):
            try:
                run = _read_run(self._client, run_id)
            except GithubException as error:
                if error.status == 404:
                    return None
                raise
            return {name: run[name] for name in READ_OF_RUN}

    def _is_ours(self, run: Mapping[str, Any]) -> bool:
        """Whether a dispatch ran the workflow's file on our branch, so that the title cannot be a stranger's."""
        path = str(run["path"]).partition("@")[0]
        ours = ("workflow_dispatch", self._ref, f"{WORKFLOW_FOLDER}/{self._workflow}")
        return (run["event"], run["head_branch"], path) == ours


def _read_run(client: Client, run_id: int) -> dict[str, Any]:
    url = f"{client.repository.url}/actions/runs/{run_id}"
    return dict(client.repository.requester.requestJsonAndCheck("GET", url)[1])


def read_run(client: Client, *, run_id: int) -> Mapping[str, Any]:
    with explained(f"read workflow run {run_id}"):
        return _read_run(client, run_id)


def dispatcher(client: Client, *, workflow: str, ref: str) -> GitHubDispatcher:
    return GitHubDispatcher(client, workflow=workflow, ref=ref)
