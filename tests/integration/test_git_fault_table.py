"""Every request of git's, for the history and the code, with every fault: right or reported; nothing twice or lost."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.adversary import Scene
from tests.support.fault_table import wrong_cells
from tests.support.faulted_jobs import patient_scene


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Scene]:
    with patient_scene(tmp_path, monkeypatch, capsys) as opened:
        yield opened


@pytest.mark.slow  # a job for each request and fault
@pytest.mark.parametrize("job", ["accept", "bisect", "report", "push", "pull", "record"])
def test_every_request_of_gits_with_every_fault(scene: Scene, job: str) -> None:
    assert wrong_cells(scene, job, is_git=True) == {}
