"""GitHub fails at any request, before or after the write took effect, or the runner dies there: all is done once."""

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Never

import pytest
from msgspec.structs import replace

from perf_culprit.github.bot_texts import comment_marker
from perf_culprit.model.finding import Verdict
from perf_culprit.model.report import Conclusion, encode_report
from tests.support import reports
from tests.support.adversary import MALLORY_PULL, RIGHTS, SECRET, Scene, open_scene
from tests.support.fake_github.faults import PRIMARY_LIMIT, SECONDARY_LIMIT, Fault
from tests.support.fake_github.state import BOT
from tests.support.faulted_jobs import JOBS, Before, Job, own, stored
from tests.support.forked import start_action

MOST_REQUESTS: Final = 40
DISTURBED: Final = ("publish", "accept", "retry")


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Scene]:
    with open_scene(tmp_path, monkeypatch, capsys) as opened:
        yield opened


@dataclass(kw_only=True, slots=True)
class NthFault(Fault):
    """Fails the request after `passed` others."""

    passed: int = 0

    def matches(self, method: str, path: str) -> bool:
        if not Fault.matches(self, method, path):
            return False
        self.passed -= 1
        return self.passed < 0


def finished(scene: Scene) -> list[str | None]:
    return [check.conclusion for check in scene.fake.state.check_runs.values() if check.status == "completed"]


def test_an_issue_that_cannot_be_drawn_changes_nothing_else(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> Never:
        raise KeyError("x")

    monkeypatch.setattr("perf_culprit.action.jobs.regression_issues.issue_body", fail)
    result = JOBS["push"](scene).run(scene)
    assert result.exit_code == 0, result.log
    assert finished(scene) == ["failure"]
    assert len(stored(scene, "runs/")) == 1
    assert "tracking issues: unexpected KeyError" in result.log


# Each job may repeat an applied write in its own way; the client's retries are the same for all.
FAULTS = [
    *(pytest.param(job, {"status": 502, "applied": True}, id=f"{job}, 502 after") for job in DISTURBED),
    *(pytest.param(job, {"drop": True, "applied": True}, id=f"{job}, dropped after") for job in DISTURBED),
    pytest.param("publish", {"status": 500}, id="500 before"),
    pytest.param("accept", {"drop": True}, id="dropped before"),
    pytest.param("retry", {"status": 503, "headers": {"retry-after": "3"}}, id="503 with Retry-After"),
    pytest.param("publish", {"status": 429}, id="429"),
    pytest.param("retry", {"status": 429, "headers": {"retry-after": "7"}}, id="429 with Retry-After"),
    pytest.param("accept", {"status": 403, "message": SECONDARY_LIMIT}, id="403"),
    pytest.param(
        "publish",
        {"status": 403, "message": SECONDARY_LIMIT, "headers": {"retry-after": "7"}},
        id="403 with header",
    ),
]


@pytest.mark.slow  # the whole job again for each of its requests
@pytest.mark.parametrize(("job", "fault"), FAULTS)
def test_one_fault_at_any_request_changes_nothing(scene: Scene, job: str, fault: dict[str, Any]) -> None:
    """The next listing may also lack the item that was just written."""
    doing = JOBS[job](scene)
    scene.fake.state.listing_lag = 1
    before = Before(scene)
    for passed in range(MOST_REQUESTS):
        before.put_back(scene)
        scene.fake.faults = [planned := NthFault(request=".*", passed=passed, **fault)]
        result = doing.run(scene)
        assert result.exit_code == 0, f"request {passed}: {result.log}"
        doing.right(scene, 0)
        scene.assert_no_secret(result)
        if planned.times == 1:
            break
    else:
        pytest.fail("a job has fewer requests")
    assert passed > 2


@pytest.mark.parametrize("status", [403, 429])
@pytest.mark.parametrize("job", DISTURBED)
def test_a_used_up_limit_ends_the_job_and_says_when_to_try_again(scene: Scene, job: str, status: int) -> None:
    doing = JOBS[job](scene)
    headers = {"x-ratelimit-remaining": "0"}
    scene.fake.faults = [Fault(request=".*", status=status, message=PRIMARY_LIMIT, headers=headers, times=999)]
    result = doing.run(scene)
    assert result.exit_code == 4, result.log
    assert "UTC" in result.log
    assert scene.applied == []
    assert stored(scene) == []
    scene.assert_no_secret(result)
    # The next attempt, when there are requests again.
    scene.fake.faults = []
    result = doing.run(scene)
    assert result.exit_code == 0, result.log
    doing.right(scene, 1)


def test_an_artifact_that_is_gone_is_told_and_nothing_written(scene: Scene) -> None:
    publishing = JOBS["publish"](scene)
    scene.fake.faults = [Fault(request=r"GET .*/zip", status=410, message="Artifact has expired")]
    result = publishing.run(scene)
    assert result.exit_code == 3
    assert "expired" in result.log
    assert scene.writes == []
    scene.assert_no_secret(result)


def test_a_body_that_github_finds_too_long_is_told(scene: Scene) -> None:
    publishing = JOBS["publish"](scene)
    scene.fake.faults = [
        Fault(
            request=r"POST .*/comments", status=422, message="Body is too long (maximum is 65536 characters)", times=9
        )
    ]
    result = publishing.run(scene)
    assert result.exit_code == 4, result.log
    assert "Body is too long" in result.log
    assert own(scene) == []
    assert finished(scene) != []
    assert len([entry for entry in scene.writes if "comments -> 422" in entry]) == 1
    scene.assert_no_secret(result)


def test_ten_thousand_findings_fit_a_comment(scene: Scene) -> None:
    """A stranger's report may be as long as the archive's limits allow; the posted comment is shorter."""
    findings = tuple(
        reports.finding(f"`{number}` " + "|" * 200, 100, 150, verdict=Verdict.REGRESSION, rate=1e-6)
        for number in range(2_000)
    )
    report = replace(reports.report(Conclusion.REGRESSION, *findings), target_commit=scene.head)
    result = scene.publish({"report.json": encode_report(report)})
    assert result.exit_code == 0, result.log
    (comment,) = own(scene)
    assert len(comment.body) <= 65_536
    (check,) = scene.fake.state.check_runs.values()
    assert all(len(text) <= 65_535 for text in check.output.values() if text)
    scene.assert_no_secret(result)


def test_the_comment_and_the_artifact_are_found_on_the_third_page(scene: Scene) -> None:
    publishing = JOBS["publish"](scene)
    for number in range(230):
        scene.fake.state.add_comment(issue=MALLORY_PULL, author="octocat", body=f"{comment_marker('default')} {number}")
        scene.fake.state.add_artifact(name=f"other-{number}", run_id=55, head_sha=scene.head, zip_bytes=b"")
    last = scene.fake.state.add_comment(issue=MALLORY_PULL, author=BOT, body=f"{comment_marker('default')}\nold")
    result = publishing.run(scene)
    assert result.exit_code == 0, result.log
    assert own(scene) == [last]
    assert last.writes == 2
    assert f"PATCH issues/comments/{last.id}" in scene.applied
    assert f"POST issues/{MALLORY_PULL}/comments" not in scene.applied


@pytest.mark.parametrize(
    ("missing", "left", "named", "code"),
    [
        ("actions", "none", "actions: read", 4),
        ("checks", "read", "checks: write", 0),
        ("pull-requests", "none", "pull-requests: read", 4),
        ("pull-requests", "read", "pull-requests: write", 4),
    ],
)
def test_publishing_without_a_permission_names_it(
    scene: Scene, *, missing: str, left: str, named: str, code: int
) -> None:
    publishing = JOBS["publish"](scene)
    scene.fake.add_token(SECRET, RIGHTS | {missing: left} | ({"issues": "none"} if missing == "pull-requests" else {}))
    result = publishing.run(scene)
    assert result.exit_code == code, result.log
    assert named in result.log
    assert len(own(scene)) == (1 if missing == "checks" else 0)
    scene.assert_no_secret(result)


def kill(scene: Scene, job: Job, *, passed: int, applied: bool) -> bool:
    """Run the job in a separate process that is killed at that request; False if it has fewer."""
    folder = scene.folder / f"killed-{passed}-{applied}"
    folder.mkdir()
    (folder / "event.json").write_text(json.dumps(job.payload))
    fake = scene.fake
    fake.faults = [planned := NthFault(request=".*", passed=passed, drop=True, applied=applied, times=999)]
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GITHUB_EVENT_PATH": str(folder / "event.json"),
        "GITHUB_EVENT_NAME": job.name,
        "GITHUB_REPOSITORY": fake.repository,
        "GITHUB_WORKSPACE": str(scene.runner.workspace),
        "GITHUB_SERVER_URL": fake.url,
        "GITHUB_API_URL": fake.api_url,
        "GITHUB_RUN_ID": "77",
        "GITHUB_RUN_ATTEMPT": "1",
        "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary"),
        "INPUT_GITHUB-TOKEN": SECRET,
    }
    before = len(fake.log)
    process = start_action(environment, cwd=scene.runner.workspace, log=folder / "log")
    while process.exitcode is None and len(fake.log) <= before + passed:
        process.join(0.005)
    process.kill()
    process.join()
    fake.faults = []
    assert process.exitcode in (0, -signal.SIGKILL), (folder / "log").read_text()
    return planned.times < 999


@pytest.mark.slow  # a process that is killed and another that repeats its work, for each request
@pytest.mark.parametrize("job", DISTURBED)
def test_a_job_that_was_killed_at_any_request_is_finished_by_the_next(scene: Scene, job: str) -> None:
    """It is killed before the first request and after each: before a request is after the previous one."""
    doing = JOBS[job](scene)
    before = Before(scene)
    for passed, applied in [(0, False), *((number, True) for number in range(MOST_REQUESTS))]:
        before.put_back(scene)
        if not kill(scene, doing, passed=passed, applied=applied):
            doing.right(scene, 0)
            break
        repeated = doing.run(scene)
        assert repeated.exit_code == 0, repeated.log
        scene.assert_no_secret(repeated)
        doing.right(scene, 1)
    else:
        pytest.fail("a job has fewer requests")
    assert passed > 2
