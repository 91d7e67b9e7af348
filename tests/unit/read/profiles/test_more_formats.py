"""pprof, V8, pyinstrument, perf script, Jaeger and Zipkin: what the tools themselves say, and what is broken."""

import gzip
import json
import random
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from perf_culprit.errors import BotError, DataError
from perf_culprit.model.call_tree import Profile, RecordFault
from perf_culprit.read.profiles.profile_reading import read_profiles

FOLDER = Path(__file__).parents[3] / "golden" / "profiles"
# `perf script` has as many of the file that samply imported.
SAMPLY_SAMPLES = 406
GO_TOTAL_MS = 510
GO_PARTITION_MS = 160


def only(name: str) -> Profile:
    (profile,) = read_profiles([str(FOLDER / name)]).profiles
    return profile


def own(profile: Profile) -> Mapping[str, float]:
    results: dict[str, float] = {}
    for node in profile.nodes:
        results[node.method] = results.get(node.method, 0.0) + node.self_ms[0]
    return results


def paths(profile: Profile) -> dict[str, tuple[float, float]]:
    named: list[str] = []
    for node in profile.nodes:
        named.append(node.method if node.parent is None else f"{named[node.parent]};{node.method}")
    return {name: (node.elapsed_ms[0], node.self_ms[0]) for name, node in zip(named, profile.nodes, strict=True)}


def test_pprof_says_what_go_tool_pprof_says() -> None:
    """`go tool pprof -top go.pprof`: samples of 10 ms each."""
    profile = only("go.pprof")
    assert profile.unit == "samples"
    assert sum(own(profile).values()) == GO_TOTAL_MS / 10
    assert own(profile)["zsortordered.go:slices.partitionOrdered[go.shape.int]"] == GO_PARTITION_MS / 10
    files = {node.file for node in profile.nodes if node.method == "main_test.go:gop.BenchmarkX"}
    assert [str(file).rpartition("/")[2] for file in files] == ["main_test.go"]


def test_node_counts_hits_below_the_caller_and_no_idle_time() -> None:
    profile = only("node.cpuprofile")
    document = json.loads((FOLDER / "node.cpuprofile").read_text())
    hits = {node["callFrame"]["functionName"]: 0 for node in document["nodes"]}
    for node in document["nodes"]:
        hits[node["callFrame"]["functionName"]] += node["hitCount"]
    assert hits["(idle)"] > 0
    assert sum(own(profile).values()) == sum(hits.values()) - hits["(idle)"]
    assert own(profile)["work.js:fib"] == hits["fib"]
    assert max(own(profile), key=own(profile).__getitem__) == "work.js:sorter"
    (sorter,) = {node.line for node in profile.nodes if node.method == "work.js:sorter"}
    assert sorter == 2


def test_pyinstruments_root_takes_what_it_says() -> None:
    profile = only("pyinstrument.json")
    document = json.loads((FOLDER / "pyinstrument.json").read_text())
    assert profile.nodes[0].elapsed_ms[0] == pytest.approx(1e3 * document["root_frame"]["time"])
    assert sum(own(profile).values()) == pytest.approx(profile.nodes[0].elapsed_ms[0], rel=1e-6)
    assert (profile.unit, profile.nodes[0].method) == ("ms", "work.py:<module>")


def test_scalenes_stacks_are_samples_of_functions() -> None:
    profile = only("scalene.json")
    document = json.loads((FOLDER / "scalene.json").read_text())
    assert sum(own(profile).values()) == sum(amount["count"] for _, amount in document["stacks"])
    assert profile.nodes[0].method == "work.py:<module>"
    assert "work.py:leaf.<locals>.<genexpr>" in own(profile)


def test_every_event_of_perf_script_is_a_sample() -> None:
    (profile,) = read_profiles([str(FOLDER / "perf.script")]).profiles
    events = sum("cpu-clock" in line for line in (FOLDER / "perf.script").read_text().splitlines())
    assert (profile.service, profile.unit) == ("python", "samples")
    assert sum(own(profile).values()) == events
    assert not any("+0x" in node.method for node in profile.nodes)


def jaeger_span(span: str, parent: str, name: str, times: tuple[int, int], process: str) -> dict[str, object]:
    references = [{"refType": "CHILD_OF", "traceID": "t", "spanID": parent}] if parent else []
    return {
        "traceID": "t",
        "spanID": span,
        "operationName": name,
        "references": references,
        "startTime": times[0],
        "duration": times[1],
        "processID": process,
    }


def test_jaegers_traces_are_trees_of_services(tmp_path: Path) -> None:
    spans = [
        jaeger_span("a", "", "GET /order", (1_000_000, 10_000), "p1"),
        jaeger_span("b", "a", "find", (1_002_000, 5_000), "p2"),
        {"traceID": "t", "spanID": 3},
    ]
    processes = {"p1": {"serviceName": "shop"}, "p2": {"serviceName": "db"}}
    path = tmp_path / "traces.json"
    path.write_text(json.dumps({"data": [{"traceID": "t", "spans": spans, "processes": processes}], "total": 0}))
    read = read_profiles([str(path)])
    (profile,) = read.profiles
    assert profile.service == "shop: GET /order"
    assert paths(profile) == {"shop: GET /order": (10.0, 5.0), "shop: GET /order;db: find": (5.0, 5.0)}
    assert dict(read.unused) == {RecordFault.MALFORMED: 1}


def test_zipkins_shared_span_is_the_clients_and_the_servers(tmp_path: Path) -> None:
    def span(number: str, name: str, times: tuple[int, int], service: str, **more: object) -> dict[str, object]:
        one = {"traceId": "t", "id": number, "name": name, "timestamp": times[0], "duration": times[1]}
        return one | {"localEndpoint": {"serviceName": service}} | more

    spans = [
        span("1", "get /order", (1_000, 9_000), "shop", kind="SERVER"),
        span("2", "get /stock", (2_000, 6_000), "shop", parentId="1", kind="CLIENT"),
        span("2", "get /stock", (3_000, 4_000), "stock", parentId="1", kind="SERVER", shared=True),
        span("3", "select", (4_000, 1_000), "stock", parentId="2"),
    ]
    path = tmp_path / "zipkin.json"
    path.write_text(json.dumps([spans]))
    (profile,) = read_profiles([str(path)]).profiles
    assert profile.service == "shop: get /order"
    assert paths(profile) == {
        "shop: get /order": (9.0, 3.0),
        "shop: get /order;shop: get /stock": (6.0, 0.0),
        "shop: get /order;shop: get /stock;stock: (network)": (2.0, 2.0),
        "shop: get /order;shop: get /stock;stock: get /stock": (4.0, 3.0),
        "shop: get /order;shop: get /stock;stock: get /stock;stock: select": (1.0, 1.0),
    }


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


def test_flight_recorder_s_samples_are_java_s_methods() -> None:
    (profile,) = read_profiles([str(FOLDER / "jfr.json")]).profiles
    assert (profile.service, profile.unit) == ("profile", "samples")
    assert sum(own(profile).values()) == 24
    assert max(own(profile), key=lambda name: own(profile)[name]) == "Work.sum"
    assert any(path.endswith("Work.main;Work.order;Work.find;Work.sum") for path in paths(profile))


def test_memray_s_allocations_are_bytes() -> None:
    (profile,) = read_profiles([str(FOLDER / "memray.json")]).profiles
    assert profile.unit == "bytes"
    amounts = own(profile)
    assert sum(amounts.values()) > 7_000_000
    assert amounts["work.py:<listcomp>"] > 6_900_000


def firefox(names: list[str], *, is_shared: bool) -> dict[str, object]:
    """`main` calls `parse` (3 samples) and `render` (1); an idle sample has no stack."""
    tables = {
        "stackTable": {"frame": [0, 1, 2], "prefix": [None, 0, 0], "length": 3},
        "frameTable": {"func": [0, 1, 2], "length": 3},
        "funcTable": {"name": [0, 1, 2], "fileName": [3, 3, None], "length": 3},
        "stringArray": [*names, "/src/work.c"],
    }
    samples = {"stack": [1, 1, 2, None], "weight": [1, 2, 1, 1], "weightType": "samples", "length": 4}
    thread = {"name": "worker 7", "processName": "shop", "samples": samples, **({} if is_shared else tables)}
    return {
        "meta": {"preprocessedProfileVersion": 57},
        "threads": [thread, {"samples": 3}],
        "shared": tables if is_shared else {},
    }


@pytest.mark.parametrize("is_shared", [False, True])
def test_firefox_s_tables_may_be_shared(tmp_path: Path, is_shared: bool) -> None:
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(firefox(["main", "parse", "render"], is_shared=is_shared)))
    read = read_profiles([str(path)])
    (profile,) = read.profiles
    assert (profile.service, profile.unit) == ("shop/worker *", "samples")
    assert paths(profile) == {"work.c:main": (4, 0), "work.c:main;work.c:parse": (3, 3), "work.c:main;render": (1, 1)}
    assert dict(read.unused) == {RecordFault.MALFORMED: 1}


def test_samply_s_addresses_are_refused_and_its_symbols_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="addresses instead of names"):
        read_profiles([str(FOLDER / "samply.json")])
    # As the Firefox Profiler writes it once it has asked for the symbols.
    path = tmp_path / "profile.json"
    path.write_text(re.sub('"0x([0-9a-f]+)"', r'"fun_\1"', (FOLDER / "samply.json").read_text()))
    (profile,) = read_profiles([str(path)]).profiles
    assert (profile.service, profile.unit) == ("w/w", "samples")
    assert sum(own(profile).values()) == SAMPLY_SAMPLES


def test_firefox_s_circles_and_addresses_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(firefox(["0x1a", "0x2b", "0x3c"], is_shared=False)))
    with pytest.raises(DataError, match="addresses instead of names") as told:
        read_profiles([str(path)])
    assert "samply load" in str(told.value.next_step)
    circular = firefox(["main", "parse", "render"], is_shared=False)
    circular["threads"][0]["stackTable"]["prefix"] = [2, 0, 0]  # type: ignore[index]
    path.write_text(json.dumps(circular))
    with pytest.raises(DataError, match="no measured execution"):
        read_profiles([str(path)])
