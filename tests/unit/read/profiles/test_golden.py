"""Every format on files of real tools: recognized by its own reader only, with the totals that the tools state."""

import gzip
import random
from pathlib import Path

import pytest

from perf_culprit.errors import BotError, DataError, UsageError
from perf_culprit.model.call_tree import Profile, RecordFault
from perf_culprit.read.profiles.profile_file import Intake, opened
from perf_culprit.read.profiles.profile_formats import PROFILE_READERS
from perf_culprit.read.profiles.profile_reading import read_profiles
from tests.support.readings import own_costs

FOLDER = Path(__file__).parents[3] / "golden" / "profiles"


GOLDENS = (
    ("chrome_trace", "viztracer.json"),
    ("chrome_trace", "node.json"),
    ("collapsed", "pyspy.txt"),
    ("speedscope", "pyspy.speedscope.json"),
    ("callgrind", "sums.callgrind"),
    ("cpuprofile", "node.cpuprofile"),
    ("pprof", "go.pprof"),
    ("scalene", "scalene.json"),
    ("pyinstrument", "pyinstrument.json"),
    ("perf_script", "perf.script"),
    ("cprofile", "shop.pstats"),
    ("jfr", "jfr.json"),
    ("gprof2dot", "memray.json"),
    ("otlp", "otel-after.json"),
    ("otlp_protobuf", "otel-after.pb"),
    ("otlp_protobuf", "otel-before.pb"),
    ("kieker", "kieker/events/kieker.dat"),
    ("kieker", "kieker/executions/kieker.dat"),
)


# The program's own loops: 4 x (1 order with 1 find and 6 depths with another, 1 search with 3 finds).
CALLS = {"app.py:order": 4, "app.py:search": 4, "dao.py:depth": 24, "dao.py:find": 20}


def only(name: str) -> Profile:
    (profile,) = read_profiles([str(FOLDER / name)], trusted=True).profiles
    return profile


def total(profile: Profile) -> float:
    return sum(node.elapsed_ms[0] for node in profile.nodes if node.parent is None)


def own(profile: Profile, method: str) -> float:
    return sum(node.self_ms[0] for node in profile.nodes if node.method == method)


@pytest.mark.parametrize(("reader", "name"), GOLDENS)
def test_is_known_by_its_own_reader_first(reader: str, name: str) -> None:
    with opened(str(FOLDER / name), intake=Intake()) as file:
        assert next(one.id for one in PROFILE_READERS.values() if one.matches(file)) == reader


@pytest.mark.parametrize(("reader", "name"), GOLDENS)
def test_self_times_add_up_to_the_total(reader: str, name: str) -> None:
    for profile in read_profiles([str(FOLDER / name)], format=reader, trusted=True).profiles:
        assert sum(node.self_ms[0] for node in profile.nodes) == pytest.approx(total(profile))
        assert all(node.parent is None or node.parent < i for i, node in enumerate(profile.nodes))


def test_callgrind_counts_what_its_own_report_says() -> None:
    profile = only("sums.callgrind")
    assert profile.unit == "instructions"
    assert total(profile) == pytest.approx(568_037)
    assert own(profile, "load") == pytest.approx(442_096)


def test_viztracer_sees_every_call() -> None:
    profile = only("viztracer.json")
    calls = {name: sum(node.calls or 0 for node in profile.nodes if node.method == name) for name in CALLS}
    assert (profile.service, calls) == ("MainProcess/MainThread", CALLS)


def test_cprofile_counts_what_pstats_says() -> None:
    assert total(only("shop.pstats")) == pytest.approx(15.540057)


def test_cprofile_is_opened_only_when_trusted() -> None:
    with pytest.raises(UsageError, match="--trusted-profile"):
        read_profiles([str(FOLDER / "shop.pstats")])


@pytest.mark.parametrize("family", ["events", "executions"])
def test_kieker_folders_are_one_log(family: str) -> None:
    """Four customers of Shop.java order a book, three, one in vain and three, each in a trace of its own."""
    profiles = read_profiles([str(FOLDER / "kieker" / family)]).profiles
    customers, main = profiles
    assert [(node.method.removeprefix("shop.Shop$Customer."), node.calls, node.parent) for node in customers.nodes] == [
        ("run()", 4, None),
        ("order(int)", 4, 0),
        ("find(int)", 8, 1),
    ]
    assert (main.nodes[0].method, main.nodes[0].calls) == ("shop.Shop.main(java.lang.String[])", 1)


def test_kieker_s_times_are_those_of_the_log() -> None:
    """The expected time is between the first and the last record of the trace of `main`."""
    _, main = read_profiles([str(FOLDER / "kieker/events")]).profiles
    assert total(main) == pytest.approx((1795374200827038685 - 1795374200723261238) / 1e6)


def test_a_truncated_kieker_log_counts_what_lost_its_parent(tmp_path: Path) -> None:
    folder = FOLDER / "kieker/executions"
    (tmp_path / "kieker.map").write_bytes((folder / "kieker.map").read_bytes())
    lines = (folder / "kieker.dat").read_bytes().splitlines(keepends=True)
    (tmp_path / "kieker.dat").write_bytes(b"".join(lines[:-2]))  # without the last customer's `run` and without `main`
    reading = read_profiles([str(tmp_path)])
    calls = {profile.service: profile.nodes[0].calls for profile in reading.profiles}
    assert calls == {
        "shop.Shop$Customer.run()": 3,
        "shop.Shop$Customer.order(int)": 1,
        "shop.Shop$Customer.<init>(int)": 4,
    }
    assert dict(reading.unused) == {RecordFault.LOST_PARENT: 5}


def test_what_measures_nothing_is_counted() -> None:
    reading = read_profiles([str(FOLDER / "node.json")])
    assert dict(reading.unused) == {RecordFault.ASYNCHRONOUS: 30, RecordFault.NO_EXECUTION: 6}
    assert reading.records == 87


def test_files_are_repetitions_and_may_be_packed(tmp_path: Path) -> None:
    packed = tmp_path / "trace.json.gz"
    packed.write_bytes(gzip.compress((FOLDER / "node.json").read_bytes()))
    (profile,) = read_profiles([str(packed), str(FOLDER / "node.json")]).profiles
    assert profile.repetitions == 2
    assert all(node.elapsed_ms[0] == node.elapsed_ms[1] for node in profile.nodes)


@pytest.mark.parametrize("kept", [5, 12])
def test_a_packed_file_without_anything_to_unpack_is_damaged_and_not_empty(kept: int, tmp_path: Path) -> None:
    packed = tmp_path / "stacks.txt.gz"
    packed.write_bytes(gzip.compress(b"main;parse 10\n")[:kept])
    with pytest.raises(DataError, match="damaged") as refused:
        read_profiles([str(packed)])
    assert refused.value.place == str(packed)
    assert "gzip -t" in (refused.value.next_step or "")


@pytest.mark.parametrize(("reader", "name"), GOLDENS)
def test_only_our_errors_escape_from_truncated_files(reader: str, name: str, tmp_path: Path) -> None:
    data = (FOLDER / name).read_bytes()
    for path in (FOLDER / name).parent.glob("kieker.map"):
        (tmp_path / "kieker.map").write_bytes(path.read_bytes())
    cut = tmp_path / Path(name).name
    outcomes = 0
    for end in range(0, len(data), max(1, len(data) // 12)):
        cut.write_bytes(data[:end])
        try:
            outcomes += read_profiles([str(cut)], format=reader, trusted=True).records > 0
        except BotError as error:
            outcomes += error.next_step is not None
    assert outcomes >= 12


def test_an_element_that_is_no_json_behind_one_of_another_type(tmp_path: Path) -> None:
    event = '{"ph":"X","name":"%s","ts":%s,"dur":5,"pid":1,"tid":1}'
    path = tmp_path / "trace.json"
    path.write_text(f"[{event % ('a', 1)},{event % ('b', '1e999')},{event % (chr(1), 3)},{event % ('c', 7)}]")
    read = read_profiles([str(path)])
    assert [node.method for node in read.profiles[0].nodes] == ["a", "c"]
    assert dict(read.unused) == {RecordFault.MALFORMED: 2}
    assert [example.place.rpartition(" ")[2] for example in read.examples] == ["2", "3"]


GO_TOTAL_MS = 510


GO_PARTITION_MS = 160


def test_pprof_says_what_go_tool_pprof_says() -> None:
    """The expected values are from `go tool pprof -top go.pprof`, with samples of 10 ms each."""
    profile = only("go.pprof")
    assert profile.unit == "samples"
    assert sum(own_costs(profile).values()) == GO_TOTAL_MS / 10
    assert own_costs(profile)["zsortordered.go:slices.partitionOrdered[go.shape.int]"] == GO_PARTITION_MS / 10
    files = {node.file for node in profile.nodes if node.method == "main_test.go:gop.BenchmarkX"}
    assert [str(file).rpartition("/")[2] for file in files] == ["main_test.go"]


@pytest.mark.parametrize(
    ("content", "how"),
    [
        (b"FLR\x00\x00\x02", "jfr print --json"),
        (b"PERFILE2\x00", "perf script"),
        (b"MOJ\x03", "mojo2austin"),
    ],
)
def test_what_is_not_read_is_refused_with_its_converter(tmp_path: Path, content: bytes, how: str) -> None:
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(DataError, match="which is not read") as refused:
        read_profiles([str(path)])
    assert how in (refused.value.next_step or "")


@pytest.mark.parametrize("name", ["go.pprof", "node.cpuprofile", "pyinstrument.json", "perf.script", "scalene.json"])
def test_damaged_files_are_read_or_refused_and_never_crash(tmp_path: Path, name: str) -> None:
    data = (FOLDER / name).read_bytes()
    data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    rng = random.Random(name)
    path = tmp_path / name
    for _ in range(150):
        damaged = bytearray(data)
        for _ in range(rng.randint(1, 8)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        path.write_bytes(bytes(damaged[: rng.randrange(1, len(damaged))] if rng.random() < 0.3 else damaged))
        try:
            read = read_profiles([str(path)])
        except BotError:
            continue
        assert all(time >= 0 for one in read.profiles for node in one.nodes for time in node.self_ms)
