"""release.yml from its first step to its last, except calls that leave this machine; then its publications."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.git_repository import ENVIRONMENT, run_git
from tests.support.own_environment import PROJECT, own_environment, run
from tests.support.workflows.expressions import as_text, condition, fill

pytestmark = pytest.mark.slow  # builds wheel and sdist, and installs the wheel
VERSION = "9.8.7"
DIGEST = f"sha256:{'ab' * 32}"
# Bytes: as measured on 2026-11-29 (1,392,498 and 5,195,004) and a fifth more.
MOST_OF_WHEEL, MOST_OF_SDIST = 1_671_000, 6_234_000
IN_WHEEL = {".py", ".j2", ".yml", ".typed"}
IN_SDIST = {
    *(".ci", ".dockerignore", ".github", ".gitignore", "CHANGELOG.md", "Dockerfile", "LICENSE", "PKG-INFO"),
    *(
        "README.md",
        "SECURITY.md",
        "action.yml",
        "benchmarks",
        "bot",
        "docs",
        "noxfile.py",
        "pyproject.toml",
        "server.json",
    ),
    "tests",
}
# Calls that leave the machine are only recorded; this environment replaces installing. `$0` is the called name.
STAND_IN = f"""#!/bin/sh
printf '%s\\n' "$(basename "$0") $*" >> "$CALLS"
case "$(basename "$0") $*" in
  "docker buildx build "*) echo '{{"containerimage.digest": "{DIGEST}"}}' > metadata.json ;;
  "python3 -m venv "*) mkdir -p "$3/bin"; for tool in pip hatchling twine; do ln -s "$0" "$3/bin/$tool"; done ;;
  python3*) exec "{sys.executable}" "$@" ;;
  hatchling*) exec "{sys.executable}" -m hatchling "$@" ;;
  "twine check"*) exec "{sys.executable}" -m twine "$@" ;;
esac
"""


@dataclass(frozen=True)
class Released:
    """A dry run: `origin` received the pushes, `dist` has the build, `calls` would have left the machine."""

    origin: Path
    dist: Path
    calls: list[str]


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Released:
    folder = tmp_path_factory.mktemp("release")
    origin, programs, calls = folder / "origin.git", folder / "programs", folder / "calls"
    programs.mkdir()
    for name in ("docker", "gh", "python3", "sudo"):
        (programs / name).write_text(STAND_IN)
        (programs / name).chmod(0o755)
    commit_files(folder / "source", origin)
    workflow = yaml.safe_load((PROJECT / ".github/workflows/release.yml").read_text(encoding="utf-8"))
    needs: dict[str, Any] = {}
    for name, job in workflow["jobs"].items():
        needed = job.get("needs", [])
        assert set([needed] if isinstance(needed, str) else needed) <= set(needs)
        contexts = {
            "github": {"ref": "refs/heads/main", "repository": "perf-culprit/perf-culprit", "token": "t", "actor": "a"},
            "inputs": {"version": VERSION},
            "needs": needs,
            "steps": {},
        }
        assert condition(job.get("if", True), contexts)
        run_git(folder, "clone", "--quiet", str(origin), name)
        environment = {
            **{key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTEST_ADDOPTS")},
            **ENVIRONMENT,
            "PATH": f"{programs}{os.pathsep}{ENVIRONMENT['PATH']}",
            "CALLS": str(calls),
            "GITHUB_REPOSITORY": "perf-culprit/perf-culprit",
            "GITHUB_SHA": run_git(origin, "rev-parse", "main").strip(),
            "RUNNER_TEMP": str(folder / f"temp-{name}"),
        }
        for step in job["steps"]:
            do(step, contexts, folder / name, folder / "artifact", environment)
        needs[name] = {"outputs": fill(job.get("outputs", {}), contexts)}
    return Released(origin=origin, dist=folder / "artifact" / "dist", calls=calls.read_text().splitlines())


def commit_files(source: Path, origin: Path) -> None:
    """The files of this work tree, as main."""
    files = run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=PROJECT).splitlines()
    for file in files:
        if (PROJECT / file).is_file():
            (source / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(PROJECT / file, source / file)
    run_git(source, "init", "--quiet", "--initial-branch=main")
    run_git(source, "add", "--all")
    run_git(source, "commit", "--quiet", "--message", "all")
    run_git(source, "clone", "--quiet", "--bare", str(source), str(origin))


def do(
    step: Mapping[str, Any], contexts: dict[str, Any], workspace: Path, artifact: Path, environment: Mapping[str, str]
) -> None:
    action = step.get("uses", "").partition("@")[0]
    if action == "actions/upload-artifact":
        shutil.copytree(workspace / step["with"]["path"], artifact)
    elif action == "actions/download-artifact":
        shutil.copytree(artifact, workspace / step["with"]["path"])
    elif "run" in step:
        output = workspace.parent / "output"
        output.write_text("")
        given = {name: as_text(value) for name, value in fill(step.get("env", {}), contexts).items()}
        done = subprocess.run(
            ["bash", "-e", "-c", step["run"]],
            cwd=workspace,
            env={**environment, **given, "GITHUB_OUTPUT": str(output)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{step['run']}\n{done.stdout}\n{done.stderr}"
        contexts["steps"][step.get("id")] = {
            "outputs": dict(line.split("=", 1) for line in output.read_text().splitlines())
        }
    else:
        assert action == "actions/checkout"


def test_it_publishes_in_the_order_that_can_be_undone_longest(released: Released) -> None:
    leaving = [call for call in released.calls if call.startswith(("docker buildx build", "gh ", "twine upload"))]
    image, release, upload = leaving
    assert f"--tag ghcr.io/perf-culprit/perf-culprit:{VERSION} ." in image
    assert release == f"gh release create v{VERSION} --notes-file release/notes.md"
    built = " ".join(f"release/dist/perf_culprit-{VERSION}{end}" for end in ("-py3-none-any.whl", ".tar.gz"))
    assert upload == f"twine upload --non-interactive {built}"
    assert released.calls.index(leaving[1]) > next(
        index for index, call in enumerate(released.calls) if call.startswith("sudo --preserve-env=PERF_CULPRIT_IMAGE")
    )


def test_the_tags_and_main_are_the_commit_that_names_the_image(released: Released) -> None:
    commits = {run_git(released.origin, "rev-parse", f"{name}^{{commit}}") for name in (f"v{VERSION}", "v9", "main")}
    assert len(commits) == 1
    assert run_git(released.origin, "log", "-1", "--format=%s", "main").strip() == f"release: prepare {VERSION}"
    assert f"docker://ghcr.io/perf-culprit/perf-culprit@{DIGEST}" in run_git(released.origin, "show", "v9:action.yml")
    changelog = run_git(released.origin, "show", "v9:CHANGELOG.md")
    assert re.search(rf"^## Unreleased\n\n## {re.escape(VERSION)} - \d{{4}}-\d\d-\d\d$", changelog, re.MULTILINE)
    assert json.loads(run_git(released.origin, "show", "v9:server.json"))["version"] == VERSION


def test_what_the_wheel_holds(released: Released) -> None:
    (wheel,) = released.dist.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    about = f"perf_culprit-{VERSION}.dist-info/"
    assert {name for name in names if not name.startswith("perf_culprit/")} == {
        f"{about}{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")
    }
    assert {Path(name).suffix for name in names if not name.startswith(about)} <= IN_WHEEL
    assert [
        name for name in names if re.search(r"(^|/)(tests?|benchmarks|docs)/|/(test_\w+|conftest)\.py$", name)
    ] == []
    assert zipfile.ZipFile(wheel).read(f"{about}licenses/LICENSE") == (PROJECT / "LICENSE").read_bytes()
    assert wheel.stat().st_size <= MOST_OF_WHEEL


def test_what_the_sdist_holds(released: Released) -> None:
    (sdist,) = released.dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = archive.getnames()
    assert {name.split("/")[1] for name in names} == IN_SDIST
    assert sdist.stat().st_size <= MOST_OF_SDIST


def test_no_stray_file_gets_into_the_sdist(released: Released, tmp_path: Path) -> None:
    run_git(tmp_path, "clone", "--quiet", str(released.origin), "clone")
    clone = tmp_path / "clone"
    build = [sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", str(tmp_path / "dist")]
    stray = clone / "bot" / "secrets.env"
    stray.touch()
    refused = subprocess.run(build, cwd=clone, capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert "not tracked by git: bot/secrets.env" in refused.stderr
    stray.unlink()
    run(*build, cwd=clone)
    # Building from the sdist itself, without git, asks nobody.
    with tarfile.open(next((tmp_path / "dist").glob("*.tar.gz"))) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    run(*build, cwd=unpacked)


def test_the_wheel_alone_says_its_version_and_pins_its_commit(released: Released, tmp_path: Path) -> None:
    (wheel,) = released.dist.glob("*.whl")
    program = own_environment(tmp_path, wheel) / "perf-culprit"
    assert VERSION in run(program, "--version", cwd=tmp_path)
    assert "planted regression" in run(program, "demo", "--help", cwd=tmp_path)
    run_git(tmp_path, "init", "--quiet", "--initial-branch=main", "project")
    run(program, "init", "--run", "./bench", cwd=tmp_path / "project")
    commit = run_git(released.origin, "rev-parse", "main").strip()
    assert f"perf-culprit/perf-culprit@{commit}" in (tmp_path / "project/.github/workflows/perf.yml").read_text()


@pytest.mark.skipif(shutil.which("pipx") is None, reason="pipx is not installed")
def test_pipx_runs_the_wheel_without_installing_it(released: Released, tmp_path: Path) -> None:
    (wheel,) = released.dist.glob("*.whl")
    homes = {"PIPX_HOME": str(tmp_path / "home"), "PIPX_BIN_DIR": str(tmp_path / "bin")}
    told = run("pipx", "run", "--spec", wheel, "perf-culprit", "demo", "--help", cwd=tmp_path, more=homes)
    assert "planted regression" in told
