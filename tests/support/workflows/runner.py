"""A runner for workflow files: it does what GitHub does between an event and the end of a run, on this machine.

Bash runs `run:` steps with the runner's variables. `uses:` steps may be checkout (a clone from the fake),
upload-artifact (into the fake), and our own action, here or in its container. This environment replaces installing
(`pip` on the PATH is a stand-in); everything else in a step is the file's.
"""

import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, Protocol

import pytest
import yaml

from perf_culprit import __version__
from tests.support.fake_github.permissions import SCOPE_NAMES
from tests.support.fake_github.server import BOT_TOKEN, FakeGitHub
from tests.support.fake_github.state import REPOSITORY_ID
from tests.support.git_repository import ENVIRONMENT, init_repository, run_git
from tests.support.job import Runner, zipped
from tests.support.served import served_program
from tests.support.workflows.expressions import as_text, condition, fill

PROJECT: Final = Path(__file__).parents[3]
OWN_REPOSITORY: Final = "perf-culprit/perf-culprit"
CALLED: Final = f"{OWN_REPOSITORY}/.github/workflows/"
OWN_CHECKOUT: Final = ".perf-culprit"
PROGRAM: Final = Path(sys.executable).parent / "perf-culprit"
# These commands put the served program onto the PATH.
INSTALL: Final = """
mkdir "$RUNNER_TEMP/path"
ln -s "PROGRAM" "$RUNNER_TEMP/path/perf-culprit"
echo "$RUNNER_TEMP/path" >> "$GITHUB_PATH"
"""
# It installs nothing but perf-culprit of this version.
PIP: Final = f"""#!/bin/sh
[ "$1" = install ] || exit 1
for argument; do
  case $argument in
    perf-culprit=={__version__}) ln -sf "PROGRAM" "$(dirname "$0")/perf-culprit" ;;
    perf-culprit*) echo "no such version: $argument" >&2; exit 1 ;;
  esac
done
"""
# A token's remaining rights in a pull request from a fork.
READ_ONLY: Final = {"write": "read", "read": "read", "none": "none"}
# A step or job runs after a failed one only if its condition asks for that.
STATUS_FUNCTIONS: Final = ("always()", "cancelled()")


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """The event that started a workflow. `sha` and `ref` are the runner's, not the payload's."""

    name: str
    payload: Mapping[str, Any]
    sha: str
    ref: str = "refs/heads/main"
    base_ref: str = ""
    run_id: int = 55
    from_fork: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class JobRun:
    name: str
    permissions: Mapping[str, str]
    log: str
    failed: bool


class OwnAction(Protocol):
    """Runs our action as a step."""

    def __call__(
        self, place: "Place", inputs: Mapping[str, str], environment: Mapping[str, str]
    ) -> tuple[bool, str]: ...


@dataclass(frozen=True, slots=True)
class InThisProcess:
    runner: Runner

    @classmethod
    def with_files_in(
        cls, folder: Path, monkeypatch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]
    ) -> Callable[[FakeGitHub], "InThisProcess"]:
        """Return the maker of an action runner that `open_project` and `open_conversation` take."""
        return lambda fake: cls(
            Runner(fake=fake, workspace=folder, temp=folder, monkeypatch=monkeypatch, capture=capture)
        )

    def __call__(self, place: "Place", inputs: Mapping[str, str], environment: Mapping[str, str]) -> tuple[bool, str]:
        event, runner = place.event, self.runner
        runner.token, runner.workspace, runner.run_id = place.token, place.workspace, str(event.run_id)
        given = {name.replace("-", "_"): value for name, value in inputs.items()}
        with runner.monkeypatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            result = runner.run(event.name, event.payload, sha=event.sha, ref=event.ref, **given)
        return result.exit_code == 0, f"{result.log}\n{result.summary}"


@dataclass(kw_only=True, slots=True)
class WorkflowRunner:
    """A runner. `run:` steps get `variables` in addition to the runner's own, for benchmarks that keep a counter.

    `secrets` are the repository's; `programs` are shell scripts by name, in addition to this machine's programs.
    """

    fake: FakeGitHub
    own_action: OwnAction
    temp: Path
    variables: Mapping[str, str] = field(default_factory=dict)
    programs: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    count: int = 0

    def run(self, workflow: Mapping[str, Any], event: Event) -> list[JobRun]:
        """Run the jobs of a user's workflow, one after the other."""
        inputs = dict(event.payload.get("inputs") or {})
        contexts = {"github": self.github(event), "inputs": inputs, "secrets": {} if event.from_fork else self.secrets}
        done: list[JobRun] = []
        for name, job in workflow["jobs"].items():
            needs = job.get("needs", [])
            assert {needs} if isinstance(needs, str) else set(needs) <= set(workflow["jobs"])
            is_wanted = condition(job.get("if", True), contexts)
            runs_after_failure = any(each in str(job.get("if")) for each in STATUS_FUNCTIONS)
            if not is_wanted or (any(run.failed for run in done) and not runs_after_failure):
                continue
            permissions = job.get("permissions", workflow.get("permissions"))
            if permissions is None:  # the repository's default, which for Dependabot is to read
                level = "read" if event.payload["sender"]["login"] == "dependabot[bot]" else "write"
                permissions = dict.fromkeys(SCOPE_NAMES, level)
            if "uses" in job:
                done += self.call(job, contexts, event, permissions)
            else:
                done += self.jobs(name, job, contexts, event, permissions)
        return done

    def call(
        self, job: Mapping[str, Any], contexts: Mapping[str, Any], event: Event, granted: Mapping[str, str]
    ) -> Iterator[JobRun]:
        path, _, commit = job["uses"].partition("@")
        assert path.startswith(CALLED), path
        assert len(commit) == 40, commit
        called = yaml.safe_load((PROJECT / ".github" / "workflows" / path.removeprefix(CALLED)).read_text())
        declared = called[True]["workflow_call"]["inputs"]
        given = fill(job.get("with", {}), contexts)
        assert set(given) <= set(declared), set(given) - set(declared)
        missing = {name for name, about in declared.items() if about.get("required") and name not in given}
        assert not missing, missing
        inputs = {name: given.get(name, about.get("default", "")) for name, about in declared.items()}
        secrets = fill(job.get("secrets", {}), contexts)
        assert set(secrets) <= set(called[True]["workflow_call"].get("secrets", {}))
        for name, inner in called["jobs"].items():
            wanted = inner["permissions"]
            too_much = {scope for scope, level in wanted.items() if granted.get(scope) not in (level, "write")}
            assert not too_much, f"the caller does not grant {too_much}"
            yield from self.jobs(name, inner, {**contexts, "inputs": inputs, "secrets": secrets}, event, wanted)

    def jobs(
        self,
        name: str,
        job: Mapping[str, Any],
        contexts: Mapping[str, Any],
        event: Event,
        permissions: Mapping[str, str],
    ) -> Iterator[JobRun]:
        if not condition(job.get("if", True), contexts):
            return
        matrix = fill(job.get("strategy", {}).get("matrix", {}), contexts)
        ((axis, values),) = matrix.items() if matrix else (("", [None]),)
        for value in values:
            self.count += 1
            granted = {scope: READ_ONLY[level] if event.from_fork else level for scope, level in permissions.items()}
            token = self.fake.add_token(f"token-of-job-{self.count}", granted)
            place = Place(folder=self.temp / f"job-{self.count}", token=token, event=event)
            log, failed = self.job(job, {**contexts, "matrix": {axis: value}}, place)
            yield JobRun(name=name, permissions=permissions, log=log, failed=failed)

    def job(self, job: Mapping[str, Any], contexts: Mapping[str, Any], place: "Place") -> tuple[str, bool]:
        place.workspace.mkdir(parents=True)
        place.runner_temp.mkdir()
        place.install({"pip": PIP.replace("PROGRAM", str(served_program())), **self.programs})
        github = {**contexts["github"], "token": place.token}
        own = {"workflow_repository": OWN_REPOSITORY, "workflow_sha": "0" * 40}
        scope = {**contexts, "github": github, "job": own, "runner": {"temp": str(place.runner_temp)}, "steps": {}}
        logs: list[str] = []
        failed = False
        for step in job["steps"]:
            wanted = step.get("if", True)
            runs_after_failure = any(name in str(wanted) for name in STATUS_FUNCTIONS)
            if not condition(wanted, scope) or (failed and not runs_after_failure):
                continue
            ok, log = self.step(step, scope, place)
            logs.append(log)
            failed = failed or not (ok or step.get("continue-on-error", False))
        return "\n".join(logs), failed

    def step(self, step: Mapping[str, Any], contexts: Mapping[str, Any], place: "Place") -> tuple[bool, str]:
        if "run" in step:
            return self.bash(step, contexts, place)
        action = step["uses"].partition("@")[0]
        given = fill(step.get("with", {}), contexts)
        if action == "actions/checkout":
            return True, self.checkout(given, place)
        if action == "actions/upload-artifact":
            return self.upload(given, place)
        if action == "actions/download-artifact":
            return True, self.download(given, place)
        if action != OWN_REPOSITORY:
            assert action == f"./{OWN_CHECKOUT}", action
            assert (place.workspace / OWN_CHECKOUT / "action.yml").is_file()
        environment = {name: as_text(value) for name, value in fill(step.get("env", {}), contexts).items()}
        return self.own_action(place, {name: str(value) for name, value in given.items()}, environment)

    def bash(self, step: Mapping[str, Any], contexts: Mapping[str, Any], place: "Place") -> tuple[bool, str]:
        script = place.runner_temp / "script.sh"
        assert "${{" not in step["run"], "nothing is inserted into a script"
        installing = INSTALL.replace("PROGRAM", str(served_program()))
        script.write_text(installing if step.get("id") == "install" else step["run"])
        environment = {
            "PATH": os.pathsep.join([*place.added_paths(), str(place.programs), ENVIRONMENT["PATH"]]),
            "HOME": str(place.folder),
            "CI": "true",
            "RUNNER_TEMP": str(place.runner_temp),
            "GITHUB_PATH": str(place.folder / "path"),
            "GITHUB_OUTPUT": str(place.folder / "output"),
            **self.github_variables(place),
            **self.variables,
            **{name: as_text(value) for name, value in fill(step.get("env", {}), contexts).items()},
        }
        finished = subprocess.run(
            ["bash", "-e", str(script)],
            cwd=place.workspace,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=1200,  # no limit of a test: what measures ends itself after its --minutes
        )
        if (stored := place.folder / "output").is_file():
            outputs = dict(line.split("=", 1) for line in stored.read_text().splitlines())
            contexts["steps"][step["id"]] = {"outputs": outputs}
            stored.unlink()
        return finished.returncode == 0, finished.stdout + finished.stderr

    def checkout(self, given: Mapping[str, Any], place: "Place") -> str:
        assert given["persist-credentials"] is False
        if given.get("repository") == OWN_REPOSITORY:
            target = place.workspace / given["path"]
            target.mkdir()
            (target / "action.yml").symlink_to(PROJECT / "action.yml")
            return f"checked out {OWN_REPOSITORY}"
        address = self.fake.url.removeprefix("http://")
        url = f"http://x-access-token:{place.token}@{address}/{self.fake.repository}.git"
        workspace = place.workspace
        commit = given.get("ref") or place.event.sha
        branches = "+refs/heads/*:refs/remotes/origin/*"
        init_repository(workspace)
        run_git(workspace, "fetch", "--quiet", url, branches, "+refs/tags/*:refs/tags/*", commit)
        run_git(workspace, "checkout", "--quiet", "--detach", commit)
        with (workspace / ".git/config").open("a") as config:
            config.write(
                f'[remote "origin"]\n\turl = {self.fake.url}/{self.fake.repository}.git\n\tfetch = {branches}\n'
            )
        return f"checked out {commit}"

    def download(self, given: Mapping[str, Any], place: "Place") -> str:
        """Download artifacts of this run into a folder of the workspace: the named one, or all that match a pattern."""
        artifacts = [
            artifact
            for artifact in self.fake.state.artifacts.values()
            if artifact.run_id == place.event.run_id and fnmatchcase(artifact.name, given.get("pattern", artifact.name))
        ]
        if "name" in given:
            artifacts = [artifact for artifact in artifacts if artifact.name == given["name"]]
            assert len(artifacts) == 1
        for artifact in artifacts:
            own = "" if "name" in given or given.get("merge-multiple") else artifact.name
            with zipfile.ZipFile(io.BytesIO(artifact.zip_bytes)) as archive:
                archive.extractall(place.workspace / given["path"] / own)
        return f"downloaded {[artifact.name for artifact in artifacts]}"

    def upload(self, given: Mapping[str, Any], place: "Place") -> tuple[bool, str]:
        name, path = str(given.get("name", "")), place.workspace / given["path"]
        if given.get("archive") is False:  # what GitHub shows in the browser: one file, under its own name
            assert path.is_file()
            name = path.name
        if "*" in path.name:
            path, pattern = path.parent, path.name
        else:
            pattern = "*"
        files = [path] if path.is_file() else sorted(file for file in path.rglob(pattern) if file.is_file())
        if not files:
            return given.get("if-no-files-found") == "ignore", "no files were found"
        root = path if path.is_dir() else path.parent
        content = {str(file.relative_to(root)): file.read_bytes() for file in files}
        self.fake.state.add_artifact(
            name=name,
            run_id=place.event.run_id,
            head_sha=self.fake.state.runs[place.event.run_id].head_sha,
            zip_bytes=zipped(content),
        )
        return True, f"uploaded {name}"

    def github(self, event: Event) -> dict[str, Any]:
        return {
            "event_name": event.name,
            "event": event.payload,
            "sha": event.sha,
            "ref": event.ref,
            "repository": self.fake.repository,
            "token": BOT_TOKEN,
        }

    def github_variables(self, place: "Place") -> dict[str, str]:
        event = place.event
        return {
            "GITHUB_ACTIONS": "true",
            "GITHUB_API_URL": self.fake.api_url,
            "GITHUB_SERVER_URL": self.fake.url,
            "GITHUB_REPOSITORY": self.fake.repository,
            "GITHUB_REPOSITORY_ID": str(REPOSITORY_ID),
            "GITHUB_WORKSPACE": str(place.workspace),
            "GITHUB_EVENT_NAME": event.name,
            "GITHUB_EVENT_PATH": str(place.event_file()),
            "GITHUB_SHA": event.sha,
            "GITHUB_REF": event.ref,
            "GITHUB_BASE_REF": event.base_ref,
            "GITHUB_RUN_ID": str(event.run_id),
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A job's machine."""

    folder: Path
    token: str
    event: Event

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    @property
    def runner_temp(self) -> Path:
        return self.folder / "temp"

    @property
    def programs(self) -> Path:
        return self.folder / "programs"

    def install(self, programs: Mapping[str, str]) -> None:
        self.programs.mkdir()
        for name, script in programs.items():
            (self.programs / name).write_text(script)
            (self.programs / name).chmod(0o755)

    def event_file(self) -> Path:
        file = self.folder / "event.json"
        file.write_text(json.dumps(self.event.payload))
        return file

    def added_paths(self) -> list[str]:
        file = self.folder / "path"
        return file.read_text().split() if file.exists() else []
