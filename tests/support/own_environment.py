"""A virtual environment for tests: a wheel alone, with the tested versions of its dependencies."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

PROJECT: Final = Path(__file__).parents[2]
NO_INDEX_TEXTS: Final = (
    "No matching distribution",
    "Could not find a version",
    "Temporary failure in name resolution",
)
# Variables that would tie a child to this process or to another test.
OURS: Final = ("PYTHONPATH", "PYTEST_ADDOPTS", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE")


def run(*command: str | Path, cwd: Path, more: Mapping[str, str] | None = None) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in OURS} | dict(more or {})
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    if done.returncode and command[1:3] == ("-m", "pip") and any(text in done.stderr for text in NO_INDEX_TEXTS):
        pytest.skip("no package index within reach")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def own_environment(folder: Path, wheel: Path) -> Path:
    """The folder of its programs; `folder` gets it and `constraints.txt`."""
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv", cwd=folder)
    # Versions only: with hashes pip would require one of the wheel, too.
    versions = re.findall(r"^\S+==.*(?= \\$)", (PROJECT / ".ci/requirements/dev.txt").read_text(), re.MULTILINE)
    (folder / "constraints.txt").write_text("\n".join(versions))
    install(folder, wheel)
    return folder / "venv" / "bin"


def install(folder: Path, *what: str | Path) -> None:
    """Into the venv, by the pip at hand: one of its own, and compiling all of SciPy, take five times as long."""
    pip = (sys.executable, "-m", "pip", "--python", folder / "venv" / "bin" / "python", "install")
    run(*pip, "--quiet", "--no-compile", "--constraint", folder / "constraints.txt", *what, cwd=folder)
