"""The package behind an update, by the real installers on packages of local files: uv, pip's files and npm."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path

import pytest

from perf_culprit.cli.entry import main
from tests.support.measured_repository import Commit, measured_repository

UV = Path(sys.executable).with_name("uv")
VERSIONS = ("1.0.0", "2.0.0")
PYTHON_RUN = ".venv/bin/python -c 'import fast, slow; print(fast.VALUE + slow.VALUE)'"
NPM_RUN = 'node -p \'require("fast") + require("slow")\''

needs_npm = pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")


def wheel(folder: Path, name: str, version: str, text: str, needs: Sequence[str] = ()) -> None:
    facts = f"{name}-{version}.dist-info"
    required = "".join(f"Requires-Dist: {need}\n" for need in needs)
    files = {
        f"{name}.py": text,
        f"{facts}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{required}",
        f"{facts}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{facts}/RECORD": "",
    }
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for path, content in files.items():
            archive.writestr(path, content)


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """Version 2.0.0 of `slow` needs `part`, which gives it another value; both need it in one step."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for version in VERSIONS:
        wheel(folder, "fast", version, "VALUE = 100\n")
    wheel(folder, "slow", VERSIONS[0], "VALUE = 0\n")
    wheel(folder, "slow", VERSIONS[1], "from part import VALUE\n", ["part"])
    wheel(folder, "part", VERSIONS[0], "VALUE = 50\n")
    return folder


def uv(*words: str, folder: Path, wheels: Path) -> None:
    environment = {**os.environ, "UV_CACHE_DIR": str(wheels.parent / "cache"), "UV_OFFLINE": "1"}
    subprocess.run([UV, "-q", *words], cwd=folder, env=environment, check=True)


def uv_files(wheels: Path, version: str) -> dict[str, str]:
    folder = wheels.parent / version
    folder.mkdir()
    manifest = (
        f'[project]\nname = "app"\nversion = "1"\nrequires-python = ">=3.11"\n'
        f'dependencies = ["fast=={version}", "slow=={version}"]\n\n'
        f"[tool.uv]\nno-index = true\nfind-links = ['{wheels}']\n"
    )
    (folder / "pyproject.toml").write_text(manifest)
    uv("lock", "--python", sys.executable, folder=folder, wheels=wheels)
    return {"pyproject.toml": manifest, "uv.lock": (folder / "uv.lock").read_text()}


def pip_files(wheels: Path, version: str) -> dict[str, str]:
    folder = wheels.parent / version
    folder.mkdir()
    (folder / "requirements.in").write_text(f"fast=={version}\nslow=={version}\n")
    words = ("--generate-hashes", "--no-index", "--find-links", str(wheels), "requirements.in")
    uv("pip", "compile", *words, "-o", "requirements.txt", folder=folder, wheels=wheels)
    return {"requirements.txt": (folder / "requirements.txt").read_text()}


def npm_files(folder: Path, version: str) -> dict[str, str]:
    """Pack both packages; version 2.0.0 of `slow` holds `part` inside of its folder."""
    project = folder / f"project-{version}"
    project.mkdir()
    sources = {"fast": "module.exports = 100", "slow": f"module.exports = {50 if version == VERSIONS[1] else 0}"}
    packed = []
    for name, text in sources.items():
        packed.append(str(folder / f"{name}-{version}.tgz"))
        with tarfile.open(packed[-1], "w:gz") as archive:
            for path, content in {
                "package.json": json.dumps({"name": name, "version": version}),
                "index.js": text,
            }.items():
                entry = tarfile.TarInfo(f"package/{path}")
                entry.size = len(content)
                archive.addfile(entry, BytesIO(content.encode()))
    (project / "package.json").write_text('{"name": "web", "private": true}')
    subprocess.run(["npm", "install", "--offline", "--silent", *packed], cwd=project, check=True)
    return {name: (project / name).read_text() for name in ("package.json", "package-lock.json")}


def answer_of(tmp_path: Path, before: Mapping[str, str], after: Mapping[str, str], *, build: str, run: str) -> str:
    """Search a range whose third commit updates the files, and return the notes of the answer."""
    commits = {
        "c0": Commit(level=1, files={"app": "1", **before}),
        "c1": Commit(level=1, files={"README.md": "1"}),
        "c2": Commit(level=1, files={"app": "2", **after}),
        "c3": Commit(level=1, files={"README.md": "2"}),
    }
    hashes = measured_repository(repository := tmp_path / "repository", commits)
    argv = ["bisect", "--repo", str(repository), "--good", hashes["c0"], "--bad", hashes["c3"], "--prior", "uniform"]
    argv += ["--build", build, "--run", run, "--profile-seconds", "0", "--json", str(tmp_path / "answer.json")]
    assert main(argv) == 0
    answer = json.loads((tmp_path / "answer.json").read_text())
    assert [one["commit"] for one in answer["culprits"]] == [hashes["c2"]]
    return json.dumps(answer["notes"], ensure_ascii=False)


def test_uv_syncs_every_state_of_its_lock_file(tmp_path: Path, wheels: Path) -> None:
    before, after = (uv_files(wheels, version) for version in VERSIONS)
    build = f"UV_OFFLINE=1 UV_CACHE_DIR={wheels.parent}/cache {UV} sync -q --locked --python {sys.executable}"
    notes = answer_of(tmp_path, before, after, build=build, run=PYTHON_RUN)
    assert "slow 1.0.0 → 2.0.0 (with part) made +50.0%" in notes


def test_a_file_of_pins_installs_in_every_state(tmp_path: Path, wheels: Path) -> None:
    before, after = (pip_files(wheels, version) for version in VERSIONS)
    environment = f"UV_OFFLINE=1 UV_CACHE_DIR={wheels.parent}/cache"
    install = f"{UV} pip install -q --no-index --find-links {wheels} -r requirements.txt"
    build = f"{environment} {UV} venv -q --python {sys.executable} && {environment} {install}"
    notes = answer_of(tmp_path, before, after, build=build, run=PYTHON_RUN)
    assert "slow 1.0.0 → 2.0.0 (with part) made +50.0%" in notes


@needs_npm
def test_npm_installs_every_state_of_its_lock_file(tmp_path: Path) -> None:
    before, after = (npm_files(tmp_path, version) for version in VERSIONS)
    notes = answer_of(tmp_path, before, after, build="npm ci --offline --silent", run=NPM_RUN)
    assert "slow 1.0.0 → 2.0.0 made +50.0%" in notes
