"""The counters that got worse, in the order in which they left their limits."""

import re

import numpy as np
import pytest
from msgspec.structs import replace

from perf_culprit.model.finding import Drawn, Finding, Verdict
from perf_culprit.model.run import TimeSeries
from perf_culprit.say.departures import time_line
from tests.support.reports import finding

COUNT, STEP_S = 160, 30.0


def left(name: str, at: int, *, length: int = COUNT, seed: int = 0, verdict: Verdict = Verdict.REGRESSION) -> Finding:
    """A counter outside its limits from interval `at` on, and by chance in a tenth of those before."""
    outside = np.random.default_rng(seed).random(COUNT) < 0.1
    outside[at : at + length] = True
    places = np.flatnonzero(outside) * STEP_S + 600
    series = TimeSeries(
        values=(1.0,) * COUNT,
        start_s=600,
        interval_s=STEP_S,
        lower=0.0,
        upper=2.0,
        violations=tuple((float(place), float(place + STEP_S)) for place in places),
    )
    return replace(finding(name, 1.0, 2.0, verdict=verdict), drawn=Drawn(time_series=series))


def told(*findings: Finding) -> list[tuple[str, str]]:
    row = r"<tr><td[^>]*><code>(\w+) time</code></td>.*?>(from the start|after \d+ \w+)</td></tr>"
    return re.findall(row, time_line(findings))


@pytest.mark.parametrize("seed", range(5))
def test_the_first_to_leave_its_limits_comes_first(seed: int) -> None:
    findings = [left("response", 80, seed=seed), left("cpu", 40, seed=seed + 10), left("queue", 60, seed=seed + 20)]
    names = [name for name, _ in told(*findings)]
    assert names == ["cpu", "queue", "response"]


def test_times_are_since_the_start_of_the_test_and_a_change_may_end() -> None:
    rows = told(left("disk", 40, length=50, seed=3), left("cpu", 0, seed=4))
    assert rows == [("cpu", "from the start"), ("disk", "after 20 minutes")]


def test_one_counter_or_those_without_a_change_have_no_order() -> None:
    assert time_line([left("cpu", 40)]) == ""
    assert time_line([left("cpu", 40), left("disk", 50, verdict=Verdict.NOT_SEEN)]) == ""
    assert time_line([left("cpu", 40), left("disk", 50, length=0)]) == ""
