"""A full disk is reported as a problem of the machine, not as a bug or the user's mistake."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from perf_culprit.errors import InfrastructureError
from perf_culprit.files import replace_file

INSTALLED = str(Path(sys.executable).with_name("perf-culprit"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has it")
@pytest.mark.parametrize("options", [("formats",), ("schema", "report"), ("completion", "bash")])
def test_a_full_disk_is_told_as_one(options: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([INSTALLED, *options], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (4, 2)
    assert done.stderr.startswith("error: cannot be written: No space left on device\nNext: ")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has it")
def test_an_error_that_cannot_be_printed_is_not_a_regression(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([INSTALLED, "changes", str(tmp_path / "none.csv")], stdout=full, stderr=full, check=False)
    assert done.returncode == 3


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has it")
def test_a_file_that_was_asked_for_on_a_full_disk_is_not_the_users_mistake() -> None:
    with pytest.raises(InfrastructureError, match="/dev/full: cannot be written: No space left"):
        replace_file(Path("/dev/full"), b"x")


@pytest.mark.parametrize("handle", ["99", "0", "9" * 30, "²"])
def test_a_handle_of_no_token_is_passed_over(handle: str) -> None:
    surroundings = {"PATH": os.environ["PATH"], "PERF_CULPRIT_TOKEN_HANDLE": handle}
    done = subprocess.run(
        [sys.executable, "-m", "perf_culprit.action"],
        env=surroundings,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
