"""The check run against the fake GitHub: it is always completed."""

from dataclasses import replace
from typing import Any

import pytest

from perf_culprit.errors import DataError, InfrastructureError
from perf_culprit.github.host import Annotation, CheckConclusion, CheckResult
from perf_culprit.github.posting import check_run
from tests.support.fake_github import state
from tests.support.fake_github.clients import connected
from tests.support.fake_github.faults import Fault
from tests.support.fake_github.server import FakeGitHub

HEAD = "a" * 40
NAME = "performance / default"
EXTERNAL_ID = "55-1"
START = r"POST .*/check-runs"
RESULT = CheckResult(conclusion=CheckConclusion.SUCCESS, title="No change", summary="148 benchmarks, no change")


def run(fake: FakeGitHub, result: CheckResult = RESULT) -> state.CheckRun:
    client, _ = connected(fake)
    with check_run(client, name=NAME, head_sha=HEAD, external_id=EXTERNAL_ID) as check:
        check.complete(result)
    return only_check(fake)


def only_check(fake: FakeGitHub) -> state.CheckRun:
    (check,) = fake.state.check_runs.values()
    return check


def annotations(count: int) -> tuple[Annotation, ...]:
    return tuple(
        Annotation(path="src/parser.py", line=index + 1, level="warning", message="+38%", title="t" * 300)
        for index in range(count)
    )


def test_is_in_progress_until_it_is_completed(fake: FakeGitHub) -> None:
    client, _ = connected(fake)
    with check_run(
        client, name=NAME, head_sha=HEAD, external_id=EXTERNAL_ID, details_url="https://example.com/1"
    ) as check:
        assert only_check(fake).status == "in_progress"
        check.complete(RESULT)
        assert check.url.startswith(fake.api_url)
    done = only_check(fake)
    assert (done.status, done.conclusion) == ("completed", "success")
    assert (done.name, done.head_sha, done.external_id) == (NAME, HEAD, EXTERNAL_ID)
    assert done.details_url == "https://example.com/1"
    assert done.output == {"title": "No change", "summary": "148 benchmarks, no change"}
    assert len(fake.log) == 2


@pytest.mark.parametrize("count", [0, 1, 50, 51, 120])
def test_sends_annotations_fifty_at_a_time(fake: FakeGitHub, count: int) -> None:
    result = CheckResult(conclusion=CheckConclusion.FAILURE, title="t", summary="s", annotations=annotations(count))
    check = run(fake, result)
    assert [annotation["start_line"] for annotation in check.annotations] == list(range(1, count + 1))
    assert check.conclusion == "failure"
    assert len(fake.requests("PATCH")) == max(1, -(-count // 50))


def test_cuts_long_texts_at_a_line(fake: FakeGitHub) -> None:
    lines = "a line of the report\n" * 5_000
    check = run(fake, CheckResult(conclusion=CheckConclusion.NEUTRAL, title="t" * 999, summary=lines, text=lines))
    for name in ("summary", "text"):
        shown = check.output[name]
        assert len(shown) <= 65_535
        assert shown.endswith("report\n\nCut here. The whole report is in the job summary.")
    assert len(check.output["title"]) == 255


def test_an_expected_failure_completes_it_with_the_message(fake: FakeGitHub) -> None:
    client, _ = connected(fake)
    with (
        pytest.raises(DataError),
        check_run(client, name=NAME, head_sha=HEAD, external_id=EXTERNAL_ID),
    ):
        raise DataError("holds no benchmark ```@octocat", place="b.json", next_step="measure something")
    check = only_check(fake)
    assert check.conclusion == "failure"
    assert check.output["title"] == "No verdict"
    assert check.output["summary"] == (
        "````text\nb.json: holds no benchmark ```@octocat\nNext: measure something\n````"
    )


def test_an_internal_error_completes_it_without_details(fake: FakeGitHub) -> None:
    client, _ = connected(fake)
    with pytest.raises(KeyError), check_run(client, name=NAME, head_sha=HEAD, external_id=EXTERNAL_ID):
        raise KeyError("secret")
    check = only_check(fake)
    assert check.conclusion == "failure"
    assert "secret" not in str(check.output)
    assert "bug of perf-culprit" in check.output["summary"]


def test_a_stopped_job_completes_it_as_cancelled(fake: FakeGitHub) -> None:
    client, _ = connected(fake)
    with pytest.raises(KeyboardInterrupt), check_run(client, name=NAME, head_sha=HEAD, external_id=EXTERNAL_ID):
        raise KeyboardInterrupt
    assert only_check(fake).conclusion == "cancelled"


def test_a_forgotten_result_fails_it(fake: FakeGitHub) -> None:
    client, _ = connected(fake)
    with check_run(client, name=NAME, head_sha=HEAD, external_id=EXTERNAL_ID):
        pass
    assert only_check(fake).conclusion == "failure"


def test_an_error_after_completion_leaves_the_verdict(fake: FakeGitHub) -> None:
    def completed_then_broken() -> None:
        client, _ = connected(fake)
        with check_run(client, name=NAME, head_sha=HEAD, external_id=EXTERNAL_ID) as check:
            check.complete(RESULT)
            raise KeyError("later")

    with pytest.raises(KeyError):
        completed_then_broken()
    assert only_check(fake).conclusion == "success"


def test_the_first_error_wins_over_a_failing_completion(fake: FakeGitHub) -> None:
    fake.faults.append(Fault(request=r"PATCH .*", status=404, message="Not Found", times=9))
    client, _ = connected(fake)
    with (
        pytest.raises(DataError, match="broken") as raised,
        check_run(client, name=NAME, head_sha=HEAD, external_id=EXTERNAL_ID),
    ):
        raise DataError("broken")
    assert any("cannot complete the check run" in note for note in raised.value.__notes__)


def test_completion_survives_server_errors(fake: FakeGitHub) -> None:
    fake.faults.append(Fault(request=r"PATCH .*", status=502, times=3))
    assert run(fake).conclusion == "success"


@pytest.mark.parametrize("applied", [True, False])
@pytest.mark.parametrize("lost", [{"status": 502}, {"drop": True}], ids=["502", "drop"])
def test_one_check_run_after_a_lost_answer(fake: FakeGitHub, lost: dict[str, Any], *, applied: bool) -> None:
    fake.faults.append(Fault(request=START, applied=applied, **lost))
    assert run(fake).conclusion == "success"


def test_a_lost_answer_is_not_taken_for_another_runs_check(fake: FakeGitHub) -> None:
    other = state.CheckRun(id=1, name=NAME, head_sha=HEAD, external_id="54-1", status="in_progress")
    fake.state.check_runs[1] = other
    fake.faults.append(Fault(request=START, status=502))
    client, _ = connected(fake)
    with check_run(client, name=NAME, head_sha=HEAD, external_id=EXTERNAL_ID) as check:
        check.complete(RESULT)
    assert other.status == "in_progress"
    assert len(fake.state.check_runs) == 2


def test_a_lost_answer_is_found_behind_a_newer_check_run(fake: FakeGitHub) -> None:
    fake.faults.append(Fault(request=START, status=502, applied=True))
    client, _ = connected(fake)

    def meanwhile(_: float) -> None:
        newer = state.CheckRun(id=9_999, name=NAME, head_sha=HEAD, external_id="56-1", status="in_progress")
        fake.state.check_runs[newer.id] = newer

    with check_run(replace(client, sleep=meanwhile), name=NAME, head_sha=HEAD, external_id=EXTERNAL_ID) as check:
        check.complete(RESULT)
    assert [entry.conclusion for entry in fake.state.check_runs.values()] == ["success", None]


def test_names_the_missing_permission(fake: FakeGitHub) -> None:
    fake.add_token("no-checks", {"contents": "write", "checks": "read"})
    client, _ = connected(fake, token="no-checks")
    with (
        pytest.raises(InfrastructureError, match=r"cannot start the check run[\s\S]*`permissions: checks: write`"),
        check_run(client, name=NAME, head_sha=HEAD, external_id=EXTERNAL_ID),
    ):
        pytest.fail("the block must not run")


def test_a_personal_token_cannot_make_check_runs(fake: FakeGitHub) -> None:
    message = "You must authenticate via a GitHub App."
    fake.faults.append(Fault(request=START, status=403, message=message))
    client, _ = connected(fake)
    with (
        pytest.raises(InfrastructureError, match=r"GitHub forbids it: You must authenticate via a GitHub App"),
        check_run(client, name=NAME, head_sha=HEAD, external_id=EXTERNAL_ID),
    ):
        pytest.fail("the block must not run")
