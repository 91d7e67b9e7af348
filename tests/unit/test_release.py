"""A release prepared on a copy: the content of the tag's commit, and the versions to which the wheel is pinned."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

PROJECT = Path(__file__).parents[2]
DIGEST = f"sha256:{'ab' * 32}"
COMMIT = "c" * 40


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in (
        ".ci/release.py",
        "CHANGELOG.md",
        "README.md",
        "action.yml",
        "server.json",
        "bot/perf_culprit/__init__.py",
        "bot/perf_culprit/release.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PROJECT / name, tmp_path / name)
    shutil.copytree(PROJECT / "docs", tmp_path / "docs")
    shutil.copytree(PROJECT / "bot/perf_culprit/init/templates", tmp_path / "bot/perf_culprit/init/templates")
    return tmp_path


def release(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(copy / ".ci" / "release.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_dry_run_of_a_release(copy: Path) -> None:
    assert release(copy, "number", "7.8.9").returncode == 0
    prepared = release(copy, "prepare", "7.8.9", "--image", DIGEST, "--day", "2030-01-02")
    assert prepared.returncode == 0, prepared.stderr
    action = yaml.safe_load((copy / "action.yml").read_text())
    assert action["runs"] == {"using": "docker", "image": f"docker://ghcr.io/perf-culprit/perf-culprit@{DIGEST}"}
    assert '__version__ = "7.8.9"' in (copy / "bot/perf_culprit/__init__.py").read_text()
    assert (copy / "server.json").read_text().count("7.8.9") == 3
    assert "perf-culprit==7.8.9" in (copy / "docs/github.md").read_text()
    assert "## Unreleased\n\n## 7.8.9 - 2030-01-02\n\n### " in (copy / "CHANGELOG.md").read_text()
    assert release(copy, "notes").stdout.startswith("### ")
    assert "0" * 40 in (copy / "README.md").read_text()
    pinned = release(copy, "pin", COMMIT)
    assert pinned.returncode == 0, pinned.stderr
    assert f'COMMIT: Final = "{COMMIT}"' in (copy / "bot/perf_culprit/release.py").read_text()
    left = [path for path in copy.rglob("*") if path.suffix in (".md", ".yml") and "0" * 40 in path.read_text()]
    assert left == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("prepare", "1.0", "--image", DIGEST),
        ("prepare", "1.0.0", "--image", "latest"),
        ("pin", "0" * 40),
        ("pin", "v1"),
    ],
)
def test_what_is_no_release_changes_nothing(copy: Path, arguments: tuple[str, ...]) -> None:
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    refused = release(copy, *arguments)
    assert refused.returncode == 1
    assert refused.stderr
    assert {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()} == before


def test_nothing_is_released_without_changes(copy: Path) -> None:
    assert release(copy, "prepare", "7.8.9", "--image", DIGEST).returncode == 0
    assert "nothing stands under Unreleased" in release(copy, "prepare", "7.9.0", "--image", DIGEST).stderr


def pins(name: str) -> dict[str, str]:
    """Package -> version of a requirements file, with normalized package names."""
    lines = (PROJECT / ".ci/requirements" / name).read_text(encoding="utf-8").splitlines()
    result = (re.match(r"([\w.-]+)==([^\s;]+)", line) for line in lines)
    return {re.sub(r"[-_.]+", "-", match[1]).lower(): match[2] for match in result if match}


@pytest.mark.parametrize("name", ["runtime.txt", "build.txt", "publish.txt"])
def test_what_is_installed_was_tested_and_each_file_has_a_hash(name: str) -> None:
    assert pins(name).items() <= pins("dev.txt").items(), "sh .ci/lock"
    text = (PROJECT / ".ci/requirements" / name).read_text(encoding="utf-8")
    assert len(re.findall(r"^\S+==.* \\\n    --hash=sha256:[0-9a-f]{64}", text, re.MULTILINE)) == len(pins(name)) > 0
    assert "://" not in text, "the address of an index"


def test_the_image_holds_every_dependency_by_its_hash() -> None:
    image = pins("runtime.txt")
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {re.match(r"[\w-]+", entry)[0].lower() for entry in project["dependencies"]} <= set(image)  # type: ignore[index]
    dockerfile = (PROJECT / "Dockerfile").read_text(encoding="utf-8")
    assert re.search(r"^FROM \S+:\d+\.\d+\.\d+-\S+@sha256:[0-9a-f]{64}$", dockerfile, re.MULTILINE)
    assert dockerfile.count("pip install") == dockerfile.count("--require-hashes") == 1


def test_what_holds_a_writing_token_installs_by_hash_and_builds_nothing() -> None:
    text = (PROJECT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    for job, about in yaml.safe_load(text)["jobs"].items():
        scripts = [step["run"] for step in about["steps"] if "run" in step]
        installs = [line for script in scripts for line in script.splitlines() if '/bin/pip"' in line]
        assert all("--require-hashes" in line and "--only-binary :all:" in line for line in installs)
        if set(about["permissions"].values()) != {"read"} and job != "image":
            assert "hatchling" not in str(scripts)
