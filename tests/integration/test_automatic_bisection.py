"""Searches that start automatically: pushes through the action, dispatches measured by scripted machines."""

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from perf_culprit.action.jobs.culprit_issues import report_search
from perf_culprit.action.jobs.notices import Notices
from perf_culprit.config.settings import Config
from perf_culprit.dispatch.automatic import automatic_searches
from perf_culprit.github.bot_texts import ISSUE, benchmark_key
from perf_culprit.model.run import MetricKey
from perf_culprit.store.opening import open_history
from tests.support.fake_github.clients import connected, destination
from tests.support.fake_github.state import PullRequest
from tests.support.git_repository import run_git
from tests.support.mainline import CONFIG, START, Mainline, Recorded, open_mainline, recorded_mainline
from tests.support.webhooks import event

LATER = START + timedelta(days=30)

pytestmark = pytest.mark.slow  # each a dozen jobs with git over HTTP


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return recorded_mainline(tmp_path_factory.mktemp("recorded"))


@pytest.fixture
def mainline(
    recorded: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Mainline]:
    with open_mainline(recorded, tmp_path, monkeypatch, capsys) as opened:
        yield opened


def alarm(mainline: Mainline, **levels: float) -> str:
    """Push a regression between two other commits until a search begins; return the culprit."""
    mainline.commit()
    culprit = mainline.commit("Fold accents", **levels)
    mainline.commit()
    pushed_until_searched(mainline)
    return culprit


def pushed_until_searched(mainline: Mainline) -> None:
    before = len(mainline.fake.state.dispatches)
    log = mainline.push().log
    for _ in range(4):
        if len(mainline.fake.state.dispatches) > before:
            return
        mainline.commit()
        log += mainline.push().log
    raise AssertionError(log)


def test_a_regression_becomes_an_issue_that_names_its_culprit(mainline: Mainline) -> None:
    culprit = alarm(mainline, parse=0.0096)
    mainline.fake.state.pulls[9] = PullRequest(
        number=9, head_sha="9" * 40, head_branch="accents", state="closed", merge_commit_sha=culprit
    )
    assert not mainline.fake.state.issues
    mainline.search()
    (issue,) = mainline.fake.state.issues.values()
    assert issue.title.startswith("Performance regression: parse by 1")
    assert issue.title.endswith(f" since {culprit[:7]}")
    assert issue.labels == ["performance"]
    assert "Fold accents" in (issue.body or "")
    (comment,) = mainline.fake.state.comments.values()
    assert comment.issue == 9
    assert "1 benchmark worse" in comment.body
    assert re.search(r"The search took \d+ executions", comment.body)
    # Further pushes and repeated events change nothing: the culprit is known.
    dispatches = len(mainline.fake.state.dispatches)
    mainline.commit()
    mainline.push()
    mainline.served -= 1
    mainline.measure()
    assert len(mainline.fake.state.dispatches) == dispatches
    assert len(mainline.fake.state.issues) == len(mainline.fake.state.comments) == 1


def test_a_new_image_is_no_ones_commit(mainline: Mainline) -> None:
    mainline.image, mainline.speed = "ubuntu26 20261115.2", 2.0
    mainline.commit()
    pushed_until_searched(mainline)
    # The image of the slow runs is the one that is still available.
    assert mainline.fake.state.dispatches[-1]["inputs"]["runner"] == "ubuntu-26.04"
    messages = mainline.search()
    assert (
        "not caused by this commit: the environment changed (`image ubuntu24 20261101.1 → ubuntu26 20261115.2`)"
        in messages
    )
    assert not mainline.fake.state.issues
    dispatches = len(mainline.fake.state.dispatches)
    mainline.commit()
    mainline.push()
    assert len(mainline.fake.state.dispatches) == dispatches


def test_a_wrong_alarm_dies_in_the_searchs_reproduction(mainline: Mainline) -> None:
    mainline.speed = 2.0
    mainline.commit()
    pushed_until_searched(mainline)
    mainline.speed = 1.0
    assert "The change was not reproduced" in mainline.search()
    mainline.commit()
    mainline.push()
    assert not mainline.fake.state.issues
    assert mainline.served == len(mainline.fake.state.dispatches)


def test_a_culprit_that_was_reverted_meanwhile_opens_nothing(mainline: Mainline) -> None:
    culprit = alarm(mainline, parse=0.0096)
    mainline.commit(f"Revert\n\nThis reverts commit {culprit}.", parse=0.004)
    mainline.push()
    messages = mainline.search()
    assert f"{culprit[:7]}" in messages
    assert "has reverted it" in messages
    assert not mainline.fake.state.issues


def test_a_default_branch_pushed_by_force_opens_nothing(mainline: Mainline) -> None:
    culprit = alarm(mainline, parse=0.0096)
    del mainline.commits[mainline.commits.index(culprit) :]
    mainline.commit(parse=0.004)
    mainline.push()
    assert "the default branch no longer has it" in mainline.search()
    assert not mainline.fake.state.issues
    # No issue follows it, so none is checked for being over.
    assert len({dispatch["inputs"]["bisection"] for dispatch in mainline.fake.state.dispatches}) == 1


def test_a_lost_event_and_a_killed_job_cost_time_only(mainline: Mainline, monkeypatch: pytest.MonkeyPatch) -> None:
    alarm(mainline, parse=0.0096)
    mainline.measure(tells=False)  # the job that reports never came
    mainline.commit()
    mainline.push()
    with monkeypatch.context() as patch:
        patch.setattr("perf_culprit.action.jobs.culprit_issues.report_search", killed, raising=False)
        with pytest.raises(KeyboardInterrupt):
            mainline.search()
    assert not mainline.fake.state.issues
    mainline.commit()
    mainline.push()
    assert len(mainline.fake.state.issues) == 1


def killed(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_the_days_budget_holds_for_many_slow_commits(mainline: Mainline) -> None:
    mainline.configure({**CONFIG, "bisect": {**CONFIG["bisect"], "searches-per-day": 1}})
    two_regressions(mainline)
    assert "waiting to be searched: 1; the day's 1 searches are spent" in mainline.search()
    assert len({dispatch["inputs"]["bisection"] for dispatch in mainline.fake.state.dispatches}) == 1
    assert len(mainline.fake.state.issues) == 1


def test_benchmarks_that_step_together_are_one_issue(mainline: Mainline) -> None:
    mainline.noise = 0.02
    culprit = alarm(mainline, parse=0.0096, render=0.05)
    mainline.search()
    (issue,) = mainline.fake.state.issues.values()
    assert issue.title.startswith("Performance regression: 2 benchmarks by up to 1")
    assert {"parse", "render"} == set(re.findall(r"^\| `(\w+)` \| time", issue.body or "", re.MULTILINE))
    assert culprit[:7] in issue.title


def quiet_runs(mainline: Mainline, count: int) -> None:
    """Store `count` more runs of the default branch, without the action."""
    made = [mainline.commit() for _ in range(count)]
    run_git(mainline.bare, "update-ref", "refs/heads/main", made[-1])
    with open_history(Config().history, url=str(mainline.bare)) as history:
        history.append_all(
            [mainline.run(commit, START + timedelta(days=30, hours=at)) for at, commit in enumerate(made)]
        )


def test_a_faster_machine_leaves_the_issue_open_and_the_fix_closes_it(mainline: Mainline) -> None:
    alarm(mainline, parse=0.0096)
    mainline.search()
    (issue,) = mainline.fake.state.issues.values()
    mainline.speed = 0.004 / 0.0096
    quiet_runs(mainline, 9)
    mainline.push()
    assert "the regression is still there" in mainline.search()
    assert issue.state == "open"
    mainline.speed = 1.0
    mainline.commit("Faster again", parse=0.004)
    quiet_runs(mainline, 31)
    mainline.push()
    assert "the regression is over" in mainline.search()
    assert issue.state == "closed"
    (note,) = (comment.body for comment in mainline.fake.state.comments.values() if comment.issue == issue.number)
    assert re.search(r"the two ends differ by .*, not by the \+\d+(\.\d)?% of the stored runs", note)
    assert re.search(r"The check took \d+ executions in \d+ runner minutes", note)
    mainline.commit()
    mainline.push()
    assert mainline.served == len(mainline.fake.state.dispatches)


def test_a_later_search_that_names_the_same_commit_joins_its_issue(mainline: Mainline) -> None:
    alarm(mainline, parse=0.0096)
    mainline.search()
    (issue,) = mainline.fake.state.issues.values()
    text = (issue.body or "").partition("\n")[2]
    with open_history(Config().history, url=str(mainline.bare)) as history:
        (first,) = automatic_searches(history, "default")
    assert first.alarm is not None
    (metric,) = first.alarm.metrics
    other = replace(metric, key=MetricKey("render", "time"))
    later = replace(first, key=other.key, alarm=replace(first.alarm, metrics=(other,)))
    for _ in range(2):  # the second time the issue exists
        report_search(
            connected(mainline.fake)[0],
            destination(mainline.fake),
            later,
            config=Config.model_validate(CONFIG),
            repository=mainline.bare,
            branch="refs/heads/main",
            say=lambda _: None,
            notices=Notices(),
        )
    (issue,) = mainline.fake.state.issues.values()
    assert (issue.body or "").partition("\n")[2] == text
    assert "`parse`" in text
    (comment,) = mainline.fake.state.comments.values()
    assert comment.body.startswith("Another search ended at this cause. It took ")
    assert {"render"} == set(re.findall(r"^\| `(\w+)` \| time", comment.body, re.MULTILINE))
    # The issue covers both from now on, so it is closed when both have recovered.
    marker = ISSUE.match(issue.body or "")
    assert marker is not None
    assert set(marker["benchmarks"].split()) == {benchmark_key("parse"), benchmark_key("render")}


def test_two_regressions_in_one_push_are_two_causes(mainline: Mainline) -> None:
    first, second = two_regressions(mainline)
    mainline.search()
    issues = {issue.title.rpartition(" ")[2]: issue.title for issue in mainline.fake.state.issues.values()}
    assert set(issues) == {first[:7], second[:7]}, issues
    assert ": parse by" in issues[first[:7]]
    assert ": render by" in issues[second[:7]]


def two_regressions(mainline: Mainline) -> tuple[str, str]:
    mainline.commit()
    first = mainline.commit("One", parse=0.0096)
    mainline.commit()
    mainline.commit()
    second = mainline.commit("Two", render=0.05)
    mainline.commit()
    pushed_until_searched(mainline)
    return first, second


def test_a_culprit_in_a_batch_of_the_merge_queue_is_the_pull_requests_own_commit(mainline: Mainline) -> None:
    base, before = mainline.commits[-1], mainline.now
    inner: dict[int, str] = {}
    for number, change in ((21, {}), (22, {"parse": 0.0096}), (23, {})):
        tip, levels = mainline.commits[-1], mainline.now
        mainline.commits.append(base)
        mainline.now = before
        inner[number] = mainline.commit(f"Change of {number}", **change)
        mainline.now = {**levels, **change}
        merge = run_git(
            mainline.bare,
            "commit-tree",
            f"{inner[number]}^{{tree}}",
            "-p",
            tip,
            "-p",
            inner[number],
            "-m",
            f"#{number}",
        )
        mainline.levels[merge] = mainline.now
        mainline.commits[-2:] = [merge]
        mainline.fake.state.pulls[number] = PullRequest(
            number=number,
            head_sha=inner[number],
            head_branch=f"change-{number}",
            state="closed",
            merge_commit_sha=merge,
        )
    pushed_until_searched(mainline)
    mainline.search()
    (issue,) = mainline.fake.state.issues.values()
    assert issue.title.endswith(f" since {inner[22][:7]}")
    assert [comment.issue for comment in mainline.fake.state.comments.values()] == [22]


def test_a_budget_that_is_too_small_names_nobody_and_says_so_in_one_issue(mainline: Mainline) -> None:
    mainline.configure({**CONFIG, "bisect": {**CONFIG["bisect"], "budget-executions": 20}})
    mainline.noise = 0.02
    for _ in range(5):
        mainline.commit()
    alarm(mainline, parse=0.0096)
    mainline.search()
    (issue,) = mainline.fake.state.issues.values()
    assert " since " not in issue.title
    assert "the search could not name one commit" in (issue.body or "")
    assert "budget" in (issue.body or "")
    mainline.commit()
    mainline.push()
    assert mainline.served == len(mainline.fake.state.dispatches)


def test_a_pull_request_never_starts_a_search(mainline: Mainline) -> None:
    head = mainline.commit(parse=0.0096)
    run_git(mainline.bare, "update-ref", "refs/pull/7/head", head)
    mainline.commits.pop()
    run_git(mainline.runner.workspace, "fetch", "--quiet", "origin", "refs/pull/7/head", "main")
    mainline.runner.checkout(head)
    (mainline.runner.workspace / "bench.json").write_bytes(b"{}")
    for owner in ("octocat", "mallory"):
        facts = {"head_sha": head, "base_sha": mainline.commits[-1], "head_owner": owner}
        payload = event("pull_request", number=7, **facts)
        mainline.runner.run("pull_request", payload, output_file_path="bench.json", config=".perf-culprit.yml")
    assert not mainline.fake.state.dispatches
