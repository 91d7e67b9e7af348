"""A whole `/perf-bisect`: from the comment to the answer, through the workflow files that users paste.

GitHub is the fake, the repository is real, the machines are this one, and the benchmark's numbers are counted.
"""

import re
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from perf_culprit.model.bisection_files import decode_stored
from perf_culprit.model.run import short_hash
from tests.support.conversation import MOST_DISPATCHES, STEP, Conversation, open_conversation
from tests.support.counting_valgrind import counting_valgrind
from tests.support.fake_github.state import BOT, REPOSITORY_ID, Comment
from tests.support.git_repository import run_git
from tests.support.job import JobResult
from tests.support.recipes import BLOCKS
from tests.support.webhooks import event
from tests.support.workflows.runner import InThisProcess


@pytest.fixture
def conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Conversation]:
    with open_conversation(tmp_path, InThisProcess.with_files_in(tmp_path, monkeypatch, capsys)) as opened:
        yield opened


@pytest.mark.slow  # real processes measure real worktrees
def test_a_database_keeps_a_bisection_of_the_split(conversation: Conversation, tmp_path: Path) -> None:
    (secrets,) = [block.value for block in BLOCKS if block.document == "docs/history.md" and "secrets" in block.value]
    for name, job in (("perf-command", "command"), ("perf-report", "report"), ("perf-bisect", "report")):
        conversation.files[name]["jobs"][job] |= secrets
    conversation.workflows.secrets = {"PERF_HISTORY_URL": f"sqlite:///{tmp_path}/history.db"}
    asked = conversation.say(f"/perf-bisect {conversation.head}")
    rounds = []
    for _ in range(2):
        assert conversation.measure()
        with closing(sqlite3.connect(tmp_path / "history.db")) as database:
            ((content,),) = database.execute("SELECT content FROM perf_culprit_bisections").fetchall()
        rounds.append(len(decode_stored(zlib.decompress(content), place="database").search.results))
    assert 0 < rounds[0] < rounds[1]
    assert "`commit c4`" in conversation.answer(asked)
    bare = conversation.fake.git_dir
    assert bare is not None
    assert not run_git(bare, "branch", "--list", "perf-history")


@pytest.mark.slow  # real processes measure real worktrees, some dozen times
def test_from_the_comment_to_the_culprit(conversation: Conversation) -> None:
    head = conversation.head
    asked = conversation.say("/perf-bisect")
    assert f"/perf-bisect {head}" in conversation.answer(asked)
    assert not conversation.fake.state.dispatches

    asked = conversation.say(f"/perf-bisect {head}\n\nplease")
    assert [content for _, _, content in asked.reactions] == ["eyes"]
    assert "Bisecting `result`" in conversation.answer(asked)
    (check,) = conversation.fake.state.check_runs.values()
    assert (check.status, check.head_sha, check.external_id) == ("in_progress", head, f"bisect-{asked.id}")

    # GitHub delivers the comment twice: the same answer, no second dispatch.
    conversation.deliver(asked)
    assert len(conversation.fake.state.dispatches) == 1

    titles: list[str] = []
    while conversation.measure() and len(titles) < MOST_DISPATCHES:
        titles.append(check.output["title"])
    answer = conversation.answer(asked)
    assert f"{conversation.commits[f'c{STEP}'][:7]}`" in answer.splitlines()[0], answer
    assert re.search(r" by `[^`]+`, `\d{4}-\d\d-\d\d`, introduced", answer.splitlines()[0])
    assert re.search(r"\n\+\d+ .\d+ lines in \d files?; ([\d.]+% likely; )?confirmed", answer), answer
    # The machine that confirmed the culprit has profiled it and its parent.
    assert "`work` takes" in answer
    assert "Call path: `main` → `work`" in answer
    assert (check.status, check.conclusion) == ("completed", "neutral")
    assert f"{conversation.commits[f'c{STEP}'][:7]} introduced the regression: +" in check.output["title"]
    assert len(conversation.fake.state.check_runs) == 1
    assert len({dispatch["inputs"]["dispatch"] for dispatch in conversation.fake.state.dispatches}) == len(titles)

    # A re-run of the report workflow of an old run changes nothing.
    before = len(conversation.fake.state.dispatches)
    conversation.complete(conversation.fake.state.dispatches[0]["run_id"])
    assert len(conversation.fake.state.dispatches) == before
    assert conversation.answer(asked) == answer


@pytest.mark.slow  # the same machinery with the other engine, resumed from the branch for every test
def test_the_weighted_engine_answers_the_comment_that_names_it(conversation: Conversation) -> None:
    asked = conversation.say(f"/perf-bisect {conversation.head} engine=weighted")
    assert "0 of about 100 executions" in conversation.answer(asked)
    told: list[str] = []
    while conversation.measure():
        told.append(conversation.answer(asked))
        assert len(told) < MOST_DISPATCHES
    assert any("about 3 commits and" in text for text in told)
    answer = conversation.answer(asked)
    assert f"{conversation.commits[f'c{STEP}'][:7]}`" in answer.splitlines()[0], answer
    assert "first whose test against the good end is significant" in answer
    assert "Call path: `main` → `work`" in answer
    assert "100 executions in 50 rounds" in answer
    assert "--engine weighted --repeat 10 --threshold 1%" in answer


@pytest.mark.slow  # the same machinery with a valgrind that the workflow's setup installs
@pytest.mark.parametrize(("metric", "confirmed"), [("instructions", False), ("auto", True)])
def test_counts_find_the_culprit(conversation: Conversation, tmp_path: Path, metric: str, confirmed: bool) -> None:
    valgrind = counting_valgrind(tmp_path / "valgrind")
    conversation.files["perf-bisect"]["jobs"]["bisect"]["with"]["setup"] = f'echo {valgrind} >> "$GITHUB_PATH"'
    asked = conversation.say(f"/perf-bisect {conversation.head} metric={metric}")
    assert "Bisecting `command`" in conversation.answer(asked)
    dispatches = 0
    while conversation.measure():
        dispatches += 1
        assert dispatches < MOST_DISPATCHES
    answer = conversation.answer(asked)
    assert f"{conversation.commits[f'c{STEP}'][:7]}`" in answer.splitlines()[0], answer
    assert "introduced the regression: +60" in answer.splitlines()[0]
    assert "Benchmark: the command's `instructions`." in answer
    assert "metric instructions" in answer
    assert ("its time (`result`) confirms it" in answer) is confirmed


@pytest.mark.slow  # the same machinery for one dispatch
def test_a_push_ends_the_bisection(conversation: Conversation) -> None:
    head = conversation.head
    asked = conversation.say(f"/perf-bisect {head} jobs=1")
    conversation.fake.state.pulls[7].head_sha = conversation.commits["c2"]
    assert conversation.measure()
    assert not conversation.measure()
    answer = conversation.answer(asked)
    assert answer.startswith(f"**Stopped:** the head of the pull request has moved on from `{short_hash(head)}`.")
    (check,) = conversation.fake.state.check_runs.values()
    assert check.conclusion == "cancelled"


@pytest.mark.slow  # a few dispatches, until the small budget is spent
def test_a_spent_budget_gives_the_answer_so_far(conversation: Conversation) -> None:
    head = conversation.head
    asked = conversation.say(f"/perf-bisect {head} jobs=1 budget=12")
    dispatches = 0
    while conversation.measure():
        dispatches += 1
        assert dispatches < MOST_DISPATCHES
    answer = conversation.answer(asked)
    assert "the budget is spent" in answer, answer
    assert "could not be told apart" not in answer
    assert "Measured, against the good commit" in answer
    (check,) = conversation.fake.state.check_runs.values()
    assert (check.status, check.conclusion) == ("completed", "neutral")


@pytest.mark.slow  # two measurements, and a bisection that is begun
def test_from_the_push_to_the_ready_command_and_away_again(conversation: Conversation) -> None:
    head = conversation.head
    conversation.push(head)
    (report,) = conversation.fake.state.comments.values()
    assert "1 benchmark got worse" in report.body
    (ready,) = re.findall(r"^/perf-bisect .*$", report.body, re.MULTILINE)
    assert ready == f'/perf-bisect {head} benchmark="result" metric="value"'

    asked = conversation.say(f"/perf-bisect {head} jobs=1")
    (dispatch,) = conversation.fake.state.dispatches
    bisecting = conversation.fake.state.runs[dispatch["run_id"]]
    bisecting.status = "in_progress"
    conversation.push(conversation.commits["c2"])
    # The pull request moved on while machines were measuring: they are stopped, and nothing more is sent.
    assert (bisecting.status, bisecting.conclusion) == ("completed", "cancelled")
    assert conversation.answer(asked).startswith("**Stopped:** the head of the pull request has moved on")
    conversation.complete(bisecting.id)
    assert len(conversation.fake.state.dispatches) == 1
    newest = list(conversation.fake.state.comments.values())[-1]
    assert (report.minimized, "got worse" in newest.body) == (True, False)


@pytest.mark.slow  # one dispatch that is lost and one that is measured
def test_retry_goes_on_after_a_lost_run(conversation: Conversation) -> None:
    head = conversation.head
    asked = conversation.say(f"/perf-bisect {head} jobs=1")
    (lost,) = conversation.fake.state.dispatches
    # The runner died without an event: the run is over without a result.
    run = conversation.fake.state.runs[lost["run_id"]]
    run.status, run.conclusion = "completed", "failure"
    conversation.dispatched = 1
    retry = conversation.say("/perf-retry")
    assert "is under way" in conversation.answer(retry)
    first, second = conversation.fake.state.dispatches
    assert first["inputs"]["dispatch"] != second["inputs"]["dispatch"]
    assert "lost and will be measured again" in conversation.answer(asked)
    assert conversation.measure()
    assert " 0 executions" not in conversation.answer(asked)


RIGHTS = {"actions": "write", "checks": "write", "contents": "write", "pull-requests": "write"}


@pytest.mark.parametrize(
    ("missing", "left", "named"),
    [
        ("actions", "read", "actions: write"),
        ("contents", "read", "contents: write"),
        ("contents", "none", "contents: read"),
        ("pull-requests", "read", "pull-requests: write"),
    ],
)
def test_a_missing_permission_is_named(conversation: Conversation, missing: str, left: str, named: str) -> None:
    """The token lacks one right of the workflow file; if the thread can be answered, that is reported there too."""
    head = conversation.head
    comment = conversation.fake.state.add_comment(issue=7, author="octocat", body=f"/perf-bisect {head}")
    result = command_with(conversation, comment, RIGHTS | {missing: left})
    assert result.exit_code == 4, result.log
    assert named in result.log
    assert "weak-token" not in result.log
    assert not conversation.fake.state.dispatches
    if missing != "pull-requests":
        assert named in conversation.answer(comment)


def test_without_checks_the_thread_tells_the_progress(conversation: Conversation) -> None:
    head = conversation.head
    comment = conversation.fake.state.add_comment(issue=7, author="octocat", body=f"/perf-bisect {head}")
    result = command_with(conversation, comment, RIGHTS | {"checks": "none"})
    assert result.exit_code == 0, result.log
    assert "checks: write" in result.log or "checks: read" in result.log
    assert "Bisecting `result`" in conversation.answer(comment)
    assert len(conversation.fake.state.dispatches) == 1


def command_with(conversation: Conversation, comment: Comment, granted: dict[str, str]) -> JobResult:
    """Return the command job with a token of these rights."""
    assert isinstance(conversation.workflows.own_action, InThisProcess)
    action = conversation.workflows.own_action.runner
    action.token = conversation.fake.add_token("weak-token", granted)
    payload = event("issue_comment", number=7, comment_id=comment.id, comment_body=comment.body, author=comment.author)
    payload["repository"]["default_branch"] = "main"
    return action.run("issue_comment", payload, mode="command", config=".perf-culprit.yml")


def test_on_a_branch_of_the_repository_the_bare_command_is_enough(conversation: Conversation) -> None:
    pull = conversation.fake.state.pulls[7]
    pull.head_repository_id, pull.head_owner = REPOSITORY_ID, "octocat"
    asked = conversation.say("/perf-bisect budget=90min benchmark=result")
    assert "Bisecting `result`" in conversation.answer(asked)
    (dispatch,) = conversation.fake.state.dispatches
    assert (dispatch["workflow"], dispatch["ref"]) == ("perf-bisect.yml", "main")
    assert dispatch["inputs"]["commit"] == conversation.head


def test_what_to_run_must_stand_on_the_default_branch(conversation: Conversation) -> None:
    del conversation.files["perf-command"]["jobs"]["command"]["with"]
    comment = conversation.fake.state.add_comment(issue=7, author="octocat", body=f"/perf-bisect {conversation.head}")
    with pytest.raises(AssertionError, match=r"bisect\.run is not set"):
        conversation.deliver(comment)
    assert "bisect.run is not set" in conversation.answer(comment)


def test_two_deliveries_at_once_start_one_bisection(conversation: Conversation) -> None:
    """The concurrency group keeps them apart; if it did not, the branch would."""
    head = conversation.head
    asked = conversation.say(f"/perf-bisect {head} jobs=1")
    for comment in [answer for answer in conversation.fake.state.comments.values() if answer.author == BOT]:
        del conversation.fake.state.comments[comment.id]
    conversation.deliver(asked)
    assert len(conversation.fake.state.dispatches) == 1
    assert "Bisecting `result`" in conversation.answer(asked)
