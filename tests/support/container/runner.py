"""One step `uses: <docker action>`, as actions/runner 2.336 runs it: mounts, environment, file commands, owner 1001.

Sources: ContainerActionHandler.cs, DockerCommandManager.cs, FileCommandManager.cs, GitHubContext.cs of actions/runner.
"""

import json
import re
import subprocess
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from tests.support.container.file_commands import parse_file_commands
from tests.support.container.podman import podman

RUNNER_UID = 1001
SUMMARY_LIMIT_BYTES = 1 << 20

# Variable suffix -> prefix of the file's name, as the runner names them.
_FILE_COMMANDS = {
    "ENV": "set_env",
    "OUTPUT": "set_output",
    "PATH": "add_path",
    "STATE": "save_state",
    "STEP_SUMMARY": "step_summary",
}
_EXPRESSION = re.compile(r"\$\{\{ *(inputs|github)\.([\w -]+?) *\}\}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """The settings of one run of the action that come from the workflow and the event."""

    event_name: str
    event: Mapping[str, object]
    api_url: str = "https://api.github.com"
    token: str = "bot"
    inputs: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    repository: str = "octocat/hello"
    sha: str = "0" * 40
    ref: str = "refs/heads/main"
    # None is podman's bridge, as on GitHub: the host is host.containers.internal there. "host" shares 127.0.0.1.
    network: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class StepResult:
    exit_code: int
    stdout: str
    stderr: str
    outputs: Mapping[str, str]
    exported: Mapping[str, str]
    state: Mapping[str, str]
    summary: str
    elapsed_s: float


def run_action(image: str, *, action_file: Path, workspace: Path, step: Step, timeout_s: float = 300) -> StepResult:
    """Run the step in `workspace`, whose whole contents are chowned to uid 1001.

    Raises:
        ValueError: the action wrote a file command or a summary that the runner refuses, or the step has an input
            that action.yml does not know.
        subprocess.TimeoutExpired: after `timeout_s`; the container is removed then.
    """
    metadata = yaml.safe_load(action_file.read_text())
    inputs = _input_values(metadata, step)
    with TemporaryDirectory(prefix="runner_temp_") as temp:
        layout = _Layout.create(Path(temp), step=step)
        subprocess.run(["chown", "-R", f"{RUNNER_UID}:{RUNNER_UID}", temp, str(workspace)], check=True)
        environment = _environment(step, layout=layout) | _input_variables(inputs)
        for name, value in (metadata["runs"].get("env") or {}).items():
            environment[name] = _evaluate(str(value), inputs=inputs, step=step)
        arguments = [_evaluate(str(value), inputs=inputs, step=step) for value in metadata["runs"].get("args") or ()]
        options = ["--workdir", "/github/workspace", "--rm"]
        options += [f"--env={name}={value}" for name, value in (environment | dict(step.environment)).items()]
        if entrypoint := metadata["runs"].get("entrypoint"):
            options += ["--entrypoint", entrypoint]
        if step.network:
            options += ["--network", step.network]
        options += [f"--volume={host}:{inside}" for host, inside in layout.mounts(workspace)]
        started = time.monotonic()
        finished = _run_container([*options, image, *arguments], timeout_s=timeout_s)
        elapsed_s = time.monotonic() - started
        summary = layout.read("STEP_SUMMARY")
        if len(summary.encode()) > SUMMARY_LIMIT_BYTES:
            raise ValueError("the job summary is over 1 MiB; the runner drops it")
        return StepResult(
            exit_code=finished.returncode,
            stdout=finished.stdout,
            stderr=finished.stderr,
            outputs=parse_file_commands(layout.read("OUTPUT")),
            exported=parse_file_commands(layout.read("ENV")),
            state=parse_file_commands(layout.read("STATE")),
            summary=summary,
            elapsed_s=elapsed_s,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Layout:
    """The runner's temporary folder. The files of file commands exist and are empty before the action starts."""

    temp: Path
    names: Mapping[str, str]

    @classmethod
    def create(cls, temp: Path, *, step: Step) -> "_Layout":
        names = {suffix: f"{prefix}_{uuid.uuid4()}" for suffix, prefix in _FILE_COMMANDS.items()}
        layout = cls(temp=temp, names=names)
        for folder in ("_github_home", "_github_workflow", "_runner_file_commands"):
            (temp / folder).mkdir()
        for name in names.values():
            (temp / "_runner_file_commands" / name).touch()
        (temp / "_github_workflow" / "event.json").write_text(json.dumps(step.event))
        return layout

    def read(self, suffix: str) -> str:
        return (self.temp / "_runner_file_commands" / self.names[suffix]).read_text()

    def mounts(self, workspace: Path) -> list[tuple[Path, str]]:
        return [
            (self.temp, "/github/runner_temp"),
            (self.temp / "_github_home", "/github/home"),
            (self.temp / "_github_workflow", "/github/workflow"),
            (self.temp / "_runner_file_commands", "/github/file_commands"),
            (workspace, "/github/workspace"),
        ]


def _input_values(metadata: Mapping[str, Any], step: Step) -> dict[str, str]:
    inputs = metadata.get("inputs") or {}
    if unexpected := set(step.inputs) - set(inputs):
        raise ValueError(f"action.yml knows no input {sorted(unexpected)}")
    defaults = {name: str((about or {}).get("default", "")) for name, about in inputs.items()}
    return {
        name: step.inputs[name] if name in step.inputs else _evaluate(default, inputs={}, step=step)
        for name, default in defaults.items()
    }


def _input_variables(inputs: Mapping[str, str]) -> dict[str, str]:
    # Blanks become underscores, hyphens stay: INPUT_GITHUB-TOKEN.
    return {f"INPUT_{name.replace(' ', '_').upper()}": value for name, value in inputs.items()}


def _evaluate(text: str, *, inputs: Mapping[str, str], step: Step) -> str:
    """Evaluate expressions with the two contexts that a docker action's action.yml may use: inputs and github."""
    github = {"token": step.token, "repository": step.repository, "sha": step.sha, "ref": step.ref}

    def value(result: re.Match[str]) -> str:
        return (inputs if result[1] == "inputs" else github).get(result[2], "")

    return _EXPRESSION.sub(value, text)


def _environment(step: Step, *, layout: _Layout) -> dict[str, str]:
    owner = step.repository.partition("/")[0]
    server_url = step.api_url.removesuffix("/api/v3")
    github = {
        "ACTION": "__self",
        "ACTIONS": "true",
        "ACTOR": "octocat",
        "ACTOR_ID": "1",
        "API_URL": step.api_url,
        "BASE_REF": "",
        "EVENT_NAME": step.event_name,
        "EVENT_PATH": "/github/workflow/event.json",
        "GRAPHQL_URL": f"{step.api_url}/graphql",
        "HEAD_REF": "",
        "JOB": "bot",
        "REF": step.ref,
        "REF_NAME": step.ref.split("/", 2)[-1],
        "REF_PROTECTED": "false",
        "REF_TYPE": "branch",
        "REPOSITORY": step.repository,
        "REPOSITORY_ID": "1",
        "REPOSITORY_OWNER": owner,
        "REPOSITORY_OWNER_ID": "1",
        "RETENTION_DAYS": "90",
        "RUN_ATTEMPT": "1",
        "RUN_ID": "55",
        "RUN_NUMBER": "1",
        "SERVER_URL": server_url,
        "SHA": step.sha,
        "TRIGGERING_ACTOR": "octocat",
        "WORKFLOW": "perf",
        "WORKFLOW_REF": f"{step.repository}/.github/workflows/perf.yml@{step.ref}",
        "WORKFLOW_SHA": step.sha,
        "WORKSPACE": "/github/workspace",
    }
    github |= {suffix: f"/github/file_commands/{name}" for suffix, name in layout.names.items()}
    runner = {
        "ARCH": "X64",
        "ENVIRONMENT": "github-hosted",
        "NAME": "local",
        "OS": "Linux",
        "TEMP": "/github/runner_temp",
        "TOOL_CACHE": "/opt/hostedtoolcache",
        "WORKSPACE": "/home/runner/work/hello",
    }
    # The runner hands its own service's address and token to every action; nothing listens here.
    service = dict.fromkeys(("ACTIONS_RUNTIME_URL", "ACTIONS_RESULTS_URL"), "http://127.0.0.1:1/")
    return (
        {"CI": "true", "HOME": "/github/home", "ACTIONS_RUNTIME_TOKEN": "x"}
        | service
        | {f"GITHUB_{name}": value for name, value in github.items()}
        | {f"RUNNER_{name}": value for name, value in runner.items()}
    )


def _run_container(arguments: list[str], *, timeout_s: float) -> subprocess.CompletedProcess[str]:
    name = f"perf-culprit-{uuid.uuid4().hex[:8]}"
    try:
        return podman("run", "--name", name, *arguments, timeout_s=timeout_s)
    except subprocess.TimeoutExpired:
        podman("rm", "--force", "--time", "0", name)
        raise
