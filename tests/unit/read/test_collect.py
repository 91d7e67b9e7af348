import io
import zipfile
from pathlib import Path

import pytest

from perf_culprit.errors import DataError, UsageError
from perf_culprit.model.run import Direction, Environment
from perf_culprit.read.results.collect import Reading, collect, collect_each, collect_history, collect_sources
from perf_culprit.read.results.source import Source
from tests.support.goldens import FOLDER, golden


def test_a_file_is_detected_and_named() -> None:
    path = str(FOLDER / "hyperfine/two_parameters.json")
    assert collect([path]) == collect([path], Reading(tool="hyperfine"))


def test_github_action_benchmarks_names_work_and_give_the_direction() -> None:
    points = str(FOLDER / "custom_benchmark/points.json")
    for tool, direction in (
        ("customBiggerIsBetter", Direction.HIGHER_IS_BETTER),
        ("customSmallerIsBetter", Direction.LOWER_IS_BETTER),
    ):
        (benchmark,) = collect([points], Reading(tool=tool)).benchmarks
        assert benchmark.metric.direction is direction
        assert benchmark.value == 96.0
    with pytest.raises(DataError, match="nothing says which way is good"):
        collect([points])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[]", "holds only `[]`: no benchmark was measured"),
        (b"{}", "holds only `{}`: no benchmark was measured"),
        (b'{"results": []}', "its list `results` is empty: no benchmark was measured"),
    ],
)
def test_a_tool_that_measured_nothing_is_no_unknown_format(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_bytes(content)
    with pytest.raises(DataError) as refusal:
        collect([str(path)])
    assert refusal.value.message == message


def test_a_log_of_two_tools_is_read_as_both() -> None:
    go, cargo = golden("go/single.txt"), golden("criterion/bencher_0.5.txt")
    names = [{b.name for b in collect_sources([Source("log.txt", text)]).benchmarks} for text in (go, cargo)]
    both = collect_sources([Source("log.txt", go + cargo)])
    assert {b.name for b in both.benchmarks} == set.union(*names)
    assert not set.intersection(*names)


def test_an_unknown_tool_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="`pytest_benchmrk` is not a known tool; did you mean pytest_benchmark"):
        collect(["-"], Reading(tool="pytest_benchmrk", stdin=io.BytesIO(b"1")))
    with pytest.raises(UsageError, match="`fortran` is not a known tool"):
        collect(["-"], Reading(tool="fortran", stdin=io.BytesIO(b"1")))


def test_standard_input_and_files_merge() -> None:
    text = io.BytesIO(b"1\n2\n")
    run = collect(["-", str(FOLDER / "numbers/loop.txt")], Reading(stdin=text))
    assert [(benchmark.name, len(benchmark.samples)) for benchmark in run.benchmarks] == [("value", 2), ("loop", 4)]


def test_a_repetition_in_another_process_is_another_group(tmp_path: Path) -> None:
    data = golden("hyperfine/failing.json")
    for name in ("1.json", "2.json"):
        (tmp_path / name).write_bytes(data)
    (benchmark,) = collect([f"{tmp_path}/*.json"]).benchmarks
    assert benchmark.group_sizes == (3, 3)


def test_files_of_no_known_format_are_passed_over_in_a_search_and_noted(tmp_path: Path) -> None:
    (tmp_path / "loop.txt").write_text("1\n2\n")
    (tmp_path / "broken.json").write_text('{"benchmarks": [')
    for i in range(9):
        (tmp_path / f"zero{i}").write_bytes(bytes(10))
    run = collect([str(tmp_path)])
    assert len(run.benchmarks) == 1
    assert any("broken.json" in note and "is not valid JSON" in note for note in run.notes)
    assert run.notes[-1] == "further files passed over: 5"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"hello", "holds results of no known format"),
        (b'{"a": 1}', "holds results of no known format"),
        (b'{"a": ', "is not valid JSON"),
        (b"\x80\x04.", "is a Python pickle"),
        (golden("catch2/v3.json"), r"Catch2's JSON, in which Catch2 \(up to 3.7\) writes no benchmarks"),
        (golden("catch2/v3.junit"), "JUnit's XML, which says which tests passed and holds no benchmarks"),
    ],
)
def test_a_named_file_of_no_known_format_is_an_error(tmp_path: Path, text: bytes, reason: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(text)
    with pytest.raises(DataError, match=reason):
        collect([str(path)])


def test_a_named_tool_says_what_it_misses(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"a": 1}')
    with pytest.raises(DataError, match="has no `benchmarks`"):
        collect([str(path)], Reading(tool="pytest"))


def test_nothing_measured_is_an_error_that_says_why() -> None:
    empty = Source("b.json", b'{"machine_info": {}, "benchmarks": []}')
    with pytest.raises(DataError, match=r"b\.json: holds no benchmark"):
        collect_sources([empty])
    with pytest.raises(DataError, match=r"2 files: holds no benchmark and no counter; x was passed over: is empty"):
        collect_sources([empty, Source("x", b"")])
    with pytest.raises(DataError, match="holds no benchmark"):
        collect_sources([])


def test_the_machine_completes_what_its_own_files_do_not_say() -> None:
    here = Environment(components={"cpu": "here", "runner_image": "ubuntu24"})
    assert collect([str(FOLDER / "numbers/loop.txt")], Reading(environment=here)).environment == here
    foreign = collect(
        [str(FOLDER / "pytest_benchmark/with_data.json")], Reading(environment=here)
    ).environment.components
    assert foreign["cpu"] != "here"
    assert "runner_image" not in foreign


def test_archives_may_hold_several_formats(tmp_path: Path) -> None:
    path = tmp_path / "artifact.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/pyperf.json", golden("pyperf/two.json"))
        archive.writestr("b/hyperfine.json", golden("hyperfine/failing.json"))
        archive.writestr("README.md", "# results")
    run = collect([str(path)])
    assert [benchmark.name for benchmark in run.benchmarks] == ["sort", "join", "false"]
    assert run.notes[0].endswith("README.md was passed over: holds results of no known format")


def test_histories_give_a_run_per_commit_oldest_first() -> None:
    runs = collect_history([str(FOLDER / "nyrkio/two_commits.json")])
    assert [run.commit for run in runs] == ["1" * 40, "2" * 40]
    newest = collect([str(FOLDER / "nyrkio/two_commits.json")])
    assert newest.commit == "2" * 40
    assert newest.notes == ("only the newest run of the file is used; older ones: 1",)
    assert [run.commit for run in collect_history([str(FOLDER / "numbers/loop.txt")])] == [None]
    with pytest.raises(DataError, match="holds results of no known format"):
        collect_history([__file__])


def test_each_file_of_a_pattern_is_a_run_and_a_directory_is_one(tmp_path: Path) -> None:
    for name in ("1.txt", "2.txt", "3.txt"):
        (tmp_path / name).write_text("1\n2\n")
    names = [[b.name for b in run.benchmarks] for run in collect_each([f"{tmp_path}/*.txt"], Reading(suite="core"))]
    assert names == [["1"], ["2"], ["3"]]
    (run,) = collect_each([str(tmp_path)], Reading(suite="core"))
    assert (len(run.benchmarks), run.suite) == (3, "core")


def test_our_own_run_files_merge() -> None:
    source = Source("a.json", golden("perf_culprit/run.json"))
    run = collect_sources([source, Source("b.json", source.data)], Reading(suite="core"))
    assert run.suite == "core"
    assert run.benchmarks[0].group_sizes == (2, 2, 2, 2)
    assert run.benchmarks[1].samples == (10.0, 10.0)
