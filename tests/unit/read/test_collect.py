"""Files to a run: several tools in one log, and metrics whose file does not state their direction."""

import io
import json
import zipfile
from pathlib import Path

import pytest

from perf_culprit.errors import DataError, UsageError
from perf_culprit.model.run import Direction, Environment, MetricKey, Run
from perf_culprit.model.run_file import encode_run
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
    with pytest.raises(UsageError, match="`fortran` is not a known tool") as raised:
        collect(["-"], Reading(tool="fortran", stdin=io.BytesIO(b"1")))
    assert raised.value.next_step == "use auto, or an id of docs/formats.md, which perf-culprit formats NAME finds"


def test_standard_input_and_files_merge() -> None:
    text = io.BytesIO(b"1\n2\n")
    run = collect(["-", str(FOLDER / "numbers/loop.txt")], Reading(stdin=text))
    assert [(benchmark.name, len(benchmark.samples)) for benchmark in run.benchmarks] == [("value", 2), ("loop", 4)]


def test_a_repetition_in_another_process_is_another_group(tmp_path: Path) -> None:
    data = golden("hyperfine/failing.json")
    for name in ("1.json", "2.json"):
        (tmp_path / name).write_bytes(data)
    benchmark, processor_time = collect([f"{tmp_path}/*.json"]).benchmarks
    assert benchmark.group_sizes == (3, 3)
    assert processor_time.group_sizes == (1, 1)


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


def test_a_folder_without_results_says_what_is_missing(tmp_path: Path) -> None:
    for name in ("app.py", ".git/HEAD", "broken.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{" if name.endswith("json") else "x")
    with pytest.raises(DataError) as caught:
        collect([str(tmp_path)])
    started = f"no benchmark results in {tmp_path}/app.py, {tmp_path}/broken.json:1:2 (is not valid JSON: "
    assert caught.value.message.startswith(started)
    assert caught.value.next_step is not None
    assert "perf-culprit measure" in caught.value.next_step


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
    assert [benchmark.name for benchmark in run.benchmarks] == ["sort", "join", "false", "false"]
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


GO = Source("bench.txt", b"BenchmarkX-4 10 5 ns/op 2.5 hits\nBenchmarkY-4 10 5 ns/op 7 hits\n")


def only_x(key: MetricKey) -> Direction | None:
    return Direction.HIGHER_IS_BETTER if key == MetricKey("BenchmarkX", "hits") else None


def test_a_metric_without_direction_is_left_out_by_name() -> None:
    run = collect_sources([GO])
    assert [key.metric for key in run.keys] == ["time", "time"]
    (note,) = run.notes
    assert "`hits`" in note
    assert "`direction`" in note


def test_the_configuration_rescues_what_it_states_and_nothing_else() -> None:
    run = collect_sources([GO], Reading(directions=only_x))
    kept = {benchmark.key: benchmark for benchmark in run.benchmarks}
    assert kept[MetricKey("BenchmarkX", "hits")].metric.direction is Direction.HIGHER_IS_BETTER
    assert kept[MetricKey("BenchmarkX", "hits")].samples == (2.5,)
    assert MetricKey("BenchmarkY", "hits") not in kept
    assert len(run.notes) == 1


def test_a_configured_direction_does_not_touch_one_that_the_file_states() -> None:
    run = collect_sources([GO], Reading(directions=lambda _: Direction.HIGHER_IS_BETTER))
    directions = {benchmark.metric.name: benchmark.metric.direction for benchmark in run.benchmarks}
    assert directions == {"time": Direction.LOWER_IS_BETTER, "hits": Direction.HIGHER_IS_BETTER}
    assert run.notes == ()


def test_a_file_of_nothing_else_is_refused_with_what_to_set() -> None:
    with pytest.raises(DataError, match="`quality`") as refusal:
        collect_sources([Source("b.json", b'[{"name": "quality", "unit": "points", "value": 3}]')])
    assert "`direction`" in (refusal.value.next_step or "")
