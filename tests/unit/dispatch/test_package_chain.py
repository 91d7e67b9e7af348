"""The commits between good's and bad's packages: each takes one package's version from bad's lock file."""

import json
import tomllib
from pathlib import Path

import pytest

from perf_culprit import git
from perf_culprit.cli.entry import main
from perf_culprit.dispatch.package_chain import PackageChain, package_chain
from perf_culprit.errors import EXIT_NO_DATA
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
    assert git.tree_names(repository, line, "other") == (None,) * len(line)
    subjects = [run_git(repository, "log", "-1", "--format=%s", commit).strip() for commit in line]
    return subjects, [run_git(repository, "show", f"{commit}:{path}") for commit in line]


def test_pins_move_one_by_one_with_their_hashes(tmp_path: Path) -> None:
    before, after = PINS.format(hash="1"), "attrs==1\nidna==3.10\nnumpy==2.2 \\\n    --hash=sha256:2\n"
    subjects, texts = files_of(tmp_path, {"requirements.txt": before}, {"requirements.txt": after}, "requirements.txt")
    assert subjects == ["idna 3.6 → 3.10", "numpy 2.1 → 2.2", "attrs none → 1"]
    assert texts[0].split("\n")[:2] == ["idna==3.10", "numpy==2.1 \\"]
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


def test_what_the_project_requires_moves_with_its_package(tmp_path: Path) -> None:
    """uv compares pyproject.toml with the lock file, so both name the same versions after every step."""

    def project(numpy: str, attrs: str, extra: str) -> dict[str, str]:
        own = (
            '[[package]]\nname = "app"\nversion = "1"\nsource = { virtual = "." }\ndependencies = [\n'
            '    { name = "attrs" },\n    { name = "numpy", extra = ["fft"] },\n]\n\n[package.metadata]\n'
            f'requires-dist = [\n    {{ name = "attrs", specifier = "=={attrs}" }},\n'
            f'    {{ name = "numpy", extras = ["fft"], specifier = "=={numpy}" }},\n]\n\n'
        )
        packages = "".join(
            f'[[package]]\nname = "{name}"\nversion = "{version}"\nsource = {{ registry = "x" }}\n\n'
            for name, version in (("attrs", attrs), ("numpy", numpy))
        )
        manifest = (
            f'[project]\nname = "app"\ndependencies = ["attrs=={attrs}", "numpy[fft]=={numpy}"]  # both\n\n'
            f"[dependency-groups]\ntest = [\n    {extra}'Attrs == {attrs}',\n]\n"
        )
        return {"uv.lock": f"version = 1\n\n{own}{packages}", "pyproject.toml": manifest}

    before, after = project("1", "5", '"numpy<2",'), project("2", "6", "")
    subjects, locks = files_of(tmp_path, before, after, "uv.lock")
    assert subjects == ["attrs 5 → 6", "numpy 1 → 2"]
    half = tomllib.loads(locks[0])["package"][0]["metadata"]["requires-dist"]
    assert [one["specifier"] for one in half] == ["==6", "==1"]
    assert tomllib.loads(locks[1]) == tomllib.loads(after["uv.lock"])
    manifests = files_of(tmp_path / "again", before, after, "pyproject.toml")[1]
    assert tomllib.loads(manifests[0])["project"]["dependencies"] == ["attrs==6", "numpy[fft]==1"]
    assert tomllib.loads(manifests[0])["dependency-groups"]["test"] == ["numpy<2", "Attrs == 6"]
    assert tomllib.loads(manifests[1]) == tomllib.loads(after["pyproject.toml"])


def test_new_and_gone_packages_move_with_the_one_that_needs_them(tmp_path: Path) -> None:
    """`zeta` gets a newer `abc`, which moves first, a new `new`, and loses `old`. Nothing needs `more`."""

    def lock(**packages: tuple[str, tuple[str, ...]]) -> str:
        folders = {
            f"node_modules/{name}": {"version": version, "dependencies": dict.fromkeys(needs, "*")}
            for name, (version, needs) in packages.items()
        }
        return json.dumps({"packages": {"": {}, **folders}})

    before = lock(zeta=("1", ("abc", "old")), abc=("1", ()), old=("1", ("older",)), older=("1", ()))
    after = lock(zeta=("2", ("abc", "new")), abc=("2", ()), new=("1", ("newer",)), newer=("1", ()), more=("1", ()))
    lock_file = "package-lock.json"
    subjects, texts = files_of(tmp_path, {lock_file: before}, {lock_file: after}, lock_file)
    assert subjects == ["abc 1 → 2", "zeta 1 → 2 (with new, newer, old, older)", "more none → 1"]
    assert json.loads(texts[-1])["packages"] == json.loads(after)["packages"]


def test_a_package_moves_in_all_files_at_once(tmp_path: Path) -> None:
    """`pip` would find no version that both files allow."""
    before = {"requirements.txt": "numpy==1\n", "constraints.txt": "Numpy == 1\nidna==2\n"}
    after = {"requirements.txt": "numpy==2\n", "constraints.txt": "numpy==2\nidna==2\n"}
    subjects, texts = files_of(tmp_path, before, after, "constraints.txt")
    assert subjects == ["numpy 1 → 2"]
    assert texts == ["numpy==2\nidna==2"]


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ({"yarn.lock": "a"}, {"yarn.lock": "b"}, "yarn.lock cannot be taken apart"),
        ({"go.sum": "a", "go.mod": "a"}, {"go.sum": "b", "go.mod": "b"}, "go.mod, go.sum cannot be taken apart"),
        ({"poetry.lock": "a"}, {"poetry.lock": "b"}, "poetry.lock cannot be taken apart"),
        ({}, {"uv.lock": UV}, "uv.lock is not in both commits"),
        ({"Cargo.lock": "a"}, {"Cargo.lock": "b"}, "Cargo.lock cannot be taken apart, only uv.lock"),
        ({"requirements.txt": "a==1\n"}, {}, ""),
        ({"package-lock.json": "{"}, {"package-lock.json": "{}"}, "package-lock.json or its manifest does not have"),
        ({"package-lock.json": "[]"}, {"package-lock.json": "{}"}, "package-lock.json or its manifest does not have"),
        (
            {"package-lock.json": '{"packages": {"": {}, "node_modules/a": {}}}', "package.json": "["},
            {"package-lock.json": '{"packages": {"": {}, "node_modules/a": {"version": "2"}}}'},
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


def searched(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], run: str, *options: str, build: str = "true"
) -> tuple[str, list[str]]:
    """The terminal's paragraph about packages after three of five commits, and the culprits' names."""
    names = ("fast", "needs", "slow")
    before, after = ("".join(f"{name}=={version}\n" for name in names) for version in (1, 2))
    commits = {f"c{place}": Commit(level=1, files={"requirements.txt": before}) for place in range(3)}
    commits["c3"] = Commit(level=1, files={"requirements.txt": after, "app": "2"})
    commits["c4"] = Commit(level=1)
    hashes = measured_repository(tmp_path / "repository", commits)
    argv = ["bisect", "--repo", str(tmp_path / "repository"), "--good", hashes["c0"], "--bad", hashes["c4"]]
    argv += ["--profile-seconds", "0", "--prior", "uniform", "--json", str(tmp_path / "a.json"), "--run", run]
    assert main([*argv, *(["--build", build] if build else []), *options]) == 0
    answer = json.loads((tmp_path / "a.json").read_text())
    names_of = {commit: name for name, commit in hashes.items()}
    printed = capsys.readouterr().out.partition("Measured")[0]
    about = next((line for line in printed.splitlines() if line.startswith(("Packages:", "Which package"))), "")
    return about, [names_of[one["commit"]] for one in answer["culprits"]]


OF_UPDATE = "if grep -q {package}==2 requirements.txt; then echo {after}; else echo 100; fi"


@pytest.mark.parametrize(
    ("run", "build", "about"),
    [
        (OF_UPDATE.format(package="fast", after=150), "true", "Packages: fast 1 → 2 made +50.0%"),
        (OF_UPDATE.format(package="slow", after=10_000), "true", "Packages: slow 1 → 2 made +9,900%"),
        # The source makes the step: good's files with bad's packages do not have it.
        ("test -e app && echo 150 || echo 100", "true", "Packages: none of 3 packages that differ explains it"),
        (
            OF_UPDATE.format(package="slow", after=150),
            "grep -q -e needs==1 -e slow==2 requirements.txt || { echo they do not fit; exit 1; }",
            "Packages: one of these changed it: needs 1 → 2, slow 1 → 2 (of 3 packages",
        ),
        # Nothing installs, so the update of packages changes nothing.
        (OF_UPDATE.format(package="fast", after=150), "", ""),
    ],
)
def test_the_package_behind_an_update_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], run: str, build: str, about: str
) -> None:
    """The search goes over the packages in the files of the update's parent."""
    paragraph, culprits = searched(tmp_path, capsys, run, build=build)
    assert culprits == ["c3"]
    assert paragraph.startswith(about) if about else not paragraph
    if "one of these" in about:
        assert "with the packages up to needs 1 → 2 it does not run: the build ended with exit code 1" in paragraph


def test_a_search_cut_short_does_not_clear_the_packages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paragraph, culprits = searched(
        tmp_path, capsys, OF_UPDATE.format(package="fast", after=101.5), "--executions", "21", "--direction", "any"
    )
    assert culprits == ["c3"]
    assert paragraph.startswith("Packages: 3 packages that differ stay undecided after")


def test_packages_are_searched_where_no_commit_can_be_told_from_its_neighbours(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The update lies between commits that do not run, so the search goes from the good end's packages to bad's."""
    pins = {version: {"requirements.txt": f"fast=={version}\nslow=={version}\n"} for version in (1, 2)}
    commits = {
        "good": Commit(files={**pins[1], "state": "fine"}),
        "broken": Commit(files={"state": "broken"}),
        "update": Commit(files=pins[2]),
        "mended": Commit(files={"state": "fine"}),
        "bad": Commit(),
    }
    hashes = measured_repository(repository := tmp_path / "repository", commits)
    run = f"grep -q fine state && {OF_UPDATE.format(package='slow', after=150)}"
    ends = ["--good", hashes["good"], "--bad", hashes["bad"]]
    argv = ["bisect", "--repo", str(repository), *ends, "--prior", "uniform", "--build", "true", "--run", run]
    assert main(argv) == EXIT_NO_DATA
    printed = capsys.readouterr().out
    assert printed.startswith("One of 3 commits introduced the change")
    assert "Packages: slow 1 → 2 made +50.0% (+50.0% … +50.0%), of 2 packages that differ, in" in printed
    assert f"of the files of {hashes['good'][:7]}" in printed


def test_ends_that_ran_with_the_same_packages_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paragraph, culprits = searched(tmp_path, capsys, "echo 100", build="")
    assert not culprits
    assert "the ends differ in requirements.txt: --build pip install -r requirements.txt installs them" in paragraph
    paragraph, culprits = searched(tmp_path / "built", capsys, "echo 100")
    assert (paragraph, culprits) == ("", [])
