"""Every request that a mode sends, as the fake recorded it, with every fault: right or said; nothing twice or lost."""

import itertools
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from perf_culprit.git import command
from perf_culprit.github import client
from tests.support.adversary import Scene
from tests.support.fake_github.faults import SECONDARY_LIMIT, Fault
from tests.support.faulted_jobs import JOBS, Before, Job, outcome, patient_scene
from tests.support.job import JobResult

# In seconds: how long the client waits, and how late the answer is; of git too, whose every call is a process.
PATIENCE_S, LATE_S, GIT_PATIENCE_S, GIT_LATE_S = 0.2, 0.3, 0.6, 0.9
FAULTS: Final[dict[str, dict[str, Any]]] = {
    "reset": {"drop": True},
    "reset after": {"drop": True, "applied": True},
    "time-out": {"delay_seconds": LATE_S, "applied": True},
    "403 with retry-after": {"status": 403, "message": SECONDARY_LIMIT, "headers": {"retry-after": "7"}},
    "500": {"status": 500},
    "500 after": {"status": 500, "applied": True},
    "truncated": {"status": 200, "body": b'{"id": 1, "na', "applied": True},
    "another body": {"status": 200, "body": b'{"hello": "world"}'},
    "a page": {"status": 200, "body": b"<html><body>down</body></html>"},
}
GIT_FAULTS: Final[dict[str, dict[str, Any]]] = {
    **{name: FAULTS[name] for name in ("reset", "reset after", "500", "500 after", "a page")},
    "time-out": {"delay_seconds": GIT_LATE_S, "applied": True},
    "refused": {"status": 403, "message": "denied"},
    "truncated": {"status": 200, "body": b"001e# service=git-upl", "applied": True},
}
AGAIN: Final = {"once": 1, "for good": 999}
# A read that failed after it was done is one that failed.
OF_WRITES: Final = ("reset after", "500 after")
# Nothing but the history: no other request is there to fail.
ONLY_GIT: Final = ("record",)
WITHOUT_GIT: Final = ("publish", "retry")
Cells = dict[tuple[str, str, str], str]


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Scene]:
    with patient_scene(tmp_path, monkeypatch, capsys) as opened:
        yield opened


def kinds(names: Sequence[str]) -> list[str]:
    """The recording of an undisturbed job: each kind of request once, without its numbers."""
    return list(
        dict.fromkeys(re.sub(r"(?<=/)[0-9]+(?=/|$)", "[0-9]+", re.sub(r"[.?]", r"[\g<0>]", name)) for name in names)
    )


def disturbed(scene: Scene, job: Job, fault: str, plan: Fault, *, is_git: bool) -> JobResult:
    (scene.fake.git_faults if is_git else scene.fake.faults).append(plan)
    with scene.runner.monkeypatch.context() as patch:
        if fault == "time-out" and is_git:
            patch.setattr(command, "NETWORK_TIMEOUT_SECONDS", GIT_PATIENCE_S)
        elif fault == "time-out":
            patch.setitem(client.connect.__kwdefaults__, "timeout_seconds", PATIENCE_S)  # type: ignore[arg-type]  # it has some
        result = job.run(scene)
    scene.assert_no_secret(result)
    return result


def table(scene: Scene, name: str, *, is_git: bool) -> Cells:
    if not is_git:
        scene.runner.fetch_from_folder()
    job = JOBS[name](scene)
    before = Before(scene)
    scene.fake.log.clear()
    scene.fake.git_log.clear()
    undisturbed = job.run(scene)
    assert undisturbed.exit_code == 0, undisturbed.log
    job.right(scene, 0)
    sent = scene.fake.git_log if is_git else [f"{one.request.method} {one.request.path}" for one in scene.fake.log]
    faults, cells = GIT_FAULTS if is_git else FAULTS, Cells()
    for request, fault, duration in itertools.product(kinds(sent), faults, AGAIN):
        if request.startswith("GET") and fault in OF_WRITES:
            continue
        before.put_back(scene)
        plan = Fault(request=request, times=AGAIN[duration], **faults[fault])
        result = disturbed(scene, job, fault, plan, is_git=is_git)
        cells[request, fault, duration] = outcome(scene, job, result)
    return cells


def told(cells: Cells, what: str) -> None:
    """Appended to the file that the environment names: docs/security.md has these figures."""
    if not (file := os.environ.get("FAULT_TABLE")):
        return
    counts = Counter(word.partition(":")[0] for word in cells.values())
    with Path(file).open("a", encoding="utf-8") as report:
        report.write(f"{what}: {len({cell[0] for cell in cells})} requests, {len(cells)} cells, {dict(counts)}\n")
        report.writelines(f"  {cell} {word[:600]!r}\n" for cell, word in cells.items() if word.startswith("wrong"))


def wrong(cells: Cells) -> Cells:
    return {cell: word for cell, word in cells.items() if word.startswith("wrong")}


@pytest.mark.slow  # a job for each request, fault and duration
@pytest.mark.parametrize("job", [name for name in JOBS if name not in ONLY_GIT])
def test_every_request_of_a_mode_with_every_fault(scene: Scene, job: str) -> None:
    cells = table(scene, job, is_git=False)
    told(cells, job)
    assert len(cells) > 50
    assert wrong(cells) == {}


@pytest.mark.slow  # a job for each request, fault and duration
@pytest.mark.parametrize("job", [name for name in JOBS if name not in WITHOUT_GIT])
def test_every_request_of_gits_with_every_fault(scene: Scene, job: str) -> None:
    cells = table(scene, job, is_git=True)
    told(cells, f"{job}, git")
    assert len(cells) > 20
    assert wrong(cells) == {}
