"""Profiles sampled by V8 and Firefox."""

import json
import re
from pathlib import Path

import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.call_tree import Profile, RecordFault
from perf_culprit.read.profiles.profile_reading import read_profiles
from tests.support.readings import only_profile, own_costs

FOLDER = Path(__file__).parents[3] / "golden" / "profiles"


# The number of samples that `perf script` shows for the file that samply imported.
SAMPLY_SAMPLES = 406


def paths(profile: Profile) -> dict[str, tuple[float, float]]:
    named: list[str] = []
    for node in profile.nodes:
        named.append(node.method if node.parent is None else f"{named[node.parent]};{node.method}")
    return {name: (node.elapsed_ms[0], node.self_ms[0]) for name, node in zip(named, profile.nodes, strict=True)}


def test_node_counts_hits_below_the_caller_and_no_idle_time() -> None:
    profile = only_profile("node.cpuprofile")
    document = json.loads((FOLDER / "node.cpuprofile").read_text())
    hits = {node["callFrame"]["functionName"]: 0 for node in document["nodes"]}
    for node in document["nodes"]:
        hits[node["callFrame"]["functionName"]] += node["hitCount"]
    assert hits["(idle)"] > 0
    assert sum(own_costs(profile).values()) == sum(hits.values()) - hits["(idle)"]
    assert own_costs(profile)["work.js:fib"] == hits["fib"]
    assert max(own_costs(profile), key=own_costs(profile).__getitem__) == "work.js:sorter"
    (sorter,) = {node.line for node in profile.nodes if node.method == "work.js:sorter"}
    assert sorter == 2


def firefox(names: list[str], *, is_shared: bool) -> dict[str, object]:
    """A profile in which `main` calls `parse` (3 samples) and `render` (1). An idle sample has no stack."""
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
    # The form that the Firefox Profiler writes after it has fetched the symbols.
    path = tmp_path / "profile.json"
    path.write_text(re.sub('"0x([0-9a-f]+)"', r'"fun_\1"', (FOLDER / "samply.json").read_text()))
    (profile,) = read_profiles([str(path)]).profiles
    assert (profile.service, profile.unit) == ("w/w", "samples")
    assert sum(own_costs(profile).values()) == SAMPLY_SAMPLES


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
