"""Files that hold results of several formats."""

import json

import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.run import Run
from perf_culprit.model.run_file import encode_run
from perf_culprit.read.results.collect import collect_sources
from perf_culprit.read.results.source import Source
from tests.support.goldens import golden

JSON = ("pytest_benchmark/with_data.json", "hyperfine/two_parameters.json", "deno/bench.json")
CONSOLE = ("divan/table.txt", "go/events.jsonl", "google_benchmark/repetitions.txt", "google_benchmark/repetitions.csv")


def read(*parts: bytes) -> Run:
    return collect_sources([Source("log", b"\n".join(parts))])


@pytest.mark.parametrize("first", [*JSON, *CONSOLE])
@pytest.mark.parametrize("second", [*JSON, *CONSOLE])
def test_both_formats_of_a_log_are_read(first: str, second: str) -> None:
    expected = set(read(golden(first)).keys) | set(read(golden(second)).keys)
    assert set(read(golden(first), b"PASS", golden(second)).keys) == expected


def test_documents_appended_to_one_file_are_repeated_measurements() -> None:
    document = b'[{"name": "f", "unit": "ms", "value": 3}]'
    (benchmark,) = read(document, document, b'{"level": "info", "message": "done"}', document).benchmarks
    assert benchmark.samples == (3.0, 3.0, 3.0)


def test_an_appended_document_that_is_cut_off_is_refused_with_its_line() -> None:
    with pytest.raises(DataError, match=r"log:3: holds a JSON document that is cut off"):
        read(b'[{"name": "f", "unit": "ms", "value": 3}]', b"", b'[{"name": "f", "unit": "m')


@pytest.mark.parametrize("between", [(), (b"",)])
def test_a_table_in_the_log_of_another_tool_is_refused_with_both_names(between: tuple[bytes, ...]) -> None:
    with pytest.raises(DataError, match="two formats, divan and hyperfine_csv"):
        read(golden("divan/table.txt").rstrip(), *between, golden("hyperfine/parameters.csv"))


@pytest.mark.parametrize("noise", [b"[INFO] starting", b"{", b"[1] 4242", b'{"a": [[[[', b"42\n43"])
def test_other_lines_of_a_log_do_not_matter(noise: bytes) -> None:
    go = b"BenchmarkX-2 \t9\t1.5 ns/op"
    assert read(noise, go, b"", noise).keys == read(go).keys


def test_a_document_between_the_lines_of_a_log_is_read_as_expected() -> None:
    run = collect_sources(
        [Source("bencher_metric_format/within_text.txt", golden("bencher_metric_format/within_text.txt"))]
    )
    assert json.loads(encode_run(run)) == json.loads(golden("bencher_metric_format/within_text.txt.expected.json"))
