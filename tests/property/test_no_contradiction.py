"""No report states "nothing found" for a metric whose own numbers contradict it, for any measurement."""

import json
import math
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perf_culprit.commands.judge_requests import Compare
from perf_culprit.config.settings import Config
from perf_culprit.flows.compare import compare_result_files, judge_run
from perf_culprit.flows.render import report_json, report_markdown
from perf_culprit.model.finding import QUIET_VERDICTS, Baseline, BaselineSource
from perf_culprit.model.report import Report
from perf_culprit.model.run import Run
from perf_culprit.model.run_file import encode_run
from perf_culprit.say.comparison import render_text
from perf_culprit.say.numbers import percent_at_least
from tests.support import random_tables
from tests.support.noisy_runs import noisy_run
from tests.support.random_tables import Compared

DETECTORS = ("anova", "median_interval", "control_chart", "change_point")
seeds = st.integers(0, 2**32 - 1)
seeded = settings(derandomize=True, deadline=None, max_examples=25)


def compared(sides: Compared, config: Config) -> Report:
    if sides.source is BaselineSource.HISTORY:
        return judge_run(Baseline(runs=sides.baseline, source=sides.source), sides.target[0], config=config)
    with TemporaryDirectory() as folder:
        baseline, target = (
            tuple(_written(Path(folder) / f"{name}{index}.json", run) for index, run in enumerate(runs))
            for name, runs in (("base", sides.baseline), ("head", sides.target))
        )
        is_paired = sides.source is BaselineSource.PAIRED
        return compare_result_files(Compare(baseline=baseline, target=target, paired=is_paired), config=config)


def _written(path: Path, run: Run) -> str:
    path.write_bytes(encode_run(run))
    return str(path)


def distance(change: float) -> float:
    """Return the size of the ratio's logarithm: a tenth is as far from no change as ten times."""
    return math.inf if change <= -1 else abs(math.log1p(change))


def is_denied(finding: dict[str, Any]) -> bool:
    """Whether the numbers of an unchanged metric of the JSON report show a change."""
    interval, change = finding["confidence_interval"], finding["relative_change"]
    effect, visible = finding["minimum_effect"], finding["detectable_effect"]
    if interval is not None and (interval["low"] > effect or interval["high"] < -effect):
        return True
    if visible is None or change is None or abs(change) <= min(effect, visible):
        return False
    falls = finding["direction"] == "higher_is_better"
    return distance(change) > distance(-visible if falls else visible) * (1 + 1e-9)


def denied(report: Report) -> list[dict[str, Any]]:
    findings = json.loads(report_json(report))["findings"]
    return [finding for finding in findings if finding["verdict"] in QUIET_VERDICTS and is_denied(finding)]


@pytest.mark.parametrize("way", random_tables.WAYS, ids=lambda way: way.__name__)
@seeded
@given(seed=seeds, detector=st.sampled_from(DETECTORS), is_swapped=st.booleans())
def test_nothing_found_is_never_denied_by_its_own_numbers(way: Any, seed: int, detector: str, is_swapped: bool) -> None:
    sides = way(np.random.default_rng(seed))
    config = Config(detector=detector, counter_detector="rule_ensemble" if seed % 2 else "control_chart")
    report = compared(sides.swapped if is_swapped else sides, config)
    assert not denied(report)
    assert not denied_rows(report)


MINUS = "\N{MINUS SIGN}"
SEEN = re.compile(r"^\| `(b\d+|host)`(?: · (c\d+))? \|.*\| ≥.([\d.,]+%) \|$", re.MULTILINE)


def denied_rows(report: Report) -> list[str]:
    """Return the comment's metrics whose stated detectable effect is missing from JSON or contradicted there."""
    told = {
        (one["benchmark"], one["metric"] if one["benchmark"] == "host" else ""): one["detectable_effect"]
        for one in json.loads(report_json(report))["findings"]
        if one["verdict"] in QUIET_VERDICTS and not is_denied(one)
    }
    return [
        row[0]
        for row in SEEN.finditer(report_markdown(report))
        if (visible := told.get((row[1], row[2] or ""))) is None or percent_at_least(visible) != row[3]
    ]


def tenth_of_three(*, rounds: int) -> Compared:
    """Draw rounds of two executions a side; the first of three benchmarks takes a tenth of the time."""
    rng = np.random.default_rng(rounds)
    baseline, target = (
        noisy_run(
            rng, benchmarks=3, samples=2 * rounds, spread=0.02, effects=np.array([effect, 1.0, 1.0]), processes=True
        )
        for effect in (1.0, 0.1)
    )
    return Compared(baseline=(baseline,), target=(target,), source=BaselineSource.PAIRED)


def test_a_tenth_is_suspected_after_two_rounds_and_proven_after_three() -> None:
    """One of three benchmarks changes. No report contradicts it or states that a tenth would have been seen."""
    for rounds, verdict in ((2, "suspected"), (3, "improvement")):
        report = compared(tenth_of_three(rounds=rounds), Config())
        finding = next(
            entry for entry in json.loads(report_json(report))["findings"] if entry["benchmark"] == "bench_00000"
        )
        assert (finding["verdict"], finding["detectable_effect"]) == (verdict, None)
        assert re.search(rf"{MINUS}(90|89\.\d|90\.\d)%", render_text(report, colour=False, width=120))
        assert re.search(rf"{MINUS}(90|89\.\d|90\.\d)%.*`bench_00000`", report_markdown(report))
