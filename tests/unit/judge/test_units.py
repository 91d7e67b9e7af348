import math

import numpy as np
import pytest
from msgspec.structs import replace

from perf_culprit.judge.unit_factors import (
    conversion_factor,
    depends_on_machine,
    is_deterministic,
    least_change,
    milliseconds_per,
)
from perf_culprit.model.finding import Verdict
from tests.support.noisy_runs import TIME
from tests.support.sides import compared, files, noise


@pytest.mark.parametrize(
    ("source", "target", "factor"),
    [
        ("s", "ms", 1e3),
        ("us", "ns", 1e3),
        ("µs", "us", 1.0),
        ("usec", "ms", 1e-3),
        ("ops/msec", "ops/s", 1e3),
        ("Seconds", "s", 1.0),
        ("ns/op", "ms/op", 1e-6),
        ("ops/s", "ops/ms", 1e-3),
        ("MB", "B", 1e6),
        ("KiB", "bytes", 1024.0),
        ("points", "points", 1.0),
        ("", "", 1.0),
    ],
)
def test_units_of_one_kind_are_converted(source: str, target: str, factor: float) -> None:
    assert conversion_factor(source, target) == pytest.approx(factor)


@pytest.mark.parametrize(
    ("source", "target"), [("ns", "MB"), ("ns/op", "ns"), ("ns/iter", "ns/op"), ("points", "score"), ("ns", "")]
)
def test_units_of_different_kinds_are_not(source: str, target: str) -> None:
    assert conversion_factor(source, target) is None


@pytest.mark.parametrize(("source", "target"), [("KB", "KiB"), ("KB", "B"), ("Mb", "MB"), ("kb/s", "MB/s")])
def test_a_size_that_may_be_either_of_two_is_not_converted(source: str, target: str) -> None:
    assert conversion_factor(source, target) is None
    assert conversion_factor(source, source) == 1


def test_no_size_depends_on_the_machine() -> None:
    assert not any(map(depends_on_machine, ("MiB", "KB", "Bytes", "mb")))
    assert all(map(depends_on_machine, ("MiB/s", "KB/s", "usec", "points")))


@pytest.mark.parametrize("spelling", ["us", "usec", "microseconds"])
def test_a_suite_in_another_unit_is_judged(spelling: str) -> None:
    numbers = noise(np.random.default_rng(4), 5, 1)
    before, after = (files(numbers, [replace(TIME, unit=unit)]) for unit in (spelling, "ms"))
    (finding,) = compared(before, after).findings
    assert finding.verdict is Verdict.REGRESSION
    assert finding.relative_change == pytest.approx(999)


def test_milliseconds_are_for_times_only() -> None:
    assert milliseconds_per("us/op") == pytest.approx(1e-3)
    assert milliseconds_per("ops/s") is None
    assert milliseconds_per("MB/s") is None
    assert milliseconds_per("ns/ms") is None


@pytest.mark.parametrize("unit", ["ms", "ns/op", "ops/s", "MB/s", "allocs/op"])
def test_nothing_falls_by_more_than_all_of_it(unit: str) -> None:
    assert least_change(unit) == -1


def test_a_score_may_fall_below_zero() -> None:
    assert least_change("points") == -math.inf


def test_counts_are_deterministic() -> None:
    assert is_deterministic("allocs/op")
    assert is_deterministic("B/op")
    assert not is_deterministic("ns/op")
