"""Interpreters for the tests: this one, and newer ones where they are installed."""

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

NEWER = ("3.12", "3.13", "3.14")


@cache
def newer_interpreters() -> tuple[str, ...]:
    """Return the interpreters with `sys.monitoring` that start."""
    results = {}
    if sys.version_info >= (3, 12):
        results[f"{sys.version_info[0]}.{sys.version_info[1]}"] = sys.executable
    candidates = [(version, shutil.which(f"python{version}")) for version in NEWER]
    homes = sorted(Path.home().glob(".pyenv/versions/3.*"))
    candidates += [(".".join(home.name.split(".")[:2]), str(home / "bin" / "python")) for home in homes]
    for version, path in candidates:
        if path is None or version in results or version not in NEWER:
            continue
        asked = subprocess.run(
            [path, "-c", "import sys; print(sys.executable)"], capture_output=True, text=True, check=False
        )
        if asked.returncode == 0:
            results[version] = asked.stdout.strip()
    return tuple(results.values())


def newer_interpreter() -> str:
    interpreters = newer_interpreters()
    if not interpreters:
        pytest.skip("needs Python 3.12 or newer, for sys.monitoring, and none is installed")
    return interpreters[-1]
