"""The texts of a search that started automatically."""

import re
from dataclasses import replace

import numpy as np
from msgspec import structs

from perf_culprit.action.jobs.job_results import environment_changed
from perf_culprit.model.bisection import Outcome, OutcomeKind
from perf_culprit.model.dispatch import AlarmedMetric
from perf_culprit.model.finding import Interval
from perf_culprit.model.run import Cost, EnvironmentChange, MetricKey
from perf_culprit.say.issue_texts import Cause, IssueOptions, cause_body, cause_title, culprit_comment, no_issue_line
from tests.support.bisections import REPORT
from tests.support.measurements import SECONDS

CULPRIT = REPORT.outcome.culprits[0]
COST = Cost(executions=56, seconds=2765.0)
EVIL = 'x`|@octocat ![](http://evil) <b> "#1'


def metrics(count: int, name: str = "b{}") -> tuple[AlarmedMetric, ...]:
    keys = (MetricKey(name.format(number), "time") for number in range(count))
    return tuple(AlarmedMetric(key=key, metric=SECONDS, before=0.010, after=0.013) for key in keys)


def test_200_benchmarks_of_one_cause_are_one_text() -> None:
    cause = Cause(culprit=CULPRIT, metrics=metrics(200))
    assert cause_title(cause) == f"Performance regression: 200 benchmarks by up to 30% since {CULPRIT.commit[:7]}"
    body = cause_body(cause, REPORT, options=IssueOptions(marker="<!-- m -->", mentions=("@octo-org/perf",)), cost=COST)
    assert body.startswith("<!-- m -->\n200 benchmarks got worse on the default branch by `")
    assert "Fold accents" in body.splitlines()[1]
    assert (
        len(re.findall(r"^\| `b\d+` \| time \| 10\.0\sms \| 13\.0\sms \| \*\*\+30(\.0)?%\*\* \|$", body, re.MULTILINE))
        == 50
    )
    assert "and 150 more" in body
    assert "`fold_accents`" in body  # the method
    assert len(body) < 20_000
    assert body.count("@") == 1


def test_without_a_culprit_it_says_so_and_names_stay_names() -> None:
    cause = Cause(culprit=None, metrics=metrics(1, EVIL))
    body = cause_body(cause, REPORT, options=IssueOptions(marker="<!-- m -->"), cost=COST)
    assert "the search could not name one commit" in body
    assert '``x`\\|@octocat ![](http://evil) <b> "#1``' in body
    assert "/perf-accept" not in body
    assert "since" not in cause_title(cause)


def test_a_pull_request_is_told_what_it_made_worse() -> None:
    text = culprit_comment(
        Cause(culprit=CULPRIT, metrics=metrics(2)),
        issue_url="https://x.example/1",
        repository_url="https://x.example",
        cost=COST,
    )
    assert "The search took 56 executions in 47 runner minutes." in text
    assert "made 2 benchmarks worse on the default branch. [The issue](https://x.example/1) has the" in text


def test_an_alarm_that_opens_nothing_is_a_line() -> None:
    line = no_issue_line(replace(REPORT, key=MetricKey("parse", "time")), None, cost=COST)
    assert line.startswith("Searched for what made `parse` worse (56 executions in 47 runner minutes): ")
    why = environment_changed([EnvironmentChange(name="pip:numpy", before="2.4.5", after="2.4.6")])
    assert "not caused by this commit: the environment changed (`numpy 2.4.5 → 2.4.6`)." in no_issue_line(
        REPORT, why, cost=COST
    )
    assert why.arguments == {"changed": ("pip:numpy", "2.4.5", "2.4.6")}, "names and values, no words"


def test_a_wrong_alarm_says_what_the_ends_differ_by_and_what_the_stored_runs_said() -> None:
    outcome = Outcome(
        kind=OutcomeKind.NOT_REPRODUCED,
        relative_change=0.004,
        confidence_interval=Interval(low=-0.012, high=0.02, level=0.95),
    )
    settings = structs.replace(REPORT.settings, expected_change=float(np.log(1.2)))
    line = no_issue_line(replace(REPORT, outcome=outcome, settings=settings), None, cost=COST)
    assert "differ by +0.4% (\u22121.2 … +2.0), not by the +20.0% of the stored runs." in line
