"""The names of quantities in the spellings that people use."""

import pytest

from perf_culprit.errors import UsageError
from perf_culprit.model.count import Count, as_quantity, is_exact_quantity, quantity_of
from perf_culprit.model.counted_metric import metric_of


@pytest.mark.parametrize("text", ["size:/etc/passwd", "size:../*.whl", "size:dist/../../x", "size:", "size:."])
def test_the_files_of_a_size_lie_in_the_checkout(text: str) -> None:
    with pytest.raises(ValueError, match="files lie in the checkout"):
        as_quantity(text)


def test_the_closest_name_is_offered() -> None:
    with pytest.raises(ValueError, match="did you mean peak-memory"):
        as_quantity("peak-memry")


def test_sizes_are_bytes_as_exact_as_counts_and_times_and_memory_are_not() -> None:
    assert (metric_of("size:dist/*.whl").unit, metric_of(Count.BUILD_TIME).unit) == ("B", "s")
    exact = {
        name: is_exact_quantity(name) for name in ("size:a", "instructions", "peak-memory", "build-time", "time", None)
    }
    assert [name for name, yes in exact.items() if yes] == ["size:a", "instructions"]


def test_a_tool_s_own_metric_is_none() -> None:
    assert quantity_of("size:dist/*.whl") == "size:dist/*.whl"
    assert quantity_of("time") is None
    assert quantity_of("instructions", tool="nanobench") is None
    assert quantity_of("instructions", benchmark="parse") is None
    with pytest.raises(UsageError, match="files lie in the checkout"):
        quantity_of("size:/etc")
