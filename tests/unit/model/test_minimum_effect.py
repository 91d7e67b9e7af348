"""The changes that reach the minimum effect, and its default for each kind of metric."""

import numpy as np
import pytest

from perf_culprit.config.settings import Config
from perf_culprit.flows.compare import minimum_effects
from perf_culprit.model.bisection import SearchSettings
from perf_culprit.model.minimum_effect import DEFAULTS, DataKind, reaches
from perf_culprit.model.run import MetricKey
from perf_culprit.read.logs.reading_settings import ComparisonSettings

TIME, COUNT = MetricKey("parse", "time"), MetricKey("command", "instructions")


@pytest.mark.parametrize(
    ("change", "either", "upwards"),
    [(0.05, True, True), (0.06, True, True), (-0.05, True, False), (-0.06, True, False), (0.0499, False, False)],
)
def test_a_change_of_exactly_the_minimum_effect_reaches_it(change: float, either: bool, upwards: bool) -> None:
    assert (reaches(change, 0.05), reaches(change, 0.05, upwards=True)) == (either, upwards)


def test_many_changes_are_decided_like_each_of_them() -> None:
    changes = np.array([-0.06, -0.05, 0.0, 0.0499, 0.05])
    assert reaches(changes, 0.05).tolist() == [reaches(float(change), 0.05) for change in changes]


def test_where_nobody_says_anything_the_kind_of_metric_does() -> None:
    config = Config()
    assert config.of(TIME).minimum_effect == DEFAULTS[DataKind.BENCHMARK] == 0.05
    assert config.of(COUNT).minimum_effect == DEFAULTS[DataKind.COUNT] == 0.005
    assert minimum_effects(config)(TIME) == DEFAULTS[DataKind.SERIES] == 0.01
    assert minimum_effects(Config(minimum_effect="3%"))(TIME) == 0.03
    assert ComparisonSettings().minimum_effect == DEFAULTS[DataKind.CALL_TREE] == 0.01
    assert SearchSettings().minimum_effect == DEFAULTS[DataKind.SEARCHED_TIME] == 0.0005
