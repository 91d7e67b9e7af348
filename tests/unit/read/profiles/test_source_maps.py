"""Functions of bundled JavaScript by their places in its sources: a real bundle, and unusable maps."""

import base64
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from perf_culprit.explain.changed_code import touched_by_commit
from perf_culprit.explain.compare_trees import compare_profiles
from perf_culprit.model.call_tree import Certainty, Profile
from perf_culprit.read.profiles.profile_reading import read_profiles
from perf_culprit.read.profiles.source_maps import bundle_of
from tests.support.git_repository import run_git

BUNDLED = Path(__file__).parents[3] / "golden" / "profiles" / "bundled"
FUNCTIONS = {("table.js:parseRows", 21), ("table.js:next", 8), ("table.js:widest", 15), ("bundle.js:(anonymous)", 1)}


def recorded(folder: Path, *, parse_hits: int = 104, name: str = "node.cpuprofile") -> Path:
    document = json.loads((BUNDLED / "node.cpuprofile").read_text())
    for node in document["nodes"]:
        node["callFrame"]["url"] = node["callFrame"]["url"].replace("FOLDER", str(folder))
        if node["callFrame"]["functionName"] == "l":
            node["hitCount"] = parse_hits
    (folder / name).write_text(json.dumps(document))
    return folder / name


def functions(profile: Path) -> set[tuple[str, int | None]]:
    (read,) = read_profiles([str(profile)]).profiles
    return {(node.method, node.line) for node in read.nodes if node.file and "node:" not in node.file}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return Path(shutil.copytree(BUNDLED, tmp_path / "project"))


def test_a_minified_bundle_has_the_functions_of_its_sources(project: Path) -> None:
    assert functions(recorded(project)) == FUNCTIONS


def test_the_map_may_stand_in_the_bundle(project: Path) -> None:
    bundle, beside = project / "dist/bundle.js", project / "dist/bundle.js.map"
    inline = f"data:application/json;base64,{base64.b64encode(beside.read_bytes()).decode()}"
    bundle.write_text(bundle.read_text().replace("bundle.js.map", inline))
    beside.unlink()
    assert functions(recorded(project)) == FUNCTIONS


@pytest.mark.parametrize(
    "damaged",
    [None, "", "{", '{"version": 3, "sources": [], "mappings": "AAAA"}', '{"sources": ["a.js"], "mappings": "!"}',
     '{"sources": ["a.js"], "mappings": "AAAAA"}'],
)  # fmt: skip
def test_without_a_map_that_can_be_read_the_bundle_stays(project: Path, damaged: str | None) -> None:
    beside = project / "dist/bundle.js.map"
    beside.unlink() if damaged is None else beside.write_text(damaged)
    assert {name for name, _ in functions(recorded(project))} == {
        f"bundle.js:{one}" for one in ("e", "l", "next", "(anonymous)")
    }


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("//#sourceMappingURL=x" * 20_000 + " b", id="many addresses"),
        pytest.param('//# sourceMappingURL=data:,{"sources":["a"],"mappings":"' + "/" * 400_000 + '"}', id="a number"),
        pytest.param("//# sourceMappingURL=/proc/kmsg", id="a file without an end"),
    ],
)
def test_a_hostile_bundle_takes_no_time(tmp_path: Path, text: str) -> None:
    bundle = tmp_path / "a.js"
    bundle.write_text(text)
    command = (sys.executable, "-c", f"from {bundle_of.__module__} import *; assert bundle_of({str(bundle)!r}) is None")
    subprocess.run(command, env={"PYTHONPATH": os.pathsep.join(sys.path)}, timeout=20, check=True)


@pytest.mark.parametrize("url", ["", "node:fs", "https://example.org/a.js", "file:///nowhere/a.js", "file:///dev/zero"])
def test_nothing_else_is_read(url: str) -> None:
    assert bundle_of(url) is None


def test_the_names_of_bundlers_are_paths_of_the_repository(project: Path) -> None:
    beside = project / "dist/bundle.js.map"
    beside.write_text(beside.read_text().replace("../src/table.js", "webpack://shop/./src/table.js"))
    (read,) = read_profiles([str(recorded(project))]).profiles
    assert {node.file for node in read.nodes if node.method == "table.js:next"} == {"src/table.js"}


def test_the_function_that_the_commit_changed_is_first(project: Path) -> None:
    run_git(project, "init", "-q")
    source = project / "src/table.js"
    slow = source.read_text()
    source.write_text(slow.replace(".map(Number)", ""))
    for message in ("before", "slower"):
        run_git(project, "add", "src")
        run_git(project, "commit", "-qm", message)
        source.write_text(slow)

    def side(hits: int) -> Profile:
        files = [recorded(project, parse_hits=hits + i, name=f"{hits}-{i}.cpuprofile") for i in range(5)]
        return read_profiles([str(one) for one in files]).profiles[0]

    comparison = compare_profiles([side(30)], [side(104)], touched=touched_by_commit(project, "HEAD"))
    first = comparison.suspects[0]
    assert first.method == "table.js:parseRows"
    assert first.touched is not None
    assert (first.touched.name, first.touched.certainty) == ("parseRows", Certainty.FILE_AND_LINE)
