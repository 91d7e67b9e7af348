"""The check of commit subjects, on test repositories."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.git_repository import init_repository, run_git

SCRIPT = Path(__file__).parents[2] / ".ci" / "subjects.py"


def checked(repository: Path, first: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), first]
    return subprocess.run(command, cwd=repository, capture_output=True, text=True, check=False)


def commit(repository: Path, subject: str) -> str:
    run_git(repository, "commit", "--quiet", "--allow-empty", "--message", subject)
    return run_git(repository, "rev-parse", "HEAD").strip()


@pytest.mark.parametrize(
    ("subject", "fault"),
    [
        ("measure: write results after every round", ""),
        ("cli, docs: feed the demo from a file", ""),
        ('Revert "measure: write results after every round"', ""),
        ("The measurement writes its results", "begins with no area"),
        ("measure: written results", ""),
        ("measure: added a file", "`added` is no imperative"),
        ("measure: writes results", "`writes` is no imperative"),
        ("measure: pass the file", ""),
        (f"measure: write {'x' * 58}", "73 characters, 72 are the most"),
        (f"measure: write {'x' * 57}", ""),
    ],
)
def test_a_subject_names_its_area_and_begins_with_an_imperative(tmp_path: Path, subject: str, fault: str) -> None:
    repository = init_repository(tmp_path / "project")
    first = commit(repository, "What came before is not read.")
    commit(repository, subject)
    result = checked(repository, first)
    assert result.returncode == bool(fault), result.stderr
    assert fault in result.stdout
    assert bool(result.stdout) == bool(fault)


def test_a_shallow_clone_says_that_it_checks_nothing(tmp_path: Path) -> None:
    repository = init_repository(tmp_path / "project")
    commit(repository, "In no form")
    result = checked(repository, "a" * 40)
    assert (result.returncode, result.stdout) == (
        0,
        "commit aaaaaaaa is not here (a shallow clone?): subjects are not checked\n",
    )
