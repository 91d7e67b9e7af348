"""Programs of the dependency group lint."""

import shutil
import sys
from pathlib import Path

import pytest


def tool(name: str) -> str:
    found = shutil.which(name, path=str(Path(sys.executable).parent))
    if found is None:
        pytest.skip(f"{name} is not installed (dependency group lint)")
    return found
