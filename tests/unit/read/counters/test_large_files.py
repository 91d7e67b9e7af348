"""Files beyond the memory limit: read line by line from the disk, or refused because of their size."""

import tracemalloc
import zipfile
from pathlib import Path

import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.run import Benchmark, Direction, Metric, Run
from perf_culprit.model.run_file import encode_run
from perf_culprit.read.results import source
from perf_culprit.read.results.collect import Reading, collect
from perf_culprit.read.results.source import LargeFile, open_file
from tests.support.counter_tables import columns, only_table

ROWS = 20_000


@pytest.fixture(autouse=True)
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(FILE_LIMITS), "file_bytes", 2000)
    monkeypatch.setattr(source, "LARGE_HEAD_BYTES", 1000)


def jtl(path: Path) -> str:
    rows = (f"{1795227572000 + i},{i % 7},label {i % 3},true" for i in range(ROWS))
    path.write_text("timeStamp,elapsed,label,success\n" + "\n".join(rows) + "\n")
    return str(path)


def test_a_large_load_test_is_streamed(tmp_path: Path) -> None:
    path = jtl(tmp_path / "results.jtl")
    assert isinstance(open_file(path), LargeFile)
    collect([path])  # the first read does the imports, which do not count
    tracemalloc.start()
    run = collect([path])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sum(len(benchmark.samples) for benchmark in run.benchmarks) == ROWS
    # The memory holds the samples as floats in arrays and tuples, but not the text of the rows.
    assert peak < 100 * ROWS


def test_large_counters_are_streamed(tmp_path: Path) -> None:
    path = tmp_path / "counters.csv"
    path.write_text("time,a,b\n" + "".join(f"{i},{i},1\n" for i in range(1000)), encoding="utf-16")
    assert len(columns(only_table(collect([str(path)])))["a"]) == 1000


def test_a_large_file_of_another_format_is_refused_by_its_size(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    for text in ("[" + "1," * 2000 + "1]", '{"format":"another","version":1' + " " * 2000, "1\n" * 2000):
        path.write_text(text)
        for paths in ([str(path)], [str(tmp_path)]):
            with pytest.raises(DataError, match=r"results\.json: is larger than 2,000 bytes"):
                collect(paths)
        with pytest.raises(DataError, match="is larger than 2,000 bytes"):
            collect([str(path)], Reading(tool="numbers"))


def test_a_large_archive_and_a_file_beyond_every_limit_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "artifact.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("numbers.txt", "1\n" * 2000)
    with pytest.raises(DataError, match="is larger than 2,000 bytes"):
        collect([str(archive)])
    monkeypatch.setattr(type(FILE_LIMITS), "streamed_file_bytes", 3000)
    with pytest.raises(DataError, match="is larger than"):
        collect([jtl(tmp_path / "results.jtl")])


def test_a_line_without_end_and_bytes_that_are_no_text_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(FILE_LIMITS), "line_characters", 1500)
    path = tmp_path / "counters.csv"
    for tail in (b"5" * 3000, b"2,\xff\n" * 1000, b"2,\x00\n" * 1000):
        path.write_bytes(b"time,a\n1,1\n" + b"1,1\n" * 400 + tail)
        with pytest.raises(DataError, match=r"counters\.csv: is not text in lines of at most 1,500 characters"):
            collect([str(path)])


def test_a_file_that_is_gone_when_it_is_read_is_a_data_error(tmp_path: Path) -> None:
    path = tmp_path / "results.jtl"
    result = open_file(jtl(path))
    path.unlink()
    with pytest.raises(DataError, match="cannot be read: No such file"):
        list(result.lines())


def test_what_collect_wrote_is_read_again_however_large(tmp_path: Path) -> None:
    samples = tuple(float(number) for number in range(1, 1001))
    metric = Metric(name="time", unit="ns", direction=Direction.LOWER_IS_BETTER)
    run = Run(benchmarks=(Benchmark.of(name="f", metric=metric, samples=samples),))
    path = tmp_path / "run.json"
    path.write_bytes(encode_run(run))
    assert path.stat().st_size > FILE_LIMITS.file_bytes
    assert collect([str(path)]).benchmarks == run.benchmarks
