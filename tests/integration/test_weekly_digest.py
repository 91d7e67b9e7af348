"""The weekly digest: one comment a week in a chosen issue, from stored runs, however often its job is repeated."""

import re
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from perf_culprit import git
from perf_culprit.action.jobs.weekly_digest import write_digest
from perf_culprit.config.settings import Config
from perf_culprit.errors import BotError
from perf_culprit.github.bot_texts import benchmark_key, issue_marker
from perf_culprit.model.finding import Acceptance
from perf_culprit.model.run import Cost, Environment, MetricKey
from perf_culprit.store.opening import HistoryPlace, open_git_branch
from tests.support.fake_github.clients import connected
from tests.support.fake_github.faults import Fault
from tests.support.fake_github.server import FakeGitHub
from tests.support.fake_github.state import BOT, Issue
from tests.support.git_repository import chain, import_commits, init_repository
from tests.support.measurements import MACHINE, measured
from tests.support.runner_pool import new_bisection
from tests.support.scenarios import LEVEL, SLOWER, Project, open_project
from tests.support.thread_picture import keep_page
from tests.support.workflows.runner import InThisProcess

MONDAY = date(2026, 11, 9)
NUMBER = 400
URL = "https://github.example/octocat/hello"
LEVELS = {f"io/read-{number}": 0.004 for number in range(20)} | {"parse": 0.004, "render": 0.02}
SLOW_PARSE = LEVELS | {"parse": 0.0060}
EVIL = "x`|@octocat ![](http://evil) <b>"


class Repository:
    """A default branch of twelve commits. The first eight were measured in the week before `MONDAY`."""

    def __init__(self, folder: Path, fake: FakeGitHub) -> None:
        self.folder, self.fake = init_repository(folder), fake
        self.commits = import_commits(self.folder, chain("main", 12))
        fake.state.issues[NUMBER] = Issue(number=NUMBER, title="Performance", author="octocat")
        for number in range(1, 9):
            self.measure(number, LEVELS, day=MONDAY - timedelta(days=min(9 - number, 7)))

    def measure(
        self,
        number: int,
        levels: Mapping[str, float],
        *,
        day: date,
        worse: tuple[str, ...] = (),
        machine: Environment = MACHINE,
    ) -> None:
        run = measured(levels, seed=number, commit=self.commits[f"main{number}"], environment=machine)
        noon = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
        worse_keys = tuple(MetricKey(name, "time") for name in worse)
        with open_git_branch(git.Remote(url=str(self.folder))) as history:
            history.append(replace(run, time=noon, cost=Cost(20, 150.0), regressions=worse_keys))

    def write(self, *, day: date = MONDAY + timedelta(days=8), config: Config = Config()) -> str | None:  # noqa: B008
        client, _ = connected(self.fake)
        return write_digest(
            client,
            number=NUMBER,
            config=config,
            place=HistoryPlace(url=str(self.folder)),
            commits=nullcontext(self.folder),
            branch="main12",
            repository_url=URL,
            today=day,
        )

    @property
    def digests(self) -> list[str]:
        return [one.body for one in self.fake.state.comments.values() if one.issue == NUMBER]


@pytest.fixture
def repository(tmp_path: Path, fake: FakeGitHub) -> Repository:
    return Repository(tmp_path / "repository", fake)


def digest_of(repository: Repository) -> str:
    repository.write()
    (only,) = repository.digests
    return only


def test_a_week_is_told_once(repository: Repository) -> None:
    repository.measure(9, LEVELS, day=MONDAY)
    repository.measure(10, SLOW_PARSE | {"render": 0.016}, day=MONDAY + timedelta(days=3), worse=("parse",))
    repository.measure(11, LEVELS, day=MONDAY + timedelta(days=8))
    text = digest_of(repository)
    keep_page("digest.html", repository.fake.state.comments.values())
    lines = text.splitlines()
    assert lines[0] == "<!-- perf-culprit:v1:digest:default:2026-W47 -->"
    assert lines[1] == "### 🟠 Performance, 9\N{EN DASH}15 November 2026: 1 of 22 benchmarks looks slower, not proven"
    assert re.search(r"\+\d\d\.\d%\*\* \| `parse` \|.* suspected\sslower", text)
    assert re.search(r"1\d\.\d%\*\* \| `render` \|.* suspected\sfaster", text)
    newest, before, this_week = (repository.commits[f"main{number}"] for number in (10, 8, 11))
    compared = (
        f"This compares the newest run, at {linked(newest)}, with 8 runs before the week, up to {linked(before)}."
    )
    assert compared in lines
    assert f"- `parse` got or looks worse since {linked(newest)}" in lines
    assert (
        "2 stored runs of 2 commits: 40 executions in 5 runner minutes. What pull requests took is not stored." in lines
    )
    assert this_week not in text
    repository.measure(12, SLOW_PARSE, day=MONDAY + timedelta(days=9), worse=("render",))
    assert repository.write(day=MONDAY + timedelta(days=13)) is None
    assert repository.digests == [text]
    assert repository.write(day=MONDAY + timedelta(days=14)) is not None
    assert len(repository.digests) == 2
    assert "16\N{EN DASH}22 November 2026" in repository.digests[1]


def linked(commit: str) -> str:
    return f"[`{commit[:7]}`]({URL}/commit/{commit})"


def test_a_quiet_week_leaves_nothing_open(repository: Repository) -> None:
    repository.measure(9, LEVELS, day=MONDAY, worse=("parse",))
    for number in (10, 11, 12):
        repository.measure(number, LEVELS, day=MONDAY + timedelta(days=number - 9))
    text = digest_of(repository)
    assert "looks slower" not in text
    assert "Nothing waits for an answer." in text, "parse is back"


def test_another_machine_compares_nothing(repository: Repository) -> None:
    other = Environment(components={**MACHINE.components, "cpu": "another"})
    repository.measure(9, SLOW_PARSE, day=MONDAY, machine=other)
    text = digest_of(repository)
    assert "November 2026: other hardware: nothing to compare with" in text
    assert "This compares" not in text


def test_what_waits_for_an_answer(repository: Repository) -> None:
    worse = tuple(f"io/read-{number}" for number in range(5))
    levels = LEVELS | dict.fromkeys(worse, 0.008)
    commit = repository.commits["main9"]
    repository.measure(9, levels, day=MONDAY, worse=worse)
    key = benchmark_key("io/read-0")
    body = issue_marker("default", key=key, worse=True, commit=commit)
    repository.fake.state.issues[7] = Issue(number=7, title="Performance regression", body=body)
    acceptance = Acceptance(
        suite="default", benchmark="io/read-1", commit=commit, reason="x", author="ada", time=datetime.now(UTC)
    )
    with open_git_branch(git.Remote(url=str(repository.folder))) as history:
        history.accept((acceptance,))
        search = replace(new_bisection(), key=MetricKey("io/read-3", "time"), runner_seconds=600.0)
        history.store(replace(search, started_at=datetime(2026, 11, 12, tzinfo=UTC)), expected=None)
    repository.write(config=Config.model_validate({"watch": ["io/read-2"]}))
    (text,) = repository.digests
    keep_page("digest-waiting.html", repository.fake.state.comments.values())
    waiting = [line for line in text.partition("**Waits for an answer**")[2].splitlines() if line.startswith("- ")]
    assert waiting == [
        f"- [#7]({repository.fake.api_url}/octocat/hello/issues/7): `io/read-0`",
        f"- `io/read-4` got or looks worse since {linked(commit)}",
        "- `io/read-3`: its cause has been searched for since 12 November",
    ]
    assert "**Worse, and only watched**" in text
    assert "Searches took 10 runner minutes" in text


def test_names_of_benchmarks_notify_nobody(repository: Repository) -> None:
    repository.measure(9, LEVELS | {EVIL: 0.004}, day=MONDAY, worse=(EVIL,))
    text = digest_of(repository)
    shown = [shown for line in text.splitlines() if "octocat" in line for shown in re.sub(r"(`+).*?\1", "", line)]
    assert "http://evil" in text
    assert "@" not in shown
    assert "<b>" not in re.sub(r"(`+).*?\1", "", text)


def test_a_lost_answer_and_two_racing_jobs_leave_one_comment(repository: Repository) -> None:
    repository.measure(9, LEVELS, day=MONDAY)
    repository.fake.faults.append(Fault(request=r"POST /repos/.*/comments", status=502, applied=True))
    text = digest_of(repository)
    repository.fake.state.add_comment(issue=NUMBER, author=BOT, body=text)
    repository.write()
    assert repository.digests == [text]
    repository.fake.state.add_comment(issue=NUMBER, author="mallory", body=text)
    repository.write()
    assert len(repository.digests) == 2, "another person's copy counts for nothing"


def test_a_job_that_fails_at_any_request_leaves_one_comment_to_the_next(repository: Repository) -> None:
    repository.measure(9, LEVELS, day=MONDAY)
    refused = 0
    for spared in range(9):
        repository.fake.state.comments.clear()
        repository.fake.faults.append(Fault(request=".*", status=403, spared=spared))
        try:
            repository.write()
        except BotError:
            refused += 1
            assert repository.digests == []
        repository.fake.faults.clear()
        repository.write()
        assert len(repository.digests) == 1
    assert refused > 2


def test_without_an_earlier_week_there_is_no_digest(repository: Repository) -> None:
    assert repository.write(day=MONDAY - timedelta(days=1)) is None
    assert repository.write(config=Config(suite="other")) is None
    assert repository.digests == []
    repository.write(day=MONDAY)
    assert "### Performance, 2\N{EN DASH}8 November 2026: the first runs" in repository.digests[0].splitlines()


def test_runs_of_another_branch_are_left_out(repository: Repository) -> None:
    repository.commits |= import_commits(repository.folder, chain("side", 1))
    repository.commits["main99"] = repository.commits["side1"]
    repository.measure(99, SLOW_PARSE, day=MONDAY, worse=("parse",))
    assert repository.write() is None


def test_a_push_writes_the_digest_and_a_second_one_leaves_it(project: Project) -> None:
    project.configuration = f"issues: {{digest: {NUMBER}}}\n"
    project.report(project.push(LEVEL))
    assert "digest of the week" not in project.report(project.push(LEVEL)).log, "no earlier week has a run"
    run = measured({"parse": 0.001, "render": 0.003}, seed=1, commit=project.main)
    with open_git_branch(git.Remote(url=str(project.folder))) as history:
        history.append(replace(run, time=datetime.now(UTC) - timedelta(days=8)))
    project.fake.faults.append(Fault(request=rf"GET /repos/.*/issues/{NUMBER}.*", status=404))
    first = project.report(project.push(LEVEL))
    assert "::warning title=perf-culprit::weekly digest: " in first.log, "there is no such issue"
    assert not first.failed
    project.fake.state.issues[NUMBER] = Issue(number=NUMBER, title="Performance", author="octocat")
    second = project.report(project.push(LEVEL))
    assert "digest of the week: http" in second.log
    text = project.comments(NUMBER)
    assert len(text) == 1
    third = project.report(project.push(SLOWER))
    assert "digest of the week" not in third.log
    assert project.comments(NUMBER) == text


def test_a_pull_request_writes_none(project: Project) -> None:
    project.configuration = f"issues: {{digest: {NUMBER}}}\n"
    project.report(project.push(LEVEL))
    project.fake.state.issues[NUMBER] = Issue(number=NUMBER, title="Performance", author="octocat")
    run = measured({"parse": 0.001, "render": 0.003}, seed=1, commit=project.main)
    with open_git_branch(git.Remote(url=str(project.folder))) as history:
        history.append(replace(run, time=datetime.now(UTC) - timedelta(days=8)))
    project.report(
        project.run_pull(project.open_pull(7, base=project.main, level=LEVEL, merged_level=LEVEL, fork=True))
    )
    assert project.comments(NUMBER) == []


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Project]:
    action = InThisProcess.with_files_in(tmp_path / "action", monkeypatch, capsys)
    with open_project(tmp_path, action, split=True) as opened:
        opened.files["perf-report"]["jobs"]["report"]["with"] = {"config": "perf.yml"}
        yield opened
