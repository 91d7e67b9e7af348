"""Programs of the dependency group lint."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


def tool(name: str) -> str:
    path = shutil.which(name, path=str(Path(sys.executable).parent))
    if path is None:
        pytest.skip(f"{name} is not installed (dependency group lint)")
    return path


def audited(folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run zizmor on the workflows in the folder, without the ignore rules of the user's git configuration."""
    command = [tool("zizmor"), "--offline", "--no-progress", "--color", "never", "--persona", "auditor", str(folder)]
    surroundings = {**os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "NO_COLOR": "1"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=surroundings)
