"""A build hook: a source distribution holds what git tracks, and a stray file ends the build."""

import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Where release.yml puts what it publishes; pyproject.toml leaves it out.
RELEASE = "release/"
SHOWN = 5


class TrackedFiles(BuildHookInterface):  # type: ignore[type-arg] # its configuration has no type here
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        del version, build_data
        if not (Path(self.root) / ".git").exists():  # an unpacked source distribution: nothing tells what is stray
            return
        command = ["git", "-C", self.root, "ls-files", "--others", "--exclude-standard", "-z"]
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\0")
        stray = [name for name in listed if name and not name.startswith(RELEASE)]
        if stray:
            raise ValueError(f"not tracked by git: {', '.join(stray[:SHOWN])}; commit, ignore or remove them")
