"""The n-th call of each command and job fails, with a history in PostgreSQL. The server's disk may be full, too."""

import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.support import postgresql
from tests.support.faulted_jobs import patient_scene
from tests.support.nth_call import Statements, ended, no_strace
from tests.support.nth_call_jobs import wrong_job_cells
from tests.support.nth_call_scenes import Accept, Backfill, Import, Place, PostgreSQL, Record, Scene, wrong_cells

# Two commands or jobs for each call.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server() -> Iterator[postgresql.Server]:
    with postgresql.running() as started:
        yield started


@pytest.mark.parametrize("scene", [Record, Import, Accept, Backfill], ids=lambda one: one.name)
def test_a_command_with_postgresql(tmp_path: Path, server: postgresql.Server, scene: type[Scene]) -> None:
    place = Place(folder=tmp_path, database=PostgreSQL(server))
    assert wrong_cells(scene(place), Statements(tmp_path / "calls")) == {}


@pytest.mark.parametrize("job", ["accept", "bisect", "report", "push", "record"])
def test_a_job_with_postgresql(
    tmp_path: Path,
    server: postgresql.Server,
    job: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "job").mkdir()
    with patient_scene(tmp_path / "job", monkeypatch, capsys) as scene:
        assert wrong_job_cells(scene, job, Statements(tmp_path / "calls"), PostgreSQL(server)) == {}


@pytest.mark.parametrize("when", ["1", "1+"], ids=["once", "for good"])
def test_a_full_disk_of_the_server(tmp_path: Path, server: postgresql.Server, when: str) -> None:
    """The server cannot write its log, which ends all its processes; it starts them again."""
    if reason := no_strace():
        pytest.skip(reason)
    scene = Record(Place(folder=tmp_path, database=PostgreSQL(server)))
    command = scene.place.command(*scene.command())
    with full_disk(server, tmp_path / "log.txt", when=when):
        done = ended(tmp_path, command)
    assert done.code == 4, done.output
    assert re.search(r"No space left on device\nNext: free disk space on the server", done.output)
    recovered(scene.place.files)
    scene.right(is_done=False)
    assert ended(tmp_path, command).code == 0
    scene.right(is_done=True)


@contextmanager
def full_disk(server: postgresql.Server, log: Path, *, when: str) -> Iterator[None]:
    """Fail the writes of each new connection's process."""
    main = int((server.folder / "data" / "postmaster.pid").read_text().split()[0])
    injection = ("-e", "trace=pwrite64", "-e", f"inject=pwrite64:error=ENOSPC:when={when}")
    with subprocess.Popen(["strace", "-f", "-qq", "-o", str(log), *injection, "-p", str(main)]) as tracer:
        while "TracerPid:\t0\n" in Path(f"/proc/{main}/status").read_text():
            time.sleep(0.01)
        yield
        tracer.terminate()
    assert "(INJECTED)" in log.read_text()


def recovered(read: Callable[[], object]) -> None:
    for _ in range(100):
        try:
            read()
        except psycopg.OperationalError:
            time.sleep(0.1)
        else:
            return
    pytest.fail("the server does not start again")
