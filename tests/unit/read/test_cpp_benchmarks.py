"""Catch2 and nanobench, beyond their golden files."""

import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.run import Summary
from perf_culprit.read.results.result_formats import READERS
from perf_culprit.read.results.source import Source
from tests.support.goldens import golden
from tests.support.readings import parse

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


RESULT = (
    '<BenchmarkResults name="{name}" samples="100" resamples="1000" iterations="9" clockResolution="1" '
    'estimatedDuration="1"><mean value="{mean}" lowerBound="1" upperBound="3" ci="0.99"/>'
    '<standardDeviation value="0.5" lowerBound="0.1" upperBound="0.9" ci="0.99"/>'
    '<outliers variance="0" lowMild="0" lowSevere="0" highMild="0" highSevere="0"/></BenchmarkResults>'
)


def source(body: str, *, head: str = "") -> Source:
    root = '<Catch2TestRun name="b" rng-seed="1" xml-format-version="3" catch2-version="3.5.0">'
    return Source("out.xml", f'<?xml version="1.0" encoding="UTF-8"?>\n{head}{root}{body}</Catch2TestRun>'.encode())


def test_the_golden_file_of_version_2() -> None:
    parsed = READERS["catch2_xml"].read(Source("out.xml", golden("catch2/v2.xml")))
    assert [b.name for b in parsed.benchmarks] == [
        "sum of 100",
        "a long benchmark name that the console reporter has to wrap over lines",
    ]
    assert parsed.benchmarks[0].summary == Summary(
        value=190.622,
        statistic="mean",
        count=20,
        standard_deviation=4.23601,
        confidence_interval=(189.481, 194.963),
        confidence_level=0.95,
    )
    assert (parsed.benchmarks[0].metric.name, parsed.benchmarks[0].metric.unit) == ("time", "ns")
    assert parsed.notes == ("`throws` failed: no such device",)


def test_version_3_with_its_own_level() -> None:
    file = source(f'<TestCase name="t">{RESULT.format(name="f", mean=2)}</TestCase>')
    assert READERS["catch2_xml"].matches(file)
    summary = READERS["catch2_xml"].read(file).benchmarks[0].summary
    assert summary == Summary(
        value=2.0,
        statistic="mean",
        count=100,
        standard_deviation=0.5,
        confidence_interval=(1.0, 3.0),
        confidence_level=0.99,
    )


def test_the_same_name_in_two_places_is_qualified() -> None:
    same, other = RESULT.format(name="f", mean=2), RESULT.format(name="g", mean=3)
    body = (
        f'<TestCase name="a">{same}<Section name="s">{same}</Section></TestCase><TestCase name="b">{other}</TestCase>'
    )
    assert [b.name for b in READERS["catch2_xml"].read(source(body)).benchmarks] == ["a/f", "a/s/f", "g"]


def test_the_same_name_twice_in_one_place_is_refused() -> None:
    body = f'<TestCase name="a">{RESULT.format(name="f", mean=2) * 2}</TestCase>'
    with pytest.raises(DataError, match="`f` is also at"):
        READERS["catch2_xml"].read(source(body))


def test_a_mean_alone_is_enough() -> None:
    body = '<TestCase name="a"><BenchmarkResults name="f"><mean value="5"/></BenchmarkResults></TestCase>'
    assert READERS["catch2_xml"].read(source(body)).benchmarks[0].summary == Summary(value=5.0, statistic="mean")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('<BenchmarkResults name="f"/>', "has no mean"),
        ('<BenchmarkResults name="f"><mean/></BenchmarkResults>', "without a value"),
        (RESULT.format(name="f", mean="fast"), "is not a number"),
        (RESULT.format(name="f", mean="nan"), "not a finite number"),
        (RESULT.format(name="f", mean="-1"), "cannot be negative"),
        (RESULT.format(name="", mean="1"), "has no name"),
        ("<open>", "not well-formed XML"),
        ("&undefined;", "not well-formed XML"),
    ],
)
def test_broken_files_are_refused(body: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        READERS["catch2_xml"].read(source(body))


@pytest.mark.parametrize(
    "head",
    [
        '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;">]>',
        '<!DOCTYPE x [<!ENTITY file SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE x SYSTEM "http://example.com/x.dtd">',
    ],
)
def test_entities_and_document_types_are_refused(head: str) -> None:
    with pytest.raises(DataError, match="document type or entities"):
        READERS["catch2_xml"].read(source("", head=head))


def test_deep_nesting_is_read_without_recursion() -> None:
    depth = 100_000
    body = "<a>" * depth + RESULT.format(name="f", mean=2) + "</a>" * depth
    assert [b.name for b in READERS["catch2_xml"].read(source(body)).benchmarks] == ["f"]


def test_endless_section_names_are_refused() -> None:
    body = '<Section name="section">' * 5000 + "</Section>" * 5000
    with pytest.raises(DataError, match="endless names"):
        READERS["catch2_xml"].read(source(body))


def test_endless_tags_are_refused() -> None:
    with pytest.raises(DataError, match="holds more than 1,000,000 tags"):
        READERS["catch2_xml"].read(source("<a/>" * 1_000_000))


@pytest.mark.parametrize("encoding", ["utf-7", "utf-16", "shift_jis", "idna", "base64", "nonsense", "ISO-8859-1"])
def test_a_declared_encoding_changes_nothing(encoding: str) -> None:
    text = golden("catch2/v2.xml").decode().replace("UTF-8", encoding).replace("sum of 100", "sum of ä")
    assert READERS["catch2_xml"].read(Source("out.xml", text.encode())).benchmarks[0].name == "sum of ä"
    assert READERS["catch2_xml"].read(Source("out.xml", text.encode("utf-16"))).benchmarks[0].name == "sum of ä"


def test_nanobench_results_have_to_be_objects() -> None:
    with pytest.raises(DataError, match="is text, not an object") as refused:
        parse("nanobench", {"results": ["sum"]})
    assert refused.value.place == "f.json: results[0]"
