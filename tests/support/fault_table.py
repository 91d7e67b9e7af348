"""The table of faults: each request that the fake recorded of an undisturbed job, answered with each fault.

Each request has each fault either once or for good, in turn. With the variable FAULT_TABLE set to a file, it has both,
and the file gets the figures of docs/evidence/security.md. In the other table the n-th request has a fault, or all from
there on.
"""

import itertools
import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from perf_culprit.git import command
from perf_culprit.github import client
from tests.support.adversary import Scene
from tests.support.fake_github.faults import SECONDARY_LIMIT, Fault
from tests.support.faulted_jobs import JOBS, Before, Job, outcome
from tests.support.job import JobResult
from tests.support.nth_call import chosen

# In seconds: how long the client waits, and how late the answer is; of git too, whose every call is a process.
PATIENCE_S, LATE_S, GIT_PATIENCE_S, GIT_LATE_S, GIT_LIMIT_S = 0.2, 0.3, 0.6, 0.9, 4.0
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
FIGURES: Final = "FAULT_TABLE"
Cells = dict[tuple[str, str, str], str]


def _kinds(names: Sequence[str]) -> list[str]:
    """Return each kind of request of an undisturbed job once, as a pattern without its numbers."""
    return list(
        dict.fromkeys(re.sub(r"(?<=/)[0-9]+(?=/|$)", "[0-9]+", re.sub(r"[.?]", r"[\g<0>]", name)) for name in names)
    )


def _cells(requests: Sequence[str], faults: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    for (at, request), (kind, fault) in itertools.product(enumerate(requests), enumerate(faults)):
        if request.startswith("GET") and fault in OF_WRITES:
            continue
        for duration in AGAIN if FIGURES in os.environ else (list(AGAIN)[(at + kind) % 2],):
            yield request, fault, duration


def _disturbed(scene: Scene, job: Job, fault: str, plan: Fault, *, is_git: bool) -> JobResult:
    (scene.fake.git_faults if is_git else scene.fake.faults).append(plan)
    with scene.runner.monkeypatch.context() as patch:
        if is_git:
            # After half an answer, git waits for the other half.
            patch.setattr(command, "NETWORK_TIMEOUT_SECONDS", GIT_PATIENCE_S if fault == "time-out" else GIT_LIMIT_S)
        elif fault == "time-out":
            patch.setitem(client.create_client.__kwdefaults__, "timeout_seconds", PATIENCE_S)  # type: ignore[arg-type]  # it has some
        result = job.run(scene)
    scene.fake.wait_for_git()
    scene.assert_no_secret(result)
    return result


def _nth_cells(requests: Sequence[str], faults: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    for at in chosen(len(requests)):
        possible = [one for one in faults if not (requests[at].startswith("GET") and one in OF_WRITES)]
        yield f"{at + 1} {requests[at]}", possible[at % len(possible)], list(AGAIN)[at % 2]


def wrong_cells(scene: Scene, name: str, *, is_git: bool = False, is_nth: bool = False) -> Cells:
    """Return the wrong cells of the named job's table, of its requests to GitHub or, with `is_git`, of git's."""
    cells = _table(scene, name, is_git=is_git, is_nth=is_nth)
    what = ", ".join([name, *["git"] * is_git, *["n-th"] * is_nth])
    note_figures(what, f"{len({request for request, _, _ in cells})} requests", cells.values())
    assert cells
    return {cell: word for cell, word in cells.items() if word.startswith("wrong")}


def note_figures(what: str, size: str, words: Collection[str]) -> None:
    if file := os.environ.get(FIGURES):
        counts = Counter(word.partition(":")[0] for word in words)
        with Path(file).open("a", encoding="utf-8") as report:
            report.write(f"{what}: {size}, {len(words)} cells, {dict(counts)}\n")


def _table(scene: Scene, name: str, *, is_git: bool, is_nth: bool) -> Cells:
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
    for request, fault, duration in _nth_cells(sent, list(faults)) if is_nth else _cells(_kinds(sent), list(faults)):
        before.put_back(scene)
        matched, spared = (".*", int(request.split(" ")[0]) - 1) if is_nth else (request, 0)
        plan = Fault(request=matched, times=AGAIN[duration], spared=spared, **faults[fault])
        result = _disturbed(scene, job, fault, plan, is_git=is_git)
        cells[request, fault, duration] = outcome(scene, job, result)
    return cells
