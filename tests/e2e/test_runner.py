"""The harness against known behaviour of the real runner, with Python code instead of the action."""

import subprocess
from pathlib import Path

import pytest
import yaml

from tests.support.container.podman import podman
from tests.support.container.runner import RUNNER_UID, Step, StepResult, run_action


def run_code(image: str, code: str, *, workspace: Path, step: Step, timeout_s: float = 60) -> StepResult:
    """An action whose entry point is Python and whose first argument is `code`."""
    metadata = {
        "name": "stand-in",
        "inputs": {"github-token": {"default": "${{ github.token }}"}, "two words": {"default": "none"}},
        "runs": {
            "using": "docker",
            "image": "Dockerfile",
            "entrypoint": "/usr/local/bin/python",
            "args": ["-I", "-c", code, "${{ inputs.two words }}", "${{ inputs.github-token }}"],
        },
    }
    action_file = workspace.parent / "action.yml"
    action_file.write_text(yaml.safe_dump(metadata))
    return run_action(image, action_file=action_file, workspace=workspace, step=step, timeout_s=timeout_s)


def test_step_sees_inputs_event_and_mounts(action_image: str, workspace: Path) -> None:
    code = """
import json, os, pathlib, sys
event = json.load(open(os.environ["GITHUB_EVENT_PATH"]))
with open(os.environ["GITHUB_OUTPUT"], "a") as output:
    for name, value in {
        "token": os.environ["INPUT_GITHUB-TOKEN"],
        "words": os.environ["INPUT_TWO_WORDS"],
        "argument": sys.argv[2],
        "action": event["action"],
        "cwd": os.getcwd(),
        "home": os.environ["HOME"],
        "owner": os.stat(".").st_uid,
        "uid": os.getuid(),
        "github_token": os.environ.get("GITHUB_TOKEN"),
    }.items():
        output.write(f"{name}={value}\\n")
with open(os.environ["GITHUB_STEP_SUMMARY"], "a") as summary:
    summary.write("# Fine\\n")
pathlib.Path("made").touch()
print("out")
print("err", file=sys.stderr)
sys.exit(3)
"""
    step = Step(event_name="push", event={"action": "opened"}, token="secret", inputs={"two words": "a b"})
    result = run_code(action_image, code, workspace=workspace, step=step)
    assert (result.exit_code, result.stdout, result.stderr) == (3, "out\n", "err\n")
    assert result.outputs == {
        "token": "secret",
        "words": "a b",
        "argument": "secret",
        "action": "opened",
        "cwd": "/github/workspace",
        "home": "/github/home",
        "owner": str(RUNNER_UID),
        "uid": "0",
        "github_token": "None",
    }
    assert result.summary == "# Fine\n"
    assert (workspace / "made").stat().st_uid == 0


def test_git_refuses_the_workspace_for_root_only(action_image: str, workspace: Path) -> None:
    """Git's refusal is the reason why the action becomes the workspace's owner."""
    subprocess.run(["git", "init", "--quiet", str(workspace)], check=True)
    code = """
import os, subprocess
status = ["git", "status", "--porcelain"]
as_root = subprocess.run(status, capture_output=True, text=True)
print(as_root.returncode, "dubious ownership" in as_root.stderr)
os.setgroups([]), os.setgid(os.stat(".").st_gid), os.setuid(os.stat(".").st_uid)
print(subprocess.run(status).returncode)
"""
    result = run_code(action_image, code, workspace=workspace, step=Step(event_name="push", event={}))
    assert result.stdout.split() == ["128", "True", "0"]


def test_unknown_input_is_an_error(action_image: str, workspace: Path) -> None:
    step = Step(event_name="push", event={}, inputs={"tokn": "x"})
    with pytest.raises(ValueError, match="tokn"):
        run_code(action_image, "", workspace=workspace, step=step)


def test_broken_output_is_an_error(action_image: str, workspace: Path) -> None:
    code = "import os; open(os.environ['GITHUB_OUTPUT'], 'a').write('no equals sign\\n')"
    with pytest.raises(ValueError, match="no equals sign"):
        run_code(action_image, code, workspace=workspace, step=Step(event_name="push", event={}))


def test_timeout_ends_the_container(action_image: str, workspace: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        run_code(
            action_image,
            "import time; time.sleep(60)",
            workspace=workspace,
            step=Step(event_name="push", event={}),
            timeout_s=3,
        )
    left = podman("ps", "--all", "--quiet", "--filter", f"volume={workspace}")
    assert left.stdout == ""
