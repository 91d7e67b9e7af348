"""The metrics of an alarm that its search answers."""

import numpy as np
import pytest
from msgspec.structs import replace

from perf_culprit.dispatch.alarms_of_one_search import left_of
from perf_culprit.dispatch.recovery import answer_of
from perf_culprit.model.bisection import Outcome, OutcomeKind
from perf_culprit.model.dispatch import Alarm, AlarmedMetric, CheckAnswer
from perf_culprit.model.run import MetricKey
from perf_culprit.search.search import Search
from tests.support.runner_pool import KEY, TIME, new_bisection

STEADY, STEPPING = MetricKey("steady", "time"), MetricKey("stepping", "time")


@pytest.mark.parametrize(
    ("kind", "kept"),
    [(OutcomeKind.NOT_REPRODUCED, {KEY, STEADY}), (OutcomeKind.SUSPECT_SET, {KEY, STEADY, STEPPING})],
)
def test_where_the_lead_was_a_wrong_alarm_what_did_step_is_searched_again(
    kind: OutcomeKind, kept: set[MetricKey]
) -> None:
    begun = new_bisection()
    commit_range = begun.search.commit_range
    noise = np.random.default_rng(5)
    followed = {
        f"round-{number}": {
            commit_range.good: (1.0 + 0.01 * noise.normal(), 1.0 + 0.01 * noise.normal()),
            commit_range.bad: (1.0 + 0.01 * noise.normal(), 1.2 + 0.01 * noise.normal()),
        }
        for number in range(6)
    }
    metrics = tuple(AlarmedMetric(key=key, metric=TIME, before=1.0, after=1.2) for key in (KEY, STEADY, STEPPING))
    outcome = Outcome(kind=kind, culprits=(), executions=12, rounds=6)
    ended = replace(
        begun,
        alarm=Alarm(metrics=metrics),
        followed=followed,
        search=replace(Search(begun.search).state, outcome=outcome),
    )
    assert {KEY, STEADY, STEPPING} - left_of(ended) == kept
    # As a check of their issue: it is not over while one of the metrics still steps.
    assert answer_of(ended) is CheckAnswer.UNKNOWN
    alone = replace(ended, alarm=Alarm(metrics=metrics[:2]))
    assert answer_of(alone) is (CheckAnswer.OVER if kind is OutcomeKind.NOT_REPRODUCED else CheckAnswer.UNKNOWN)
