"""The commits between good's and bad's packages: each takes one package's version from bad's lock file."""

import json
from pathlib import Path

import pytest

from perf_culprit import git
from perf_culprit.cli.entry import main
from perf_culprit.dispatch.package_chain import PackageChain, package_chain
from tests.support.git_repository import run_git
from tests.support.measured_repository import Commit, measured_repository

UV = """version = 1
requires-python = ">=3.11"

[[package]]
name = "numpy"
version = "{numpy}"
source = {{ registry = "https://pypi.org/simple" }}
dependencies = [
    {{ name = "attrs" }},
]

[[package]]
name = "zlib-ng"
version = "{zlib}"
source = {{ registry = "https://pypi.org/simple" }}
"""
PINS = "idna==3.6\nnumpy==2.1 \\\n    --hash=sha256:{hash}\n    # via me\n"


def files_of(tmp_path: Path, before: dict[str, str], after: dict[str, str], path: str) -> tuple[list[str], list[str]]:
    """The subjects of the chain, and the file at each of its commits."""
    commits = {"good": Commit(level=1, files=before), "bad": Commit(level=1, files={**after, "other": "x"})}
    hashes = measured_repository(repository := tmp_path / "repository", commits)
    chain = package_chain(repository, hashes["good"], hashes["bad"])
    assert isinstance(chain, PackageChain)
    assert run_git(repository, "status", "--porcelain") == ""
    line = run_git(repository, "rev-list", "--reverse", f"{hashes['good']}..{chain.last}").split()
    assert len(line) == chain.steps
    assert git.tree_names(repository, line, "other") == (None,) * len(line)
    subjects = [run_git(repository, "log", "-1", "--format=%s", commit).strip() for commit in line]
    return subjects, [run_git(repository, "show", f"{commit}:{path}") for commit in line]


def test_pins_move_one_by_one_with_their_hashes(tmp_path: Path) -> None:
    before, after = PINS.format(hash="1"), "attrs==1\nidna==3.10\nnumpy==2.2 \\\n    --hash=sha256:2\n"
    subjects, texts = files_of(tmp_path, {"requirements.txt": before}, {"requirements.txt": after}, "requirements.txt")
    assert subjects == ["attrs none → 1", "idna 3.6 → 3.10", "numpy 2.1 → 2.2"]
    assert texts[1].split("\n")[:3] == ["attrs==1", "idna==3.10", "numpy==2.1 \\"]
    assert texts[-1].strip() == after.strip()


def test_tables_of_uv_move_whole(tmp_path: Path) -> None:
    before, after = UV.format(numpy="2.1", zlib="1"), UV.format(numpy="2.2", zlib="2")
    subjects, texts = files_of(tmp_path, {"uv.lock": before}, {"uv.lock": after}, "uv.lock")
    assert subjects == ["numpy 2.1 → 2.2", "zlib-ng 1 → 2"]
    assert texts[0].strip() == UV.format(numpy="2.2", zlib="1").strip()
    assert texts[1].strip() == after.strip()


def test_npm_moves_a_package_with_its_own_and_its_requirement(tmp_path: Path) -> None:
    def project(version: str, inner: dict[str, dict[str, str]]) -> dict[str, str]:
        needs = {"name": "app", "dependencies": {"marked": version}}
        folders = {"": needs, "node_modules/@a/b": {"version": version}, "node_modules/marked": {"version": version}}
        lock = {"lockfileVersion": 3, "packages": {**folders, **inner}}
        return {"web/package.json": json.dumps(needs), "web/package-lock.json": json.dumps(lock)}

    before = project("1.0.0", {"node_modules/marked/node_modules/x": {"version": "1"}})
    subjects, texts = files_of(tmp_path, before, project("2.0.0", {}), "web/package-lock.json")
    assert subjects == ["@a/b 1.0.0 → 2.0.0", "marked 1.0.0, 1 → 2.0.0"]
    locks = [json.loads(text)["packages"] for text in texts]
    assert locks[0]["node_modules/marked"] == {"version": "1.0.0"}
    assert locks[0][""]["dependencies"] == {"marked": "1.0.0"}
    assert locks[1][""]["dependencies"] == {"marked": "2.0.0"}
    assert "node_modules/marked/node_modules/x" not in locks[1]


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ({"Cargo.lock": "a"}, {"Cargo.lock": "b"}, "Cargo.lock: only uv.lock"),
        ({"requirements.txt": "a==1\n"}, {}, ""),
        ({"package-lock.json": "{"}, {"package-lock.json": "{}"}, "package-lock.json or its manifest does not have"),
        ({"package-lock.json": "[]"}, {"package-lock.json": "{}"}, "package-lock.json or its manifest does not have"),
        (
            {"package-lock.json": '{"packages": {"node_modules/a": {}}}'},
            {"package-lock.json": '{"packages": {"node_modules/a": {"version": "2"}}}'},
            "package-lock.json or its manifest does not have",
        ),
    ],
)
def test_what_cannot_be_taken_apart_is_said(
    tmp_path: Path, before: dict[str, str], after: dict[str, str], why: str
) -> None:
    commits = {"good": Commit(level=1, files=before), "bad": Commit(level=1, files=after)}
    hashes = measured_repository(tmp_path / "repository", commits)
    reason = package_chain(tmp_path / "repository", hashes["good"], hashes["bad"])
    assert isinstance(reason, str)
    assert reason.startswith(why) if why else not reason


def test_the_package_behind_an_update_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The update of three packages explains nothing, so the search goes over them in its parent's files."""
    names = ("fast", "needs", "slow")
    before, after = ("".join(f"{name}=={version}\n" for name in names) for version in (1, 2))
    commits = {f"c{place}": Commit(level=1, files={"requirements.txt": before}) for place in range(3)}
    commits["c3"] = Commit(level=1, files={"requirements.txt": after})
    commits["c4"] = Commit(level=1)
    hashes = measured_repository(tmp_path / "repository", commits)
    argv = ["bisect", "--repo", str(tmp_path / "repository"), "--good", hashes["c0"], "--bad", hashes["c4"]]
    argv += ["--profile-seconds", "0", "--prior", "uniform"]
    argv += ["--build", "true", "--run", "if grep -q fast==2 requirements.txt; then echo 150; else echo 100; fi"]
    assert main([*argv, "--json", str(tmp_path / "a.json")]) == 0
    answer = json.loads((tmp_path / "a.json").read_text())
    assert [one["commit"] for one in answer["culprits"]] == [hashes["c3"]]
    words = "fast 1 → 2 made +50.0%"
    assert words in json.dumps(answer["notes"], ensure_ascii=False)
    printed = capsys.readouterr()
    assert "3 packages differ: the search goes over them" in printed.err
    assert f"Packages: {words}" in printed.out.partition("Measured")[0]
