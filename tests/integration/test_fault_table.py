"""Every request that a mode sends, as the fake recorded it, with every fault: right or said; nothing twice or lost."""

import itertools
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from perf_culprit.github import client
from perf_culprit.store.retention import Patience
from tests.integration.test_adversary_failures import assert_done_once, own, prepare, reset, stored
from tests.support.adversary import MALLORY_PULL, Scene, open_scene
from tests.support.fake_github.faults import SECONDARY_LIMIT, Fault
from tests.support.job import JobResult
from tests.support.webhooks import event

JOBS: Final = ("publish", "accept", "retry", "bisect")
# In seconds: how long the client waits, and how late the answer is.
PATIENCE_S, LATE_S = 0.3, 0.4
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
AGAIN: Final = {"once": 1, "for good": 999}


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Scene]:
    assert Patience.__init__.__kwdefaults__ is not None
    monkeypatch.setitem(Patience.__init__.__kwdefaults__, "attempts", 2)
    monkeypatch.setattr(client, "RETRIES", 2)
    with open_scene(tmp_path, monkeypatch, capsys) as opened:
        opened.runner.fetch_from_folder()
        yield opened


def begin(scene: Scene, job: str) -> tuple[str, dict[str, Any]]:
    if job != "bisect":
        return prepare(scene, job)
    scene.runner.monkeypatch.setenv("INPUT_CONFIG", scene.configure())
    body = f"/perf-bisect {scene.head}"
    comment = scene.fake.state.add_comment(issue=MALLORY_PULL, author="octocat", body=body)
    payload = event("issue_comment", number=MALLORY_PULL, comment_id=comment.id, comment_body=body, author="octocat")
    payload["repository"]["default_branch"] = "main"
    return "issue_comment", payload


def clear(scene: Scene) -> None:
    reset(scene)
    scene.fake.state.dispatches.clear()
    scene.fake.state.runs = {55: scene.fake.state.runs[55]}
    scene.fake.faults = []


def requests_of(scene: Scene, job: str, name: str, payload: dict[str, Any]) -> list[str]:
    """The recording of an undisturbed job: each kind of request once, without its numbers."""
    before = len(scene.fake.log)
    assert scene.runner.run(name, payload).exit_code == 0
    sent = [f"{entry.request.method} {entry.request.path}" for entry in scene.fake.log[before:]]
    assert_right(scene, job)
    return list(dict.fromkeys(re.sub(r"(?<=/)[0-9]+(?=/|$)", "[0-9]+", line.replace(".", "[.]")) for line in sent))


def assert_right(scene: Scene, job: str, *, earlier_attempts: int = 0) -> None:
    if job != "bisect":
        assert_done_once(scene, job, earlier_attempts=earlier_attempts)
        return
    (comment,) = own(scene)
    assert comment.issue == MALLORY_PULL
    assert len(scene.fake.state.dispatches) == 1
    assert len([name for name in stored(scene) if name.startswith("bisections/")]) == 1


def nothing_twice(scene: Scene) -> list[str]:
    files = stored(scene)
    counts = {
        "comments": len(own(scene)),
        "acceptances": len([name for name in files if name.startswith("accepted/")]),
        "bisections": len([name for name in files if name.startswith("bisections/")]),
        "dispatches": len(scene.fake.state.dispatches),
        "attempts": scene.fake.state.runs[55].attempt - 1,
        "check runs": len(scene.fake.state.check_runs),
        "green checks": 2 * len([1 for one in scene.fake.state.check_runs.values() if one.conclusion == "success"]),
    }
    return [what for what, count in counts.items() if count > 1]


def outcome(scene: Scene, job: str, result: JobResult, name: str, payload: dict[str, Any]) -> str:
    """Right at once; said (a failing job, or a warning in it), and right by the next attempt; or what is wrong."""
    if "this is a bug" in result.log or "Traceback" in result.log:
        return f"wrong: {result.log[-300:]}"
    if twice := nothing_twice(scene):
        return f"wrong: twice {twice}"
    try:
        assert_right(scene, job)
    except (AssertionError, ValueError) as error:
        if result.exit_code == 0 and "::warning" not in result.log:
            return f"wrong: silent: {str(error)[:300]}"
    else:
        return "right"
    scene.fake.faults = []
    # A failing check says it; that of the next attempt stands above it.
    checks = scene.fake.state.check_runs
    scene.fake.state.check_runs = {number: check for number, check in checks.items() if check.conclusion != "failure"}
    # By hand, from the Actions page: a command that was answered is done again.
    again = scene.runner.run(name, payload, attempt="2")
    try:
        assert again.exit_code == 0, again.log
        assert_right(scene, job, earlier_attempts=1)
    except (AssertionError, ValueError) as error:
        return f"wrong: lost: {str(error)[:400]}"
    return "said"


@pytest.mark.slow  # a job for each request, fault and duration
@pytest.mark.parametrize("job", JOBS)
def test_every_request_of_a_mode_with_every_fault(scene: Scene, job: str) -> None:
    name, payload = begin(scene, job)
    reset(scene)
    requests = requests_of(scene, job, name, payload)
    assert len(requests) >= 4
    cells: dict[tuple[str, str, str], str] = {}
    for request, fault, duration in itertools.product(requests, FAULTS, AGAIN):
        clear(scene)
        scene.fake.faults = [Fault(request=request, times=AGAIN[duration], **FAULTS[fault])]
        with scene.runner.monkeypatch.context() as patch:
            if fault == "time-out":
                patch.setitem(client.connect.__kwdefaults__, "timeout_seconds", PATIENCE_S)  # type: ignore[arg-type]  # it has some
            result = scene.runner.run(name, payload)
        scene.assert_no_secret(result)
        cells[request, fault, duration] = outcome(scene, job, result, name, payload)
    if report := os.environ.get("FAULT_TABLE"):
        counts = Counter(word.partition(":")[0] for word in cells.values())
        with Path(report).open("a", encoding="utf-8") as file:
            file.write(f"{job}: {len(requests)} requests, {len(cells)} cells, {dict(counts)}\n")
            file.writelines(f"  {cell} {word[:500]!r}\n" for cell, word in cells.items() if word.startswith("wrong"))
    assert {cell: word for cell, word in cells.items() if word.startswith("wrong")} == {}
