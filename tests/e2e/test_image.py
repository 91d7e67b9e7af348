"""The image itself: complete, with minimal rights, and independent of the workspace."""

import json
import re
from pathlib import Path

from tests.support.container.podman import podman

# Bytes: as measured on 2026-11-26 (8,747,170 and 337,300,697) and a fifth more.
MOST_OF_OURS, MOST_OF_PACKAGES = 10_500_000, 404_800_000

# Any user, nothing writable, no network: as little as a container can have.
BARE = ("run", "--rm", "--user=4711:4711", "--read-only", "--network=none")
# The modules that the modes load, each with all its imports.
MODES = (
    "action.modes",
    "action.comment_command",
    "cli.entry",
    "flows.compare",
    "action.jobs.stored_results",
    "flows.record",
)
STAGES = ", ".join(f"perf_culprit.{module}" for module in MODES)


def test_image_starts_as_github_demands(action_image: str) -> None:
    inspected = podman("image", "inspect", "--format", "{{json .Config}}", action_image)
    config = json.loads(inspected.stdout)
    assert not config.get("User"), "the runner's files belong to somebody else: GitHub demands root at the start"
    assert config.get("WorkingDir") in {None, "", "/"}, "the runner sets the working directory"
    assert config["Entrypoint"] == ["/usr/local/bin/python", "-I", "-B", "-u", "-m", "perf_culprit.action"]
    assert not config.get("Cmd")


def test_nothing_is_compiled_at_the_start(action_image: str) -> None:
    code = f"import {STAGES}, scipy.stats, scipy.special, github, jinja2, pydantic, yaml"
    imported = podman(*BARE, "--entrypoint=python", action_image, "-I", "-B", "-v", "-c", code)
    assert imported.returncode == 0, imported.stderr[-2000:]
    loaded = re.findall(r"code object from '?([^'\n]+)'?$", imported.stderr, flags=re.MULTILINE)
    assert any(path.endswith(".pyc") and "/perf_culprit/" in path for path in loaded)
    assert [path for path in loaded if path.endswith(".py")] == []


def test_workspace_cannot_replace_modules(action_image: str, workspace: Path) -> None:
    for module in ("json", "numpy", "perf_culprit"):
        (workspace / f"{module}.py").write_text("raise SystemExit('the workspace ran as code')")
    ran = podman(
        "run",
        "--rm",
        f"--volume={workspace}:/github/workspace:ro",
        "--workdir=/github/workspace",
        "--env=PYTHONPATH=/github/workspace",
        "--entrypoint=/usr/local/bin/python",
        action_image,
        *("-I", "-B", "-u", "-c", "import json, numpy, perf_culprit; print(perf_culprit.__file__)"),
    )
    assert ran.stderr == ""
    assert ran.stdout == "/opt/perf-culprit/bot/perf_culprit/__init__.py\n"


def test_image_holds_git_and_no_tests(action_image: str) -> None:
    script = "git --version && ls /opt/perf-culprit && find / -xdev -path '*-packages*' -type d -name tests"
    listed = podman(*BARE, "--entrypoint=sh", action_image, "-c", script)
    version, *rest = listed.stdout.splitlines()
    assert version.startswith("git version 2.")
    assert rest == ["LICENSE", "bot", "runtime.txt"]


def test_what_the_image_adds_to_its_base_is_licensed_and_bounded(action_image: str) -> None:
    # A licence file is in the metadata folder that each package has next to its modules.
    script = """
site=$(python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
du -sb /opt/perf-culprit "$site" | cut -f1
find "$site" -path '*.dist-info/*' -iname '*licen[cs]e*' | sed 's|.*/\\([^/]*\\)\\.dist-info/.*|\\1|' | sort -u | wc -l
ls -d "$site"/*.dist-info | wc -l
"""
    shown = podman(*BARE, "--entrypoint=sh", action_image, "-c", script).stdout
    ours, packages, licensed, all_packages = map(int, shown.split())
    assert ours <= MOST_OF_OURS
    assert packages <= MOST_OF_PACKAGES
    assert licensed == all_packages > 30
