"""The metric that a search follows, and the message if it is unclear."""

import pytest

from perf_culprit.config.settings import Config
from perf_culprit.dispatch.start import _metric
from perf_culprit.errors import UsageError
from perf_culprit.model.run import Direction, Metric, MetricKey

TIME = Metric(name="time", unit="s", direction=Direction.LOWER_IS_BETTER)
STORED = [(MetricKey(name, "time"), TIME) for name in ("sort large", "test_read")]


@pytest.mark.parametrize(
    ("benchmark", "stored", "message", "next_step"),
    [
        pytest.param(None, [], "no stored run tells", "`benchmark=NAME metric=NAME`", id="no history"),
        pytest.param("test_raed", [], "no stored run tells", "`benchmark=NAME metric=NAME`", id="name, no history"),
        pytest.param(
            "test_raed",
            STORED,
            'no stored run has `benchmark="test_raed"`',
            'did you mean `benchmark="test_read" metric="time"`?',
            id="typo",
        ),
        pytest.param(
            None,
            STORED,
            "that fits 2 metrics, and a search follows one",
            'write one of `benchmark="sort large" metric="time"`, `benchmark="test_read" metric="time"`',
            id="several",
        ),
    ],
)
def test_an_unclear_metric_is_refused_with_the_words_to_write(
    benchmark: str | None, stored: list[tuple[MetricKey, Metric]], message: str, next_step: str
) -> None:
    with pytest.raises(UsageError, match=message) as refused:
        _metric(benchmark, None, Config(), stored)
    assert refused.value.next_step is not None
    assert next_step in refused.value.next_step
