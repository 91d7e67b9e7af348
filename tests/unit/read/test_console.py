"""Lines, numbers and names of console outputs, and patterns of a line."""

import pytest

from perf_culprit.read.results.console import Lines, is_number, lines, nanoseconds, number_of, qualified
from perf_culprit.read.results.result_formats import READERS
from perf_culprit.read.results.source import Source


def test_lines_lose_colours_and_what_a_carriage_return_overwrote() -> None:
    text = "\x1b[1m\x1b[32mdone\x1b[0m\r\nAnalyzing\rresult  1\n\nlast"
    assert list(lines(Source("log", text.encode()))) == [(1, "done"), (2, "result  1"), (3, ""), (4, "last")]


@pytest.mark.parametrize(
    ("text", "number"), [("1,234,567.5", 1_234_567.5), ("0", 0.0), ("1.13156e+06", 1_131_560.0), ("12.", 12.0)]
)
def test_numbers_of_consoles(text: str, number: float) -> None:
    assert is_number(text)
    assert number_of(text) == number


@pytest.mark.parametrize("text", ["", ",", "nan", "inf", "-1", "1_0", "1" * 100, "٣", "1e99999", "0x1"])
def test_what_is_no_number(text: str) -> None:
    assert not is_number(text)


@pytest.mark.parametrize(
    ("unit", "factor"),
    [("ps", 0.001), ("ns", 1), ("us", 1e3), ("µs", 1e3), ("μs", 1e3), ("ms", 1e6), ("s", 1e9)],
)
def test_times_become_nanoseconds(unit: str, factor: float) -> None:
    assert nanoseconds("2.5", unit) == pytest.approx(2.5 * factor)


def test_only_ambiguous_names_are_qualified() -> None:
    names = [("a", "sum"), ("b", "sum"), ("b", "sort"), ("", "sum"), ("b", "sort")]
    assert qualified(names, separator="/") == {
        ("a", "sum"): "a/sum",
        ("b", "sum"): "b/sum",
        ("", "sum"): "sum",
        ("b", "sort"): "sort",
    }


LINE_FORMATS = [
    pytest.param(declared, id=reader.id)
    for reader in READERS.values()
    if isinstance(declared := getattr(reader.read, "__self__", None), Lines)
]


@pytest.mark.parametrize("declared", LINE_FORMATS)
def test_a_pattern_has_what_the_engine_reads(declared: Lines) -> None:
    # A pattern has `value` or the groups that its `measures` names: `rate` for load generators, `count` for perf.
    assert {"value", "rate", "count"} & declared.row.groupindex.keys()
    assert declared.title is None or "name" in declared.title.groupindex
