import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.run import Summary
from perf_culprit.read.results.result_formats import READERS
from perf_culprit.read.results.source import Source
from tests.support.goldens import golden

LONG_NAME = "a long benchmark name that the console reporter has to wrap over lines"


def variant(old: str, new: str) -> Source:
    text = golden("catch2/v2.txt").decode()
    assert old in text
    return Source("out.txt", text.replace(old, new).encode())


def test_the_golden_text() -> None:
    parsed = READERS["catch2_text"].read(Source("out.txt", golden("catch2/v2.txt")))
    assert [b.name for b in parsed.benchmarks] == ["sum of 100", LONG_NAME]
    assert parsed.benchmarks[0].summary == Summary(
        value=183.117,
        statistic="mean",
        count=20,
        standard_deviation=4.69844,
        confidence_interval=(181.007, 185.043),
        confidence_level=0.95,
    )
    summary = parsed.benchmarks[1].summary
    assert summary is not None
    assert (summary.value, summary.standard_deviation) == pytest.approx((15_256.9, 3456.2))
    assert parsed.notes == ("`throws` failed: no such device",)


def test_the_header_of_version_3_5() -> None:
    file = variant("iterations    estimated", "iterations    est run time")
    assert READERS["catch2_text"].matches(file)
    assert READERS["catch2_text"].read(file) == READERS["catch2_text"].read(Source("out.txt", golden("catch2/v2.txt")))


def test_colours_change_nothing() -> None:
    file = variant("sum of 100 ", "\x1b[1;32msum of 100\x1b[0m ")
    assert READERS["catch2_text"].read(file).benchmarks[0].name == "sum of 100"


def test_without_analysis_there_is_only_a_mean() -> None:
    text = (
        "-----------------\nSums\n-----------------\nv.cc:14\n.....\n\n"
        "benchmark name                            samples    iterations          mean\n"
        "------------------------------------------------------------------------------\n"
        "sum of 100                                    100            20    1.25 us \n"
    )
    parsed = READERS["catch2_text"].read(Source("out.txt", text.encode()))
    assert [b.summary for b in parsed.benchmarks] == [Summary(value=1250.0, statistic="mean", count=100)]


def test_the_same_name_in_two_test_cases_is_qualified() -> None:
    text = golden("catch2/v2.txt").decode()
    title = text[text.index("---") : text.index("a long benchmark")]
    both = title + "\n" + title.replace("\nSums\n", "\nSums\n  again\n")
    assert [b.name for b in READERS["catch2_text"].read(Source("out.txt", both.encode())).benchmarks] == [
        "Sums/sum of 100",
        "Sums/again/sum of 100",
    ]


def test_several_programs_measure_again_but_one_does_not() -> None:
    text = golden("catch2/v2.txt").decode()
    parsed = READERS["catch2_text"].read(Source("out.txt", (text * 3).encode()))
    assert parsed.benchmarks[0].name == "sum of 100"
    assert parsed.benchmarks[0].samples == (183.117,) * 3
    table = text[text.index("benchmark name") : text.index("a long benchmark")]
    with pytest.raises(DataError, match="`sum of 100` is also at"):
        READERS["catch2_text"].read(Source("out.txt", (table * 2).encode()))


def test_a_fourth_row_changes_nothing() -> None:
    row = "4.69844 ns    3.37553 ns     7.2013 ns"
    assert READERS["catch2_text"].read(variant(row, f"{row}\n   9 ns    9 ns     9 ns")).benchmarks[0].value == 183.117


def test_a_benchmark_cut_off_is_noted() -> None:
    text = golden("catch2/v2.txt").decode()
    parsed = READERS["catch2_text"].read(Source("out.txt", text[: text.index("15.2569 us")].encode()))
    assert [b.name for b in parsed.benchmarks] == ["sum of 100"]
    assert parsed.notes == ("1 benchmarks have no times",)
