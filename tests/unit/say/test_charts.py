import math
import sys

import pytest

from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.say.charts import bar, plot_series, sparkline, strips, without_extremes


@pytest.mark.parametrize(
    ("series", "line"),
    [
        pytest.param((1.0, 1.0, 1.0, 2.0), "▁▁▁█", id="step"),
        pytest.param((0, 1, 2, 3, 4, 5, 6, 7), "▁▂▃▄▅▆▇█", id="eight levels"),
        pytest.param((3.0, 3.0, 3.0), "▁▁▁", id="constant"),
        pytest.param((1.0, 2.0), "", id="no trend"),
        pytest.param((1.0, math.nan, 2.0, 3.0), "▁▅█", id="gap"),
        pytest.param((-sys.float_info.max, 0.0, sys.float_info.max), "▁▅█", id="huge"),
        pytest.param((0.0, 0.0, 1e-300), "▁▁█", id="tiny"),
    ],
)
def test_sparkline(series: tuple[float, ...], line: str) -> None:
    assert sparkline(series) == line


def test_sparkline_keeps_the_newest_points() -> None:
    line = sparkline((*([9.0] * 50), *([0.0] * (TEXT_LIMITS.sparkline_points - 1)), 1.0))
    assert line == "▁" * (TEXT_LIMITS.sparkline_points - 1) + "█"


@pytest.mark.parametrize(
    ("fraction", "shown"),
    [
        (0.0, "        "),
        (0.5, "████    "),
        (1.0, "████████"),
        (0.83, "██████▋ "),
        (7.0, "████████"),
        (-1.0, "        "),
    ],
)
def test_bar(fraction: float, shown: str) -> None:
    assert bar(fraction) == shown


def test_strips_share_one_axis_whatever_the_sizes_of_the_sides() -> None:
    before, after = strips([[0.0, 0.0, 1.0], [9.0] * 40 + [10.0]], width=10)
    assert before == "█▄        "
    assert after == " " * 9 + "█"
    assert strips([[1.0, 1.0], [1.0]]) == []
    assert strips([[], [1.0, 2.0]]) == []


def test_samples_beyond_the_1st_and_99th_percentile_are_left_out_if_the_others_need_the_room() -> None:
    calm = [10.0 + i / 100 for i in range(40)]
    with_pause = [*calm, 90.0]
    assert without_extremes([calm, with_pause]) == [calm[1:-1], with_pause[1:-1]]
    assert without_extremes([calm, calm]) == [calm, calm]
    assert without_extremes([calm[:10], [*calm[:10], 90.0]]) == [calm[:10], [*calm[:10], 90.0]]


def test_a_plot_shows_points_and_levels() -> None:
    assert plot_series([1.0] * 3 + [2.0] * 3, [(3, 1.0, 2.0)], width=6, height=2) == ["   •••", "•••   "]
    assert plot_series([1.0, 1.1, math.nan, 2.0], [(2, 1.0, 2.0)], width=4, height=2) == ["  ─•", "••  "]
    assert plot_series([5.0] * 4, [], width=10, height=6) == ["••••"]
    assert len(plot_series([float(i) for i in range(500)], [], width=56, height=6)[0]) == 56
