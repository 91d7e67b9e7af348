"""Indirect ways in, and what each lets in: the tests are named as in docs/evidence/security.md's table."""

import json
import socket
import threading
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from msgspec import structs

from perf_culprit.cli.entry import main
from perf_culprit.config.database_url import parse_database
from perf_culprit.errors import UsageError
from perf_culprit.github.bot_texts import suite_id
from perf_culprit.mcp.tools import Reading, Workspace
from perf_culprit.model.finding import Level, Verdict
from perf_culprit.model.report import Conclusion, encode_report
from perf_culprit.model.run_file import encode_run
from perf_culprit.store.opening import open_sql
from tests.support import reports
from tests.support.adversary import MALLORY_PULL, WORKFLOW, Scene, open_scene
from tests.support.fake_github.state import BOT
from tests.support.git_repository import init_repository, run_git
from tests.support.job import JobResult, zipped
from tests.support.stored_runs import make_run
from tests.support.webhooks import event


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Scene]:
    with open_scene(tmp_path, monkeypatch, capsys) as opened:
        yield opened


def last_answer(scene: Scene) -> str:
    return [comment.body for comment in scene.fake.state.comments.values() if comment.author == BOT][-1]


@pytest.mark.parametrize("named", ["", "{old} "], ids=["no head", "the head that was read"])
def test_wanted_an_acceptance_of_a_head_pushed_after_the_comment_got_refused(scene: Scene, named: str) -> None:
    refs, pushed = scene.refs, "9" * 40
    body = f"/perf-accept {named.format(old=scene.head)}all the new grammar costs this"
    scene.fake.state.pulls[MALLORY_PULL].head_sha = pushed
    result = scene.say(body)
    assert result.exit_code == 0, result.log
    assert "**Command rejected:**" in last_answer(scene)
    assert pushed in last_answer(scene)
    assert scene.refs == refs


def test_an_acceptance_in_a_forks_pull_request_names_its_head(scene: Scene) -> None:
    refs = scene.refs
    scene.say(f"/perf-accept {scene.head} all the new grammar costs this")
    assert f"**Accepted** at `{scene.head[:10]}`: all benchmarks." in last_answer(scene)
    assert scene.refs != refs


def report_of(scene: Scene, suite: str, *, failed: bool = False) -> bytes:
    slower = reports.finding("parse", 100, 150, verdict=Verdict.REGRESSION, level=Level.FAIL, rate=1e-6)
    report = reports.report(Conclusion.REGRESSION, slower) if failed else reports.report(Conclusion.NO_CHANGE)
    return encode_report(structs.replace(report, target_commit=scene.head, suite=suite, failed=failed))


# The second name of each pair was once shown, or matched, as the first.
TWICE = {
    "the same": ("default", "default"),
    "the same mark": ("Parse", suite_id("Parse")),
    "the same check": ("x" * 90 + "a", "x" * 90 + "b"),
    "the same to the eye": ("default", "defa\u200bult"),
}


@pytest.mark.parametrize("pair", TWICE)
def test_wanted_a_red_report_covered_by_a_green_one_got_both_or_none(scene: Scene, pair: str) -> None:
    red, green = TWICE[pair]
    files = {"a/report.json": report_of(scene, red, failed=True), "b/report.json": report_of(scene, green)}
    result = scene.publish(files)
    checks = {check.name: check.conclusion for check in scene.fake.state.check_runs.values()}
    if red != green:
        assert sorted(map(str, checks.values())) == ["failure", "success"]
        assert len(scene.fake.state.comments) == 2
        return
    assert (result.exit_code, scene.writes) == (3, [])
    assert "a/report.json" in result.summary
    assert "b/report.json" in result.summary


def test_wanted_a_flood_of_check_runs_got_one(scene: Scene) -> None:
    suites = [f"suite-{number}" for number in range(20)]
    files = {f"{suite}/report.json": report_of(scene, suite, failed=suite == "suite-7") for suite in suites}
    result = scene.publish(files)
    assert result.exit_code == 0, result.log
    (check,) = scene.fake.state.check_runs.values()
    assert (check.name, check.conclusion) == ("perf-culprit: all suites", "failure")
    assert "suite-7" in check.output["summary"]


def checkout(folder: Path) -> Path:
    run_git(init_repository(folder), "commit", "--quiet", "--allow-empty", "--message", "x")
    return folder


# PostgreSQL's messages.
NO_TLS, PASSWORD_WANTED = b"N", b"R\0\0\0\x08\0\0\0\x03"
REFUSED = b"E\0\0\0\x39SFATAL\0C28P01\0Mpassword authentication failed for x\0\0"


@pytest.fixture
def listening() -> Iterator[tuple[int, list[bytes]]]:
    """Start a server that asks each client for a password in clear text; yield its port and the received bytes."""
    sent: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.settimeout(5)
                    while data := connection.recv(4096):
                        sent.append(data)
                        connection.sendall(
                            REFUSED if data[:1] == b"p" else NO_TLS if len(data) == 8 else PASSWORD_WANTED
                        )

        threading.Thread(target=answer, daemon=True).start()
        yield server.getsockname()[1], sent
        server.shutdown(socket.SHUT_RDWR)


PASSWORD = "the-password-of-our-database"


@pytest.mark.parametrize("kept_in", ["PGPASSWORD", ".pgpass"])
def test_wanted_the_databases_password_by_a_configuration_got_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listening: tuple[int, list[bytes]], kept_in: str
) -> None:
    port, sent = listening
    if kept_in == "PGPASSWORD":
        monkeypatch.setenv("PGPASSWORD", PASSWORD)
    else:
        (tmp_path / ".pgpass").write_text(f"*:*:*:*:{PASSWORD}\n")
        (tmp_path / ".pgpass").chmod(0o600)
        monkeypatch.setenv("PGPASSFILE", str(tmp_path / ".pgpass"))
    monkeypatch.chdir(checkout(tmp_path / "code"))
    Path(".github").mkdir()
    Path(".github/perf-culprit.yml").write_text(f"history: postgresql://ada@127.0.0.1:{port}/perf\n")
    assert main(["changes", "--repo", "."]) in (2, 4)
    assert PASSWORD.encode() not in b"".join(sent)


@pytest.mark.parametrize("named", ["absolute", "..", "link"])
def test_wanted_a_database_outside_the_repository_by_a_configuration_got_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], named: str
) -> None:
    with open_sql(parse_database(f"sqlite:///{tmp_path}/private.db")) as private:
        private.append(make_run(1))
    monkeypatch.chdir(checkout(tmp_path / "code"))
    Path("link.db").symlink_to(tmp_path / "private.db")
    file = {"absolute": f"{tmp_path}/private.db", "..": "../private.db", "link": "link.db"}[named]
    Path(".github").mkdir()
    Path(".github/perf-culprit.yml").write_text(f"history: sqlite:///{file}\n")
    before = (tmp_path / "private.db").read_bytes()
    assert main(["changes", "--repo", "."]) == 2
    assert "lies outside" in capsys.readouterr().err
    with pytest.raises(UsageError, match="lies outside"):
        anyio.run(Reading(Workspace(root=tmp_path / "code", scratch=tmp_path)).benchmarks)
    assert (tmp_path / "private.db").read_bytes() == before


def test_wanted_a_flood_of_answers_by_commands_without_rights_got_one(scene: Scene) -> None:
    for number in range(10):
        scene.say("/perf-retry" if number % 2 else "/perf-nothing", author=f"stranger{number % 3}")
    (answer,) = (comment for comment in scene.fake.state.comments.values() if comment.author == BOT)
    assert "`stranger0` does not have write access" in answer.body


@pytest.mark.parametrize("name", ["a.lock", "x/a.lock", "a.lock/x", "a/.b", "a.", "a/", "HEAD"])
@pytest.mark.parametrize("end", ["good", "bad"])
def test_what_git_takes_for_no_name_is_answered(scene: Scene, name: str, end: str) -> None:
    result = scene.say(f"/perf-bisect {scene.head} {end}={name}")
    assert result.exit_code == 0, result.log
    assert f"`{name}` isn't a commit" in last_answer(scene)


@pytest.mark.parametrize("merge", ["8" * 40, "main", "8" * 7, "8" * 39 + "\\n"])
@pytest.mark.parametrize("cause", ["push", "pull_request"])
def test_wanted_a_run_stored_under_another_commit_got_refused(scene: Scene, cause: str, merge: str) -> None:
    """A pull request may have GitHub's merge measured, a push only the pushed commit."""
    refs = scene.refs
    run = structs.replace(make_run(1), commit=merge, suite="default")
    report = json.loads(report_of(scene, "default")) | {"merge_commit": merge, "base_commit": scene.commits["main1"]}
    content = zipped({"report.json": json.dumps(report).encode(), "run.json": encode_run(run)})
    scene.fake.state.runs[55].event = cause
    scene.fake.state.add_artifact(name="perf-culprit-report", run_id=55, head_sha=scene.head, zip_bytes=content)
    if cause == "push":
        result = scene.follow(run_event=cause, head_owner="octocat", head_branch="main")
    else:
        result = scene.follow(run_event=cause)
    refused = cause == "push" or len(merge) != 40
    assert result.exit_code == (3 if refused else 0), result.log
    assert scene.refs == refs


def follow_main(scene: Scene, title: str, *, cause: str, conclusion: str) -> JobResult:
    """Run the trusted job after a run of the default branch with this title."""
    main = scene.commits["main2"]
    facts = {"head_sha": main, "head_branch": "main", "run_event": cause, "conclusion": conclusion}
    payload = event("workflow_run", workflow=WORKFLOW, run_id=55, **facts)
    payload["repository"]["default_branch"] = "main"
    payload["workflow_run"]["display_title"] = title
    return scene.runner.run("workflow_run", payload)


@pytest.mark.parametrize("cause", ["push", "schedule"])
@pytest.mark.parametrize("kind", ["all", "part v1"])
def test_wanted_a_push_taken_for_a_request_by_its_subject_got_recorded(scene: Scene, cause: str, kind: str) -> None:
    """A run's title is the commit's subject, which its author writes: only a dispatch has a title of ours."""
    main = scene.commits["main2"]
    title = f"perf-run {MALLORY_PULL} {scene.head} {scene.commits['main1']} 99 {kind}"
    slower = reports.finding("parse", 100, 150, verdict=Verdict.REGRESSION, level=Level.FAIL, rate=1e-6)
    report = structs.replace(reports.report(Conclusion.REGRESSION, slower), target_commit=main, failed=True)
    scene.fake.state.add_artifact(
        name="perf-culprit-report", run_id=55, head_sha=main, zip_bytes=zipped({"report.json": encode_report(report)})
    )
    result = follow_main(scene, title, cause=cause, conclusion="success")
    assert result.exit_code == 0, result.log
    (check,) = scene.fake.state.check_runs.values()
    assert (check.head_sha, check.conclusion) == (main, "failure")
    assert not scene.fake.state.comments


def test_wanted_no_failing_check_for_a_crashed_push_by_its_subject_got_one(scene: Scene) -> None:
    title = f"perf-run {MALLORY_PULL} {scene.head} {scene.commits['main1']} 99 all"
    result = follow_main(scene, title, cause="push", conclusion="failure")
    assert result.exit_code == 0, result.log
    (check,) = scene.fake.state.check_runs.values()
    assert (check.head_sha, check.conclusion) == (scene.commits["main2"], "failure")
    assert not scene.fake.state.comments


HIDDEN = ["\u200b", "\u202e", "\u2066", "\x00", "\n", "\r", "\x1b[31m", "\u2028", "\ud800", "\U000e0041"]
# Unicode's categories do not say that these show nothing.
UNSEEN = ["\ufe0f", "\ufe00", "\u034f", "\u115f", "\u3164", "\uffa0", "\u180b", "\u2800", "\U000e0100"]


@pytest.mark.parametrize("hidden", [*HIDDEN, *UNSEEN], ids=map(ascii, [*HIDDEN, *UNSEEN]))
def test_wanted_a_hidden_character_shown_by_github_got_it_replaced(scene: Scene, hidden: str) -> None:
    """All sent text is cleaned in one place: names of checks, titles and comments."""
    document = json.loads(report_of(scene, "default", failed=True)) | {"suite": f"de{hidden}fault"}
    result = scene.publish({"report.json": json.dumps(document).encode()})
    # A lone surrogate is no text, and refused as a whole.
    assert result.exit_code == (3 if hidden == "\ud800" else 0), result.log
    for text in sent_texts(scene):
        assert [c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")] == []
    for check in scene.fake.state.check_runs.values():
        assert check.name.isprintable()
        assert not set(UNSEEN) & set(check.name)
        assert check.name != "perf-culprit (default)"


def sent_texts(scene: Scene) -> Iterator[str]:
    pending: list[object] = [exchange.request.body for exchange in scene.fake.log]
    while pending:
        match pending.pop():
            case str(text):
                yield text
            case dict() as members:
                pending += members.values()
            case list() as entries:
                pending += entries
            case _:
                pass
