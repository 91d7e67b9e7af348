"""pytest-benchmark files beyond the memory limit: read by benchmark, thinned, or refused as small ones are."""

import io
import json
import zipfile
from pathlib import Path

import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.run import Run
from perf_culprit.read.results import input_files, source
from perf_culprit.read.results.collect import Reading, collect
from perf_culprit.read.results.parsed import thinned
from perf_culprit.read.results.result_formats import READERS

SAMPLES = 10_500
START = '{"machine_info": {"node": "here"}, "benchmarks": ['
PADDING = " " * 3000


@pytest.fixture(autouse=True)
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(FILE_LIMITS), "file_bytes", 2000)
    for module in (source, input_files):
        monkeypatch.setattr(module, "LARGE_HEAD_BYTES", 1000)


def large() -> bytes:
    entries = [{"fullname": name, "stats": {"data": [i * 1e-9 for i in range(SAMPLES)]}} for name in "ab"]
    members = {"machine_info": {"node": "here"}, "benchmarks": entries, "datetime": "2026-01-02T03:04:05+00:00"}
    return json.dumps(members, indent=4).encode()


def read(data: bytes, tmp_path: Path) -> Run:
    path = tmp_path / "bench.json"
    path.write_bytes(data)
    return collect([str(path)])


def test_file_standard_input_archive_and_utf16_give_the_same_thinned_samples(tmp_path: Path) -> None:
    run = read(large(), tmp_path)
    assert [len(benchmark.samples) for benchmark in run.benchmarks] == [10_000, 10_000]
    assert run.time is not None
    assert run.environment.components["host"] == "here"
    assert any("20,000 of 21,000" in note for note in run.notes)
    packed = tmp_path / "artifact.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("bench.json", large())
    assert collect(["-"], Reading(stdin=io.BytesIO(large()))).benchmarks == run.benchmarks
    assert read(large().decode().encode("utf-16"), tmp_path).benchmarks == run.benchmarks
    (member,) = input_files.read_archive(packed.read_bytes(), name="artifact.zip")
    assert READERS["pytest_benchmark"].read(member).benchmarks == run.benchmarks


def test_thinned_samples_are_one_of_each_equal_stretch() -> None:
    kept = thinned([float(i) for i in range(100)], most=10)
    assert [int(number) // 10 for number in kept] == list(range(10))
    assert thinned((1.0, 2.0), most=2) == (1.0, 2.0)


@pytest.mark.parametrize(
    ("rest", "reason"),
    [
        ('{"name": "a", "stats": {"data": [1.0, NaN]}}]}', r"benchmarks\[0\].stats.data\[1\]: is not a finite number"),
        ('{"name": "a", "stats": {"data": [-1.0]}}]}', "a time cannot be negative"),
        ('{"name": "a", "stats": {"data": [1]}}, {"name": "a", "stats": {"data": [1]}}]}', "`a` is also at"),
        ('{"name": "a", "stats": {"data": [1.0, ', "is cut off"),
        ('{"name": "a", "stats": {"data": [' + "9" * 5000 + "]}}]}", "thousands of digits"),
        ('{"name": "a", "stats": {"data": ' + "[" * 100_000 + "]" * 100_000 + "}}]}", "nested too deeply"),
        ('{"name": "a", "stats": {"data": [1]}}' + PADDING + ", , {}]}", "is not valid JSON"),
        ('], "benchmarks": []}', "holds the name `benchmarks` twice"),
        ('{"name": "a", "stats": {"data": [1]}}]} []', "is not valid JSON at"),
        ('{"stats": {"data": [1]}, "name": "' + "x" * 10_001 + '"}]}', "the name is longer than"),
    ],
)
def test_a_broken_large_file_is_refused_with_its_place(rest: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=reason):
        read((START + rest + PADDING).encode(), tmp_path)


def test_benchmarks_that_take_too_much_memory_are_refused_with_the_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(FILE_LIMITS), "kept_bytes", 100_000)
    with pytest.raises(DataError, match="take more than") as caught:
        read(large(), tmp_path)
    assert "--benchmark-max-time" in str(caught.value.next_step)


def test_a_large_file_of_another_tool_is_refused_with_its_option(tmp_path: Path) -> None:
    times = json.dumps({"results": [{"command": "x", "mean": 1.0, "times": [1.0] * 5}] * 200}).encode()
    with pytest.raises(DataError, match=r"is larger than 2,000 bytes") as caught:
        read(times, tmp_path)
    assert "--max-runs" in str(caught.value.next_step)
