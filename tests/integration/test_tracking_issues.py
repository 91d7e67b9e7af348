"""Tracking issues against the fake GitHub: opened once, closed, reopened, never duplicated."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from perf_culprit.action.jobs.notices import Notices
from perf_culprit.action.jobs.regression_issues import track_regressions
from perf_culprit.config.settings import Config
from perf_culprit.errors import InfrastructureError
from perf_culprit.flows.compare import judge_run
from perf_culprit.github.bot_texts import benchmark_key, issue_marker
from perf_culprit.github.job_context import Destination
from perf_culprit.github.posting import tracked_issues
from perf_culprit.model.finding import Acceptance, Baseline, BaselineSource, RunChoice, Verdict
from perf_culprit.model.reason import BaselineReason, VerdictReason, because
from perf_culprit.model.report import Report
from tests.support.fake_github.clients import connected
from tests.support.fake_github.faults import Fault
from tests.support.fake_github.server import BOT_TOKEN, FakeGitHub
from tests.support.fake_github.state import BOT, Issue
from tests.support.git_repository import chain, import_commits, init_repository
from tests.support.measurements import measured

FAST = {"parse": 0.004, "render": 0.02}
SLOW = {**FAST, "parse": 0.0096}
# With two benchmarks only, one stored run proves nothing: the spread between benchmarks must be known.
CALM = {f"steady-{number}": 0.004 for number in range(20)}
EVIL = 'x`|@octocat ![](http://evil) <b> /perf-accept all "now" #1'
NASTY = (
    "--> <script>alert(1)</script>",
    "``` @octocat",
    "a\n```\n@octocat",
    "[x](https://evil.example) @octocat",
    '"quoted" \\ @octocat',
    "<img src=x> @octocat",
)
CONFIG = Config.model_validate({"issues": {"when": "regression", "mention": ["@octo-org/perf"], "labels": ["perf"]}})


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    folder = init_repository(tmp_path_factory.mktemp("tracked") / "repository")
    return folder, import_commits(folder, chain("main", 6))


class Mainline:
    """The default branch, judged commit by commit."""

    def __init__(self, fake: FakeGitHub, repository: tuple[Path, dict[str, str]]) -> None:
        self.fake = fake
        self.folder, self.commits = repository

    def report(self, levels: dict[str, float], *, at: int, base: dict[str, float] | None = None) -> Report:
        # Enough runs that a recovery is proven.
        before = CALM | (base or dict.fromkeys(levels, 0.004) | FAST)
        runs = tuple(measured(before, seed=seed) for seed in range(1, 41))
        choices = (
            RunChoice(
                commit=self.commits["main1"], time=None, chosen=True, reason=because(BaselineReason.AT_MERGE_BASE)
            ),
        )
        target = measured(CALM | levels, seed=50 + at, commit=self.commits[f"main{at}"])
        return judge_run(Baseline(runs=runs, source=BaselineSource.HISTORY, choices=choices), target, config=CONFIG)

    def track(
        self,
        report: Report,
        *,
        config: Config = CONFIG,
        accepted: tuple[Acceptance, ...] = (),
        stored: Report | None = None,
    ) -> list[str]:
        """Track the report. `stored`: the same run against the history, if `report` is against the commit before."""
        if stored is not None:
            report = replace(report, baseline_source=BaselineSource.PAIRED)

        def against_history() -> Report:
            assert stored is not None
            return stored

        client, _ = connected(self.fake)
        destination = Destination(
            repository=self.fake.repository,
            api_url=self.fake.api_url,
            server_url="https://github.example",
            token=BOT_TOKEN,
            bot_login=BOT,
            run_url="https://github.example/octocat/hello/actions/runs/5",
        )
        text = track_regressions(
            client,
            destination,
            report=report,
            config=config,
            repository=self.folder,
            against_history=against_history,
            accepted=accepted,
            notices=Notices(),
        )
        return list(text)

    @property
    def issues(self) -> list[Issue]:
        return list(self.fake.state.issues.values())

    @property
    def open(self) -> list[Issue]:
        return [issue for issue in self.issues if issue.state == "open"]

    def comments(self, issue: Issue) -> list[str]:
        return [comment.body for comment in self.fake.state.comments.values() if comment.issue == issue.number]


@pytest.fixture
def mainline(fake: FakeGitHub, repository: tuple[Path, dict[str, str]]) -> Mainline:
    return Mainline(fake, repository)


def test_a_regression_gets_one_issue_with_all_that_is_needed(mainline: Mainline) -> None:
    text = mainline.track(mainline.report(SLOW, at=3))
    (issue,) = mainline.issues
    assert text == [f"opened {mainline.fake.api_url}/octocat/hello/issues/{issue.number}"]
    assert issue.title.startswith("Performance regression: parse by ")
    assert issue.labels == ["perf"]
    body = issue.body or ""
    good, bad = mainline.commits["main1"], mainline.commits["main3"]
    assert body.splitlines()[0] == issue_marker("default", key=benchmark_key("parse"), worse=True, commit=bad)
    assert f'/perf-bisect good={good} bad={bad} benchmark="parse"' in body.splitlines()
    assert '/perf-accept "parse" REASON' in body.splitlines()
    for number in (2, 3):
        assert f"`main{number}`" in body  # the commits since the last good run, with their subjects
    assert "`main1`" not in body
    assert re.search(r"\| \S+\s\*\*\+\d+(\.\d)?", body)
    assert body.rstrip().endswith("cc @octo-org/perf")
    assert body.count("@") == 1


def test_owners_are_mentioned_when_the_issue_opens_and_not_when_it_reopens(mainline: Mainline) -> None:
    config = Config.model_validate(
        {"issues": {"when": "regression"}, "benchmarks": [{"match": "parse", "owners": ["@octo-org/parser"]}]}
    )
    mainline.track(mainline.report(SLOW, at=3), config=config)
    (issue,) = mainline.issues
    assert (issue.body or "").rstrip().endswith("cc @octo-org/parser")
    mainline.track(mainline.report(FAST, at=4), config=config)
    assert issue.state == "closed"
    mainline.track(mainline.report(SLOW, at=5), config=config)
    assert issue.state == "open"
    assert (issue.body or "").rstrip().endswith("cc `@octo-org/parser`")


def test_the_next_run_says_nothing_while_it_lasts(mainline: Mainline) -> None:
    mainline.track(mainline.report(SLOW, at=3))
    before = [issue.body for issue in mainline.issues]
    assert mainline.track(mainline.report(SLOW, at=4)) == []
    assert [issue.body for issue in mainline.issues] == before


def test_an_issue_of_one_cause_covers_its_benchmarks_and_is_closed_when_all_are_well(mainline: Mainline) -> None:
    client, _ = connected(mainline.fake)
    keys = [benchmark_key(name) for name in FAST]
    marker = issue_marker("default", key="c" * 16, worse=True, commit=mainline.commits["main3"], benchmarks=keys)
    client.open_issue(suite="default", key="c" * 16, title="one cause", body=f"{marker}\n", labels=[])
    assert mainline.track(mainline.report(SLOW, at=3)) == []
    mainline.track(mainline.report(FAST, at=4))
    (issue,) = mainline.issues
    assert issue.state == "closed"
    assert "Every benchmark of this issue is back at its level" in mainline.comments(issue)[0]


def test_of_a_searched_cause_one_well_run_closes_nothing_but_an_acceptance_does(mainline: Mainline) -> None:
    client, _ = connected(mainline.fake)
    settings = {"bisect": {"automatic": True, "run": "./bench"}, "issues": {"when": "regression"}}
    automatic = Config.model_validate(settings)
    keys = [benchmark_key("parse")]
    marker = issue_marker("default", key="c" * 16, worse=True, commit=mainline.commits["main3"], benchmarks=keys)
    client.open_issue(suite="default", key="c" * 16, title="one cause", body=f"{marker}\n", labels=[])
    assert mainline.track(mainline.report(FAST, at=4), config=automatic) == []
    mainline.track(mainline.report(FAST, at=4), config=automatic, accepted=(acceptance(mainline),))
    (issue,) = mainline.issues
    assert issue.state == "closed"
    assert mainline.comments(issue)[0].startswith("Accepted by `ada` at ")


def test_where_a_search_begins_by_itself_nothing_opens_at_once(mainline: Mainline) -> None:
    automatic = {"bisect": {"automatic": True, "run": "./bench"}, "issues": {"when": "regression"}}
    assert mainline.track(mainline.report(SLOW, at=3), config=Config.model_validate(automatic)) == []
    automatic["issues"]["when-found"] = False  # type: ignore[index]
    assert len(mainline.track(mainline.report(SLOW, at=3), config=Config.model_validate(automatic))) == 1


def test_recovered_is_closed_with_a_note_and_back_is_reopened(mainline: Mainline) -> None:
    mainline.track(mainline.report(SLOW, at=3))
    (issue,) = mainline.issues
    mainline.track(mainline.report(FAST, at=4))
    assert issue.state == "closed"
    (note,) = mainline.comments(issue)
    assert "`parse` is back at its level" in note
    assert mainline.track(mainline.report(FAST, at=5)) == []
    mainline.track(mainline.report({**FAST, "parse": 0.02}, at=6))
    assert issue.state == "open"
    assert re.fullmatch(r"Performance regression: parse by 3[89]\d%", issue.title)
    assert mainline.commits["main6"] in (issue.body or "")
    assert len(mainline.issues) == 1
    assert "back" in mainline.comments(issue)[1]


def test_beside_a_commit_as_slow_nothing_has_recovered(mainline: Mainline) -> None:
    mainline.track(mainline.report(SLOW, at=3))
    beside = mainline.report(SLOW, at=4, base=SLOW)
    before = replace(acceptance(mainline), commit=mainline.commits["main2"])
    assert mainline.track(beside, stored=mainline.report(SLOW, at=4), accepted=(before,)) == []
    less_slow = {**SLOW, "parse": 0.008}
    better = mainline.report(less_slow, at=5, base=SLOW)
    vague = undecided(mainline.report(less_slow, at=5))
    assert mainline.track(better, stored=vague) == []
    assert mainline.track(beside, stored=undecided(mainline.report(FAST, at=5))) == []
    assert len(mainline.open) == 1


@pytest.mark.parametrize("few_runs", [True, False])
def test_back_at_the_level_of_the_stored_runs_it_is_closed(mainline: Mainline, few_runs: bool) -> None:
    mainline.track(mainline.report(SLOW, at=3))
    (issue,) = mainline.issues
    stored = mainline.report(FAST, at=4)
    beside = mainline.report(FAST, at=4, base=SLOW if few_runs else FAST)
    mainline.track(beside, stored=undecided(stored) if few_runs else stored)
    assert issue.state == "closed"
    assert "`parse` is back at its level" in mainline.comments(issue)[0]


def undecided(report: Report) -> Report:
    """Return the report as it would be with few stored runs."""
    vague = because(VerdictReason.NOTHING_SEEN, effect=0.4)
    return replace(
        report,
        findings=tuple(replace(entry, verdict=Verdict.NOT_SEEN, reason=vague) for entry in report.findings),
    )


def acceptance(mainline: Mainline) -> Acceptance:
    return Acceptance(
        suite="default",
        benchmark="parse",
        commit=mainline.commits["main3"],
        reason="costs this @octocat",
        author="ada",
        time=datetime(2026, 1, 1, tzinfo=UTC),
    )


def test_accepted_is_closed_with_who_and_why(mainline: Mainline) -> None:
    mainline.track(mainline.report(SLOW, at=3))
    (issue,) = mainline.issues
    mainline.track(mainline.report(SLOW, at=4, base=SLOW), accepted=(acceptance(mainline),))
    assert issue.state == "closed"
    (note,) = mainline.comments(issue)
    assert note.startswith("Accepted by `ada` at ")
    assert "`@octocat`" in note


def test_what_a_person_closed_stays_closed_until_it_recovered(mainline: Mainline) -> None:
    mainline.track(mainline.report(SLOW, at=3))
    (issue,) = mainline.issues
    issue.state = "closed"
    assert mainline.track(mainline.report(SLOW, at=4)) == []
    assert (issue.state, len(mainline.issues)) == ("closed", 1)
    mainline.track(mainline.report(FAST, at=5))
    mainline.track(mainline.report(SLOW, at=6))
    assert (issue.state, len(mainline.issues)) == ("open", 1)


def test_undecided_and_missing_close_nothing(mainline: Mainline) -> None:
    mainline.track(mainline.report(SLOW, at=3))
    assert mainline.track(mainline.report({"render": 0.02}, at=4)) == []
    assert len(mainline.open) == 1


def test_where_a_worsening_may_hide_nothing_is_closed(mainline: Mainline) -> None:
    mainline.track(mainline.report(SLOW, at=3))
    recovered = mainline.report(FAST, at=4)
    assert mainline.track(undecided(recovered)) == []
    assert len(mainline.open) == 1
    mainline.track(recovered)
    assert not mainline.open


@pytest.mark.parametrize("lag", [0, 2])
def test_a_lost_answer_makes_no_second_issue(mainline: Mainline, lag: int) -> None:
    mainline.fake.state.listing_lag = lag
    mainline.fake.faults.append(Fault(request="POST .*/issues", status=502, applied=True))
    mainline.track(mainline.report(SLOW, at=3))
    assert len(mainline.issues) == 1


def test_two_jobs_that_race_leave_one_open_issue(mainline: Mainline) -> None:
    report = mainline.report(SLOW, at=3)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: mainline.track(report), range(4)))
    mainline.track(mainline.report(SLOW, at=4))
    (issue,) = mainline.open
    assert issue.number == min(other.number for other in mainline.issues)


def test_of_two_open_ones_the_oldest_stays(mainline: Mainline) -> None:
    mainline.track(mainline.report(SLOW, at=3))
    (issue,) = mainline.issues
    mainline.fake.state.issues[9999] = Issue(number=9999, title=issue.title, body=issue.body)
    mainline.track(mainline.report(SLOW, at=4))
    assert [other.number for other in mainline.open] == [issue.number]
    assert f"Duplicate of #{issue.number}" in (mainline.fake.state.issues[9999].body or "")


def test_a_pasted_marker_of_somebody_else_is_not_ours(mainline: Mainline) -> None:
    mark = issue_marker("default", key=benchmark_key("parse"), worse=True, commit="a" * 40)
    mainline.fake.state.issues[1] = Issue(number=1, title="mine", body=mark, author="mallory")
    mainline.fake.state.issues[2] = Issue(number=2, title="ours, but quoted", body=f"> {mark}")
    client, _ = connected(mainline.fake)
    assert tracked_issues(client, suite="default") == {}


def test_many_at_once_become_one_joint_issue_that_closes_as_one(mainline: Mainline) -> None:
    names = [f"bench-{number}" for number in range(7)] + [f"calm-{number}" for number in range(20)]
    slow = {name: 0.0096 if name.startswith("bench") else 0.004 for name in names}
    fine = dict.fromkeys(names, 0.004)
    mainline.track(mainline.report(slow, at=3))
    (issue,) = mainline.issues
    assert issue.title == "Performance regressions: 7 benchmarks"
    assert all(f"`bench-{number}`" in (issue.body or "") for number in range(7))
    assert mainline.track(mainline.report(slow, at=4)) == []
    mainline.track(mainline.report({**fine, "bench-1": 0.0096}, at=5))
    assert issue.state == "open"
    mainline.track(mainline.report(fine, at=6))
    assert (issue.state, len(mainline.issues)) == ("closed", 1)


@pytest.mark.parametrize("name", [EVIL, *NASTY])
def test_names_are_inert(mainline: Mainline, name: str) -> None:
    mainline.track(mainline.report({name: 0.0096, "render": 0.02}, at=3, base={name: 0.004, "render": 0.02}))
    (issue,) = mainline.issues
    import cmarkgfm

    html = cmarkgfm.github_flavored_markdown_to_html(issue.body or "")
    for outside in re.split(r"<(?:code|pre)[^>]*>.*?</(?:code|pre)>", html, flags=re.DOTALL)[:]:
        assert "<img" not in outside
        assert "@octocat" not in outside
        assert "<script" not in outside


def test_never_is_the_default_and_asks_nothing(mainline: Mainline) -> None:
    assert mainline.track(mainline.report(SLOW, at=3), config=Config()) == []
    assert not mainline.fake.log


def test_a_missing_permission_is_named(mainline: Mainline) -> None:
    mainline.fake.add_token("reader", {"contents": "read", "issues": "read"})
    client, _ = connected(mainline.fake, token="reader")
    destination = Destination(
        repository=mainline.fake.repository,
        api_url=mainline.fake.api_url,
        server_url="https://github.example",
        token="reader",
        bot_login=BOT,
    )
    report = mainline.report(SLOW, at=3)
    with pytest.raises(InfrastructureError, match="lacks a permission") as caught:
        track_regressions(
            client,
            destination,
            report=report,
            config=CONFIG,
            repository=mainline.folder,
            against_history=lambda: report,
            notices=Notices(),
        )
    assert "issues: write" in str(caught.value)
