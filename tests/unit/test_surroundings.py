"""The machine's configuration does not affect the tests."""

import os
import subprocess
from pathlib import Path


def test_git_reads_no_configuration_of_the_machine(tmp_path: Path) -> None:
    listed = subprocess.run(
        ["git", "config", "--list", "--show-origin"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert listed.stdout == ""


def test_no_caller_s_repository_is_used() -> None:
    """A git hook that runs the tests sets these variables."""
    assert not {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"} & os.environ.keys()
