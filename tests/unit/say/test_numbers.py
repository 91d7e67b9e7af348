import math

import pytest

from perf_culprit.say.inert import NO_BREAK
from perf_culprit.say.numbers import (
    MINUS,
    amount,
    amount_text,
    percent,
    percent_at_least,
    percent_interval,
    q_text,
    quantities,
    significant,
)
from perf_culprit.say.render_markdown import markdown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (12.07, "12.1"),
        (310.4, "310"),
        (12_345.0, "12,300"),
        (1.0, "1.00"),
        (9.999, "10.0"),
        (0.00456, "0.00456"),
        (0.0, "0"),
        (-2.5, f"{MINUS}2.50"),
        (1.234e9, "1.23e9"),
        (1.5e-7, f"1.50e{MINUS}7"),
        (999_999.0, "1.00e6"),
        (1.797e308, "1.80e308"),
        (math.inf, "n/a"),
        (math.nan, "n/a"),
    ],
)
def test_significant(value: float, shown: str) -> None:
    assert significant(value) == shown


@pytest.mark.parametrize(
    ("before", "after", "unit", "shown"),
    [
        (12.1, 16.8, "ms", ("12.1 ms", "16.8 ms")),
        (310_000.0, 341_000.0, "ns", ("310 µs", "341 µs")),
        (990.0, 1200.0, "us", ("0.990 ms", "1.20 ms")),
        (0.5, 90.0, "seconds", ("0.500 s", "90.0 s")),
        (0.2, 0.3, "ns", ("0.200 ns", "0.300 ns")),
        (999.9, 999.9, "µs", ("1.00 ms", "1.00 ms")),
        (2.0, 3.0, "min", ("120 s", "180 s")),
        (5400.0, 5420.0, "ns/op", ("5.40 µs/op", "5.42 µs/op")),
        (2048.0, 1024.0, "B", ("2.00 KiB", "1.00 KiB")),
        (32e6, 41e6, "bytes", ("30.5 MiB", "39.1 MiB")),
        (1.0, 2.0, "GB", ("0.931 GiB", "1.86 GiB")),
        (64.0, 128.0, "B/op", ("64.0 B/op", "128 B/op")),
        (182_000.0, 151_000.0, "ops/s", ("182 k ops/s", "151 k ops/s")),
        (1.5, 1.2, "ops/us", ("1.50 M ops/s", "1.20 M ops/s")),
        (12.0, 14.0, "req/s", ("12.0 req/s", "14.0 req/s")),
        (0.0, 0.0, "ms", ("0 s", "0 s")),
        (12.0, 1_234_567.0, "allocs/op", ("12 allocs/op", "1,234,567 allocs/op")),
        (1.5, 2.0, "points", ("1.50 points", "2.00 points")),
        (1.0, 2.0, "KB", ("1 KB", "2 KB")),
        (100.0, 200.0, "MB/s", ("100 MB/s", "200 MB/s")),
        (1.25, 2.0, "", ("1.25", "2.00")),
    ],
)
def test_both_sides_share_a_unit(before: float, after: float, unit: str, shown: tuple[str, str]) -> None:
    assert tuple(f"{item.number} {item.unit}".strip() for item in quantities((before, after), unit)) == shown


def test_foreign_units_are_marked() -> None:
    assert [quantities((1.0,), unit)[0].is_own for unit in ("ms", "ops/s", "B", "furlongs")] == 3 * [True] + [False]


@pytest.mark.parametrize(
    ("fraction", "shown"),
    [
        (0.38643, "+38.6%"),
        (-0.139, f"{MINUS}13.9%"),
        (0.0, "±0.0%"),
        (2.5, "+250%"),
        (0.9999, "+100%"),
        (123.0, "+12,300%"),
        (1 / 3_500 - 1, f"{MINUS}99.971%"),
        (1e-12 - 1, f"{MINUS}99.999999%"),
        (-1.0, f"{MINUS}100%"),
    ],
)
def test_signed_percent(fraction: float, shown: str) -> None:
    assert percent(fraction, signed=True) == shown


def test_percent_without_sign_is_short() -> None:
    assert [percent(fraction) for fraction in (0.01, 0.125, 0.0)] == ["1%", "12.5%", "0%"]


@pytest.mark.parametrize(("fraction", "shown"), [(0.0389, "3.9%"), (0.04, "4%"), (0.0401, "4.1%"), (math.inf, "n/a%")])
def test_at_least_never_promises_more(fraction: float, shown: str) -> None:
    assert percent_at_least(fraction) == shown


def test_interval() -> None:
    assert percent_interval(0.369, 0.404) == "(+36.9 … +40.4)"
    assert percent_interval(-0.9999, 1.46e8) == "(anything)"
    assert "1.46e10" in percent_interval(-0.9, 1.46e8)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, "q < 0.0001"), (0.00009, "q < 0.0001"), (0.0004, "q = 0.0004"), (0.0314, "q = 0.031"), (0.5, "q = 0.5")],
)
def test_q_text(value: float, shown: str) -> None:
    assert q_text(value) == shown


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(0.0512, "s", "51.2 ms"), (58.8, "%", "58.8%"), (3.0, "", "3"), (3.0, "apples", "3 apples")],
)
def test_a_unit_follows_its_number(value: float, unit: str, text: str) -> None:
    (quantity,) = quantities((value,), unit)
    assert amount_text(quantity) == text
    assert markdown(amount(quantity)) == text.replace(" ", NO_BREAK)


def test_a_unit_of_the_tool_is_cut_and_cannot_act() -> None:
    (quantity,) = quantities((1.0,), "@octocat" * 10)
    assert len(amount_text(quantity)) < 40
    assert "`" in markdown(amount(quantity))
