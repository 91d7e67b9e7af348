"""The notes about a detector that judged nothing and about a pattern that matches nothing."""

from collections.abc import Callable

import numpy as np
import pytest

from perf_culprit.action.inputs import read_inputs
from perf_culprit.config.reader import parse_config, with_detector
from perf_culprit.config.settings import Config
from perf_culprit.flows.compare import judge_run
from perf_culprit.model.finding import Baseline, BaselineSource
from perf_culprit.model.reason import Remark
from perf_culprit.model.run import Run
from perf_culprit.say.reason_text import sentence
from tests.support.counter_runs import counter_run, counter_table, noisy_counters
from tests.support.measurements import measured

DOORS: dict[str, Callable[[str], Config]] = {
    "option": lambda name: with_detector(Config(), name, place="--detector"),
    "input": lambda name: read_inputs({"INPUT_DETECTOR": name}).config,
    "configuration": lambda name: parse_config(f"detector: {name}".encode(), place="f.yml"),
}
TIMES = [measured({"parse": 0.004}, seed=seed) for seed in range(6)]
COUNTERS = [counter_run(counter_table(noisy_counters(np.random.default_rng(seed)))) for seed in range(6)]


def told(config: Config, runs: list[Run], code: Remark = Remark.DETECTOR_UNUSED) -> list[str]:
    report = judge_run(Baseline(runs=tuple(runs[:-1]), source=BaselineSource.HISTORY), runs[-1], config=config)
    return [sentence(note) for note in report.notes if note.code is code]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("name", "runs", "note"),
    [
        pytest.param(
            "rule_ensemble",
            TIMES,
            "rule_ensemble judges only counters, and none were measured: anova judged instead; these apply: anova, "
            "median_interval, control_chart, change_point",
            id="of counters",
        ),
        pytest.param(
            "median_interval",
            COUNTERS,
            "median_interval judges only benchmarks, and none were measured: control_chart judged instead; these "
            "apply: control_chart, rule_ensemble",
            id="of benchmarks",
        ),
    ],
)
def test_a_detector_that_judged_nothing_is_told_of(door: str, name: str, runs: list[Run], note: str) -> None:
    assert told(DOORS[door](name), runs) == [note]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("name", "runs"),
    [("control_chart", TIMES), ("control_chart", COUNTERS), ("anova", TIMES), ("rule_ensemble", COUNTERS)],
)
def test_one_that_judged_is_not(door: str, name: str, runs: list[Run]) -> None:
    assert told(DOORS[door](name), runs) == []


@pytest.mark.parametrize("runs", [TIMES, COUNTERS])
def test_what_nobody_chose_is_not(runs: list[Run]) -> None:
    assert told(Config(), runs) == []


@pytest.mark.parametrize(
    ("entry", "notes"),
    [
        ("match: pars*", []),
        ("match: prase", ["no benchmark matches prase of the configuration: correct or remove it"]),
        (
            "{match: parse, metric: tiem}",
            ["no benchmark with the metric tiem matches parse of the configuration: correct or remove it"],
        ),
    ],
)
def test_a_pattern_that_matches_nothing_is_told_of(entry: str, notes: list[str]) -> None:
    config = parse_config(f"benchmarks:\n  - {entry}\n".encode(), place="f.yml")
    assert told(config, TIMES, Remark.PATTERN_UNUSED) == notes


def test_a_pattern_of_what_only_the_baseline_measured_is_not() -> None:
    config = parse_config(b"benchmarks:\n  - match: gone\n", place="f.yml")
    assert told(config, [measured({"gone": 0.1}, seed=9), *TIMES], Remark.PATTERN_UNUSED) == []
