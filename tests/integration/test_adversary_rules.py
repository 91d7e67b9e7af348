"""The author of a pull request may want a certain verdict: each test's name gives the aim and the outcome."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from perf_culprit.action.jobs.job_results import JobResults, compare_results, result_files
from perf_culprit.config.settings import Config
from perf_culprit.flows.compare import Comparison, compare_runs
from perf_culprit.flows.record import record_run
from perf_culprit.github.bot_texts import comment_marker
from perf_culprit.model.artifact_limits import ARTIFACT_LIMITS
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.finding import BaselineSource
from perf_culprit.model.report import encode_report
from perf_culprit.store.opening import HistoryPlace
from tests.support.adversary import INNOCENT_PULL, MALLORY_PULL, Scene, open_scene
from tests.support.fake_github.state import BOT
from tests.support.measurements import measured
from tests.support.rounds import in_rounds

FAST = {"parse": 0.004, "render": 0.02}
SLOW = {**FAST, "parse": 0.0096}


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Scene]:
    with open_scene(tmp_path, monkeypatch, capsys) as opened:
        yield opened


def left(scene: Scene, *, config: Config | None = None, suite: str = "default") -> dict[str, bytes]:
    """Return the files of a measuring job that found `parse` slower than its base in rounds, judged by `config`."""
    results = JobResults(
        run=structs.replace(in_rounds(measured(SLOW, seed=5, commit=scene.head)), suite=suite),
        baseline=structs.replace(in_rounds(measured(FAST, seed=6, commit=scene.commits["main2"])), suite=suite),
    )
    assert results.baseline is not None
    report = compare_runs(
        results.run, baseline=(results.baseline,), source=BaselineSource.PAIRED, config=config or Config(suite=suite)
    )
    return result_files(Comparison(run=results.run, report=report), results)


def comment_bodies(scene: Scene) -> dict[int, str]:
    return {comment.issue: comment.body for comment in scene.fake.state.comments.values() if comment.author == BOT}


def check_conclusions(scene: Scene) -> list[str | None]:
    return [check.conclusion for check in scene.fake.state.check_runs.values()]


def test_wanted_a_pass_by_own_settings_got_the_default_branchs_verdict(scene: Scene) -> None:
    files = left(scene, config=Config().model_copy(update={"minimum_effect": 5.0}))
    assert json.loads(files["report.json"])["conclusion"] != "regression"
    result = scene.publish(files)
    assert result.exit_code == 0, result.log
    assert result.outputs["conclusion"] == "regression"
    assert check_conclusions(scene) == ["failure"]
    body = comment_bodies(scene)[MALLORY_PULL]
    assert "1 of 2 benchmarks got slower" in body
    assert "**Proposed change of rules:** the measuring job's own settings (minimum effect 500" in body
    assert "say: no change, and the check passes" in body


def test_wanted_a_pass_by_an_edited_verdict_got_the_runs_own(scene: Scene) -> None:
    files = left(scene)
    document = json.loads(files["report.json"]) | {"conclusion": "no_change", "failed": False, "findings": []}
    result = scene.publish({**files, "report.json": json.dumps(document).encode()})
    assert result.outputs["conclusion"] == "regression", result.log


@pytest.mark.parametrize("text", [{"conclusion": "no_change"}, {"failed": False}, {"conclusion": "suspected"}])
def test_wanted_a_verdict_against_its_own_findings_got_refused(scene: Scene, text: dict[str, object]) -> None:
    report = json.loads(left(scene)["report.json"]) | text
    result = scene.publish({"report.json": json.dumps(report).encode()})
    assert result.exit_code == 3
    assert "report.json`: says something else in its findings than in its verdict\n" in result.summary
    assert "\nNext: nothing is published; run the benchmarks again if this is not an attack\n" in result.summary
    assert scene.writes == []


def test_wanted_a_mention_by_a_leftover_on_the_runner_got_none(scene: Scene) -> None:
    """The workspace of a self-hosted runner holds files of an earlier job."""
    leftover = scene.runner.workspace / ".github" / "perf-culprit.yml"
    leftover.parent.mkdir()
    leftover.write_text("comment: {mention: ['@octo-org/everyone']}\nhistory: {branch: stolen}\nminimum-effect: 900%\n")
    result = scene.publish(left(scene))
    assert result.outputs["conclusion"] == "regression"
    assert "@octo-org" not in comment_bodies(scene)[MALLORY_PULL]
    path = scene.configure("comment: {mention: ['@octo-org/perf']}")
    scene.publish(left(scene), inputs={"config": path})
    assert "cc @octo-org/perf" in comment_bodies(scene)[MALLORY_PULL]


def test_wanted_belief_by_a_workflow_of_the_same_name_got_refused(scene: Scene) -> None:
    scene.publish(left(scene))
    before = scene.writes
    result = scene.follow(workflow=".github/workflows/mine.yml", workflow_name="perf")
    assert result.exit_code == 2
    assert "the run is of `.github/workflows/mine.yml`, expected is `perf.yml`" in result.summary
    assert scene.writes == before


def test_a_strangers_measurement_is_called_advice(scene: Scene) -> None:
    scene.runner.run_id = "99"
    scene.publish(left(scene))
    (check,) = scene.fake.state.check_runs.values()
    for text in (comment_bodies(scene)[MALLORY_PULL], check.output["summary"]):
        assert "measured by the pull request's own code: advice, not proof" in text
        assert f"[run]({scene.fake.url}/{scene.fake.repository}/actions/runs/55)" in text


def test_an_accepted_regression_is_no_proposal_of_other_rules(scene: Scene) -> None:
    scene.say(f'/perf-accept {scene.head} parse "wanted"')
    result = scene.publish(left(scene))
    assert result.outputs["conclusion"] == "no_change", result.log
    body = comment_bodies(scene)[MALLORY_PULL]
    assert "1 worse and accepted" in body
    assert "Proposed change of rules" not in body


def test_wanted_silence_by_a_second_pull_request_of_one_head_both_are_answered(scene: Scene) -> None:
    scene.fake.state.pulls[9] = replace(scene.fake.state.pulls[MALLORY_PULL], number=9, base_branch="stable")
    result = scene.publish(left(scene))
    assert result.exit_code == 0, result.log
    assert set(comment_bodies(scene)) == {MALLORY_PULL, 9}


def test_wanted_a_flood_by_many_suites_got_one_comment(scene: Scene) -> None:
    files = {f"{name}/{file}": data for name in "abcd" for file, data in left(scene, suite=name).items()}
    result = scene.publish(files)
    assert result.exit_code == 0, result.log
    assert len(scene.fake.state.comments) == 1
    three = {f"{name}/{file}": data for name in "efg" for file, data in left(scene, suite=name).items()}
    scene.publish(three)
    assert len(scene.fake.state.comments) == 4


def test_wanted_a_flood_by_many_pull_requests_of_one_head_got_three_comments(scene: Scene) -> None:
    for number in (9, 10, 11):
        pull = replace(scene.fake.state.pulls[MALLORY_PULL], number=number, base_branch=f"b{number}")
        scene.fake.state.pulls[number] = pull
    files = {f"{name}/{file}": data for name in "abc" for file, data in left(scene, suite=name).items()}
    result = scene.publish(files)
    assert result.exit_code == 0, result.log
    assert sorted(comment_bodies(scene)) == [MALLORY_PULL, 9, 10]
    assert len(scene.fake.state.comments) == 3


def test_wanted_all_requests_of_the_repository_got_a_job_that_ends(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread has more comments than any real one, and our own would come after them."""
    monkeypatch.setattr(type(ARTIFACT_LIMITS), "requests", 12)
    for _ in range(1_500):
        scene.fake.state.add_comment(issue=MALLORY_PULL, author="mallory", body="x")
    result = scene.publish(left(scene))
    assert result.exit_code == 4
    assert "this job has sent 12 requests, as many as one may" in result.log
    assert len(scene.fake.log) == 12
    assert not comment_bodies(scene)


@pytest.mark.parametrize(
    "environment",
    [{f"k{number}": "v" for number in range(FILE_LIMITS.components + 1)}, {"k" * 101: "v"}, {"cpu": "v" * 1_001}],
    ids=["keys", "a name", "a value"],
)
@pytest.mark.parametrize("file", ["report.json", "run.json"])
def test_wanted_room_by_an_endless_environment_got_refused(
    scene: Scene, file: str, environment: dict[str, str]
) -> None:
    files = left(scene)
    document = json.loads(files[file]) | {"environment": environment}
    result = scene.publish({**files, file: json.dumps(document).encode()})
    assert result.exit_code == 3
    assert "environment" in result.summary
    assert scene.writes == []


def failed(scene: Scene, conclusion: str = "failure") -> str:
    result = scene.follow(conclusion=conclusion)
    assert result.exit_code == 0, result.log
    return result.summary


def test_a_failed_measurement_fails_the_check_and_marks_the_comment(scene: Scene) -> None:
    earlier = scene.fake.state.add_comment(
        issue=MALLORY_PULL, author=BOT, body=f"{comment_marker('default')}\n### 🟢 No change seen\n"
    )
    answer = scene.fake.state.add_comment(
        issue=MALLORY_PULL, author=BOT, body="<!-- perf-culprit:v1:answer:3 -->\nBisected."
    )
    for _ in range(2):
        assert "Not measured" in failed(scene)
    assert check_conclusions(scene) == ["failure", "failure"]
    mark, line, *rest = [line for line in earlier.body.splitlines() if line]
    assert mark == comment_marker("default")
    assert line.startswith(f"> ⚠️ **Not measured:** `{scene.head[:7]}` (the measuring run failed, [")
    assert rest == ["### 🟢 No change seen"]
    assert answer.writes == 1
    scene.publish(left(scene))
    assert "Not measured" not in earlier.body


@pytest.mark.parametrize(
    ("conclusion", "words"),
    [
        ("cancelled", "was cancelled"),
        ("action_required", "ended with `action_required`"),
    ],
)
def test_what_was_not_run_to_its_end_writes_nothing_and_says_why(scene: Scene, conclusion: str, words: str) -> None:
    assert f"the measuring run {words}" in failed(scene, conclusion)
    assert scene.writes == []


def test_a_measurement_that_was_skipped_gets_a_neutral_check_and_no_comment(scene: Scene) -> None:
    failed(scene, "skipped")
    assert check_conclusions(scene) == ["neutral"]
    assert [comment for comment in scene.fake.state.comments.values() if comment.author == BOT] == []


def test_the_reason_for_a_missing_comment_is_in_the_summary(scene: Scene) -> None:
    scene.fake.state.pulls[MALLORY_PULL].state = "closed"
    result = scene.publish(left(scene))
    assert result.exit_code == 0, result.log
    assert f"Reason: no open pull request has the head `{scene.head[:10]}`" in result.summary
    (check,) = scene.fake.state.check_runs.values()
    assert "advice, not proof" in check.output["summary"]


def test_history_judges_without_a_checkout(scene: Scene) -> None:
    """The trusted job has no checkout: it reads the commits before the head from the repository."""
    config = Config()
    bare = scene.fake.git_dir
    assert bare is not None
    for seed, name in enumerate(("main1", "main2"), start=1):
        run = measured(FAST, seed=seed, commit=scene.commits[name])
        report = compare_results(
            JobResults(run=run),
            config=config,
            base=None,
            merge=None,
            place=HistoryPlace(repository=bare, url=str(bare)),
        ).report
        record_run(run, report=report, config=config, place=HistoryPlace(url=str(bare)))
    run = measured(SLOW, seed=9, commit=scene.head)
    report = structs.replace(report, target_commit=scene.head, baseline_source=BaselineSource.HISTORY)
    result = scene.publish(
        {"report.json": encode_report(report), **result_files(Comparison(run=run, report=report), JobResults(run=run))}
    )
    assert result.exit_code == 0, result.log
    assert "against 2 stored runs" in comment_bodies(scene)[MALLORY_PULL]
    assert INNOCENT_PULL not in comment_bodies(scene)
