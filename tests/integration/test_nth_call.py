"""The n-th call of each command and job fails: nothing is lost or stored twice, and the next call is right.

The variable NTH_CALLS gives the number of calls that fail in turn, instead of 50, and so runs a part of the tables.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.adversary import Scene as JobScene
from tests.support.fault_table import wrong_cells as wrong_requests
from tests.support.faulted_jobs import patient_scene
from tests.support.nth_call import Calls, GitCalls, Statements, Writes, no_strace
from tests.support.nth_call_jobs import wrong_job_cells
from tests.support.nth_call_scenes import (
    Accept,
    Backfill,
    Bisect,
    Compact,
    Import,
    Measure,
    Place,
    Record,
    Scene,
    Sqlite,
    Verify,
    wrong_cells,
)

# Two commands or jobs for each call.
pytestmark = pytest.mark.slow


def of_calls(*families: type[Calls]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("calls", families, ids=lambda one: one.__name__)


def of_scenes(*scenes: type[Scene]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("scene", scenes, ids=lambda one: one.name)


@pytest.fixture
def calls_folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Return the folder for a family of calls; skip the test if this machine cannot disturb them."""
    if request.getfixturevalue("calls") is Writes and (reason := no_strace()):
        pytest.skip(reason)
    return tmp_path / "calls"


@pytest.fixture
def job_scene(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[JobScene]:
    (tmp_path / "job").mkdir()
    with patient_scene(tmp_path / "job", monkeypatch, capsys) as opened:
        yield opened


@of_calls(GitCalls)
@of_scenes(Record, Import, Accept, Compact, Backfill, Bisect, Measure, Verify)
def test_a_command_with_the_branch(tmp_path: Path, calls_folder: Path, scene: type[Scene], calls: type[Calls]) -> None:
    assert wrong_cells(scene(Place(folder=tmp_path)), calls(calls_folder)) == {}


@of_calls(Writes)
@of_scenes(Record, Import, Accept, Compact, Backfill, Measure)
def test_writes_of_a_command_with_the_branch(
    tmp_path: Path, calls_folder: Path, scene: type[Scene], calls: type[Calls]
) -> None:
    assert wrong_cells(scene(Place(folder=tmp_path)), calls(calls_folder)) == {}


@of_calls(Statements)
@of_scenes(Record, Import, Accept, Backfill, Bisect)
def test_a_command_with_sqlite(tmp_path: Path, calls_folder: Path, scene: type[Scene], calls: type[Calls]) -> None:
    assert wrong_cells(scene(Place(folder=tmp_path, database=Sqlite(tmp_path))), calls(calls_folder)) == {}


@of_calls(Writes)
@of_scenes(Record, Import, Accept)
def test_writes_of_a_command_with_sqlite(
    tmp_path: Path, calls_folder: Path, scene: type[Scene], calls: type[Calls]
) -> None:
    assert wrong_cells(scene(Place(folder=tmp_path, database=Sqlite(tmp_path))), calls(calls_folder)) == {}


@of_calls(GitCalls)
@pytest.mark.parametrize("job", ["accept", "bisect", "report", "push", "record"])
def test_a_job_with_the_branch(job_scene: JobScene, calls_folder: Path, job: str, calls: type[Calls]) -> None:
    assert wrong_job_cells(job_scene, job, calls(calls_folder)) == {}


@of_calls(Statements)
@pytest.mark.parametrize("job", ["accept", "bisect", "report", "push", "record"])
def test_a_job_with_sqlite(
    tmp_path: Path, job_scene: JobScene, calls_folder: Path, job: str, calls: type[Calls]
) -> None:
    assert wrong_job_cells(job_scene, job, calls(calls_folder), Sqlite(tmp_path)) == {}


@pytest.mark.parametrize("job", ["publish", "accept", "retry", "bisect", "report", "push", "pull"])
def test_the_nth_request_of_a_job(job_scene: JobScene, job: str) -> None:
    assert wrong_requests(job_scene, job, is_nth=True) == {}


@pytest.mark.parametrize("job", ["accept", "bisect", "report", "push", "pull", "record"])
def test_the_nth_request_of_gits(job_scene: JobScene, job: str) -> None:
    assert wrong_requests(job_scene, job, is_git=True, is_nth=True) == {}
