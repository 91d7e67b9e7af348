"""A running bisection in the thread: its progress, its suspects, and its end."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from msgspec import structs

from perf_culprit.model.bisection import (
    BisectionReport,
    Job,
    Phase,
    Progress,
    Purpose,
    SearchSettings,
    SearchState,
    Suspect,
)
from perf_culprit.model.dispatch import BisectCommands, Bisection, BisectionStep, BisectJob, Dispatch
from perf_culprit.model.finding import Interval
from perf_culprit.model.reason import Objection, SearchReason, because, remark
from perf_culprit.model.run import MetricKey, short_hash
from perf_culprit.say.bisection_answer import bisection_text
from perf_culprit.say.bisection_steps import progress_line, step_texts
from tests.support.bisections import BAD, FIRST, RANGE, REPORT, SECOND

URL = "https://github.com/octocat/hello"
HOSTILE = "@everyone **x** <b> ![i](https://evil.example)"
ROUNDS = tuple(Job(id=f"r{number}", commits=(FIRST, SECOND), purpose=Purpose.SEARCH) for number in range(3))
BISECTION = Bisection(
    id="900",
    key=MetricKey("parse", "time"),
    metric=REPORT.metric,
    commands=BisectCommands(run="python bench.py"),
    search=SearchState(commit_range=RANGE, settings=SearchSettings()),
    started_at=datetime(2026, 1, 2, tzinfo=UTC),
    subjects={SECOND: HOSTILE},
    pull_request=7,
    requested_by="octocat",
    head=BAD,
    dispatches=(
        Dispatch(
            id="1-x",
            jobs=(BisectJob(id="job-1", rounds=ROUNDS),),
            sender="s",
            stored_at=datetime(2026, 1, 2, tzinfo=UTC),
            run_id=55,
        ),
    ),
)
PROGRESS = Progress(
    phase=Phase.SEARCH,
    executions=30,
    entropy_bits=1.0,
    expected_executions=30,
    suspects=(Suspect(commit=SECOND, posterior=0.7), Suspect(commit=FIRST, posterior=0.2)),
)


def test_a_running_search_says_what_is_left() -> None:
    step = BisectionStep(bisection=structs.replace(BISECTION, runner_seconds=900.0), progress=PROGRESS)
    texts = step_texts(step, repository_url=URL)
    assert texts.title == "searching: 30 of about 60 executions, about 2 commits and 15 runner minutes left"
    assert texts.title in texts.body
    assert "about 2 commits and 15 runner minutes left" in progress_line(PROGRESS, seconds=900.0)


def test_an_answer_ends_with_the_next_step() -> None:
    def answer(report: BisectionReport, head: str | None = BAD) -> str:
        step = BisectionStep(bisection=structs.replace(BISECTION, head=head), progress=PROGRESS, report=report)
        return step_texts(step, repository_url=URL).body

    told = "Next: fix it, revert it, or accept the new baseline:\n\n```text\n"
    assert f'{told}git revert {SECOND}\n/perf-accept {BAD} "parse" REASON\n```' in answer(REPORT)
    assert f'{told}git revert {SECOND}\n/perf-accept "parse" REASON\n```' in answer(REPORT, head=None)
    (culprit,) = REPORT.outcome.culprits
    better = structs.replace(REPORT.outcome, culprits=(structs.replace(culprit, improvement=True),))
    assert "git revert" not in answer(replace(REPORT, outcome=better))
    assert (
        bisection_text(REPORT)
        .rstrip()
        .endswith(f"git revert {SECOND}\nperf-culprit accept --all --commit {SECOND} --reason REASON")
    )


def test_progress_is_told_in_numbers() -> None:
    texts = step_texts(BisectionStep(bisection=BISECTION, progress=PROGRESS), repository_url=URL)
    assert texts.title == "searching: 30 of about 60 executions, about 2 commits left"
    assert "`██████████░░░░░░░░░░`" in texts.body
    assert f"[`{SECOND[:7]}`]({URL}/commit/{SECOND}) at 70" in texts.body
    assert f"[`{FIRST[:7]}`]({URL}/commit/{FIRST}) at 20" in texts.body
    assert f"Dispatch 1: 1 job with 3 rounds [under way]({URL}/actions/runs/55)." in texts.body
    assert "asked for by `octocat`" in texts.body


@pytest.mark.parametrize(
    ("posteriors", "others"), [((0.7, 0.2), "; all others together at 10%"), ((0.7, 0.3), ""), ((0.9, 0.9), "")]
)
def test_what_the_listed_suspects_leave_to_the_others_is_told(posteriors: tuple[float, float], others: str) -> None:
    """The suspects' probabilities may add up to more than 1 if there are two steps."""
    suspects = tuple(Suspect(commit=name, posterior=p) for name, p in zip((SECOND, FIRST), posteriors, strict=True))
    step = BisectionStep(bisection=BISECTION, progress=replace(PROGRESS, suspects=suspects))
    (line,) = (one for one in step_texts(step, repository_url=URL).body.splitlines() if one.startswith("Suspects: "))
    assert line.endswith(f" at {100 * posteriors[1]:.0f}%{others}")


def test_nothing_is_known_before_the_first_result() -> None:
    progress = replace(PROGRESS, executions=0, expected_executions=None, suspects=(), phase=Phase.REPRODUCE)
    step = BisectionStep(
        bisection=structs.replace(BISECTION, dispatches=()),
        progress=progress,
        waiting=because(SearchReason.RUN_UNDER_WAY, run=55),
        remarks=(remark(HOSTILE),),
    )
    texts = step_texts(step, repository_url=URL)
    assert texts.title.startswith("reproducing the change: 0 executions")
    assert "Waiting: run 55 is under way." in texts.body
    assert "Suspects" not in texts.body
    assert "**Remarks**\n\n- " in texts.body
    assert "Reproducing the change: 0 executions." in texts.body
    assert "░" not in texts.body


def test_while_the_change_is_reproduced_its_size_so_far_is_told() -> None:
    interval = Interval(low=-0.02, high=0.11, level=0.95)
    progress = replace(PROGRESS, phase=Phase.REPRODUCE, relative_change=0.04, confidence_interval=interval)
    texts = step_texts(BisectionStep(bisection=BISECTION, progress=progress), repository_url=URL)
    assert "Bad against good so far: +4.0% (" in texts.body.replace("\N{NO-BREAK SPACE}", " ")


def test_a_line_for_who_watches_has_bits_only_when_asked() -> None:
    interval = Interval(low=-0.02, high=0.11, level=0.95)
    ends = replace(
        PROGRESS,
        phase=Phase.REPRODUCE,
        expected_executions=50,
        suspects=(),
        relative_change=0.04,
        confidence_interval=interval,
    )
    line = progress_line(ends, seconds=90.0).replace("\N{NO-BREAK SPACE}", " ")
    left = "30 of about 80 executions, about 2 commits and 3 runner minutes left"
    assert line.startswith(f"reproducing the change: {left}; bad against good +4.0% (")
    assert "bits" not in line + progress_line(PROGRESS)
    assert "left, 3 commits cannot be run" in progress_line(replace(PROGRESS, failing=3)).replace(
        "\N{NO-BREAK SPACE}", " "
    )
    assert "; 1.0 bits; suspects ccccccc (70%)" in progress_line(PROGRESS, verbose=True)


def test_the_answer_replaces_the_progress() -> None:
    done = BisectionStep(bisection=BISECTION, progress=PROGRESS, report=REPORT)
    texts = step_texts(done, repository_url=URL)
    assert texts.title == "ccccccc introduced the regression: +60.4% (+55.0 … +66.0)"
    assert "confirmed in rounds against its parent" in texts.body
    moved = replace(done, bisection=structs.replace(BISECTION, stopped=Objection.HEAD_MOVED, head="a" * 40))
    stopped = step_texts(moved, repository_url=URL)
    assert stopped.title == f"Stopped: the head of the pull request has moved on from {short_hash('a' * 40)}"
    assert stopped.body.startswith(
        f"**Stopped:** the head of the pull request has moved on from `{short_hash('a' * 40)}`."
    )
    later = step_texts(done, repository_url=URL, meanwhile=Objection.PULL_REQUEST_CLOSED)
    assert later.title == texts.title
    assert later.body.startswith("Meanwhile the pull request was closed.")


def test_foreign_text_stays_text() -> None:
    texts = step_texts(
        BisectionStep(
            bisection=structs.replace(BISECTION, key=MetricKey(HOSTILE, HOSTILE), requested_by=HOSTILE, id=HOSTILE),
            progress=PROGRESS,
            waiting=remark(HOSTILE),
            remarks=(remark(HOSTILE),),
        ),
        repository_url=URL,
    )
    rest = "".join(part for index, part in enumerate(texts.body.split("`")) if index % 2 == 0)
    for active in ("@everyone", "**x**", "<b>", "evil"):
        assert active not in rest
