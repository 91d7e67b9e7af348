"""The code that a change can reach, by real commits of small repositories. Unclear cases are measured."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from perf_culprit.commands.measure_requests import Affected
from perf_culprit.measure.affected import MeasureChoice, reach
from tests.support.git_repository import init_repository, run_git

CARGO = {
    "Cargo.toml": '[workspace]\nmembers = ["crates/*"]\n[workspace.dependencies]\n'
    'other = { package = "low", path = "crates/low" }\n',
    "crates/top/Cargo.toml": '[package]\nname = "top"\n[dependencies]\nother.workspace = true\n'
    '[target."cfg(unix)".dependencies]\nunix = { path = "../unix" }\n[dev-dependencies]\nkit = { path = "../kit" }\n',
    "crates/top/benches/parse.rs": "fn main() {}\n",
    "crates/top/src/lib.rs": '#[path = "../../apart/src/shared.rs"]\nmod shared;\n',
    "crates/low/Cargo.toml": '[package]\nname = "low"\n[dev-dependencies]\nlowkit = { path = "../lowkit" }\n',
    "crates/low/src/lib.rs": "",
    "crates/low/README.md": "",
    "crates/unix/Cargo.toml": '[package]\nname = "unix"\n',
    "crates/unix/src/lib.rs": "",
    "crates/low/tests/t.rs": "",
    "crates/kit/Cargo.toml": '[package]\nname = "kit"\n',
    "crates/kit/src/lib.rs": "",
    "crates/lowkit/Cargo.toml": '[package]\nname = "lowkit"\n',
    "crates/lowkit/src/lib.rs": "",
    "crates/apart/Cargo.toml": '[package]\nname = "apart"\n',
    "crates/apart/src/lib.rs": "",
    "crates/apart/src/shared.rs": "",
    "crates/lone/Cargo.toml": '[package]\nname = "lone"\n',
    "crates/lone/src/lib.rs": "",
    "crates/lone/src/data.bin": "",
    "Cargo.lock": "",
}
GO = {
    "go.mod": "module example.com/m\n",
    "a/a.go": 'package a\nimport (\n\tx "example.com/m/c"\n)\n',
    "a/a_test.go": 'package a\nimport "example.com/m/kit"\nfunc BenchmarkA(b *testing.B) {}\n',
    "b/b.go": "package b\n",
    "b/b_test.go": "package b\nfunc BenchmarkB(b *testing.B) {}\n",
    "c/c.go": "package c\n",
    "c/c_test.go": 'package c\nimport "example.com/m/d"\n',
    "d/d.go": "package d\n",
    "kit/kit.go": "package kit\n",
}
NPM = {
    "package.json": '{"name": "root", "workspaces": ["packages/*"]}',
    "build.js": "",
    "packages/top/package.json": '{"name": "@x/top", "dependencies": {"@x/low": "*"}}',
    "packages/top/bench.ts": 'import a from "@x/hoisted/deep"\nimport b from "../beside/src/b"\n',
    "packages/low/package.json": '{"name": "@x/low"}',
    "packages/low/i.ts": "",
    "packages/hoisted/package.json": '{"name": "@x/hoisted"}',
    "packages/hoisted/i.ts": "",
    "packages/beside/package.json": '{"name": "@x/beside"}',
    "packages/beside/src/b.ts": "",
    "packages/lone/package.json": '{"name": "@x/lone"}',
    "packages/lone/i.ts": "",
}
PYTHON = {
    "pyproject.toml": '[project.entry-points.pytest11]\nplug = "lib.plug"\n',
    "bench/test_a.py": "from lib import fast\n",
    "bench/conftest.py": "import lib.helper\n",
    "src/lib/__init__.py": "",
    "src/lib/fast.py": "from . import deep\nfrom importlib.metadata import version\n",
    "src/lib/deep.py": 'from importlib import import_module\nNAME = "lib.lazy"\nimport_module("numpy")\n',
    "src/lib/lazy.py": "",
    "src/lib/helper.py": "",
    "src/lib/plug.py": "",
    "src/lib/lone.py": "import lib.loner\n",
    "src/lib/loner.py": "",
}
COMMANDS = {
    "cargo": "cargo bench -p top -- --save-baseline x",
    "go": 'go test -run "^$" -bench . ./a ./b | tee "$PERF_CULPRIT_OUTPUT"',
    "npm": "npm run bench --workspace=@x/top",
    "python": 'PYTHONPATH=src python -m pytest bench --benchmark-json="$PERF_CULPRIT_OUTPUT"',
}
REPOSITORIES = {"cargo": CARGO, "go": GO, "npm": NPM, "python": PYTHON}


def committed(folder: Path, files: Mapping[str, str | None]) -> str:
    """Write these files, remove those without text, commit, and return the hash."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            path.unlink()
        else:
            path.write_text(text)
    run_git(folder, "add", "--all")
    run_git(folder, "commit", "--quiet", "--allow-empty", "-m", "change")
    return run_git(folder, "rev-parse", "HEAD")


def reached(
    folder: Path,
    before: Mapping[str, str],
    after: Mapping[str, str | None],
    *,
    run: str,
    build: str | None = None,
    only: Affected = "suites",
) -> MeasureChoice:
    for tool in ("go", "cargo"):
        if re.search(rf"\b{tool} [a-z]", f"{build} {run}") and shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    init_repository(folder)
    base = committed(folder, before)
    head = committed(folder, after)
    return reach(folder, base, head, run=run, build=build, only=only)


MEASURED = {
    "cargo": (
        "crates/top/src/lib.rs",
        "crates/top/benches/parse.rs",
        "crates/low/src/lib.rs",
        "crates/unix/src/lib.rs",
        "crates/kit/src/lib.rs",
        "crates/apart/src/shared.rs",
        "crates/lone/src/data.bin",
        "crates/lone/Cargo.toml",
        "Cargo.lock",
        "new.py",
        ".github/perf-culprit.yml",
        "crates/top/benches/data/input.md",
        "vendor/x/src/lib.rs",
    ),
    "go": ("a/a.go", "a/a_test.go", "b/b.go", "c/c.go", "kit/kit.go", "go.mod", "go.sum", "a/testdata/x.txt", "a/x.c"),
    "npm": (
        "packages/top/bench.ts",
        "packages/low/i.ts",
        "packages/hoisted/i.ts",
        "packages/beside/src/b.ts",
        "build.js",
        "package-lock.json",
        "packages/lone/package.json",
    ),
    "python": (
        "bench/test_a.py",
        "bench/conftest.py",
        "src/lib/__init__.py",
        "src/lib/fast.py",
        "src/lib/deep.py",
        "src/lib/lazy.py",
        "src/lib/helper.py",
        "src/lib/plug.py",
        "bench/new/conftest.py",
        "pyproject.toml",
        "numpy.py",
    ),
}
LEFT = {
    "cargo": (
        "crates/lone/src/lib.rs",
        "crates/lowkit/src/lib.rs",
        "README.md",
        "docs/a.png",
        "LICENSE-MIT",
        ".github/workflows/ci.yml",
        ".vscode/x.json",
        ".prettierignore",
    ),
    "go": ("c/c_test.go", "d/d.go", "d/d_test.go", "docs/index.md", ".github/ISSUE_TEMPLATE/bug.yml"),
    "npm": ("packages/lone/i.ts", "packages/lone/new/x.tsx", "CHANGELOG.md"),
    "python": ("src/lib/lone.py", "src/lib/loner.py", "tests/test_other.py", "README.rst"),
}


def cases(table: Mapping[str, tuple[str, ...]]) -> list[tuple[str, str]]:
    return [(language, path) for language, paths in table.items() for path in paths]


@pytest.mark.parametrize(("language", "path"), cases(MEASURED))
def test_what_is_reached_is_measured(tmp_path: Path, language: str, path: str) -> None:
    before = REPOSITORIES[language]
    after = {path: f"{before.get(path, '')}\n"}
    answer = reached(tmp_path, before, after, run=COMMANDS[language])
    assert answer.why is not None
    assert answer.unreached is None


@pytest.mark.parametrize(("language", "path"), cases(LEFT))
def test_what_is_not_reached_is_left_out(tmp_path: Path, language: str, path: str) -> None:
    before = REPOSITORIES[language]
    answer = reached(tmp_path, before, {path: f"{before.get(path, '')}\n"}, run=COMMANDS[language])
    assert answer.why is None
    assert answer.unreached is not None
    assert answer.unreached.files == 1


@pytest.mark.parametrize(
    ("language", "more", "told"),
    [
        ("python", {"src/lib/fast.py": "import importlib\nimportlib.import_module(name)\n"}, "import_module"),
        ("python", {"bench/test_a.py": "import subprocess\nsubprocess.run(words)\n"}, "subprocess"),
        (
            "python",
            {
                "src/lib/fast.py": "import subprocess, sys\nsubprocess.run(sys.executable)\n",
                "bench/test_a.py": "import lib.fast",
            },
            "subprocess",
        ),
        ("python", {"src/lib/fast.py": "def (\n"}, "cannot be parsed"),
        ("cargo", {"crates/low/Cargo.toml": "[package"}, "did not answer"),
        ("cargo", {"crates/top/benches/parse.rs": 'std::process::Command::new("cargo")'}, "only running"),
        ("cargo", {"crates/low/build.rs": 'read_dir("..")'}, "in a folder"),
        (
            "go",
            {"a/a_test.go": 'package a\nimport "os/exec"\nvar _ = exec.Command("go", "run", "./x")\n'},
            "only running",
        ),
        ("npm", {"packages/top/bench.ts": "import(name)\n"}, "only running"),
        ("npm", {"packages/top/bench.ts": "import {x} from 'child_process'; x('node')\n"}, "only running"),
        ("npm", {"packages/top/bench.ts": "import '../low/test/util'\n"}, "tests of another"),
    ],
)
def test_what_only_running_shows_is_measured(tmp_path: Path, language: str, more: dict[str, str], told: str) -> None:
    """The change by itself would be left out."""
    path = LEFT[language][0]
    before = {**REPOSITORIES[language], **more}
    answer = reached(tmp_path, before, {path: f"{before.get(path, '')}\n"}, run=COMMANDS[language])
    assert told in (answer.why or "")


@pytest.mark.parametrize(
    ("language", "run", "build"),
    [
        ("cargo", "make bench", None),
        ("cargo", "cargo bench -p top && ./more.sh", None),
        ("cargo", "cargo bench -p $(cat name)", None),
        ("cargo", "cargo bench -p nowhere", None),
        ("cargo", "cargo run -p top", None),
        ("cargo", "cargo bench -p top", "./configure"),
        ("cargo", "cargo bench -p 'top", None),
        ("go", "go test ./...", None),
        ("npm", "npm run bench", None),
        ("python", "python -c 'import lib'", None),
        ("python", "pytest", None),
    ],
)
def test_a_command_that_is_not_understood_is_measured(
    tmp_path: Path, language: str, run: str, build: str | None
) -> None:
    path = LEFT[language][0]
    before = REPOSITORIES[language]
    assert reached(tmp_path, before, {path: f"{before[path]}\n"}, run=run, build=build).why


@pytest.mark.parametrize("run", ["cargo bench -p top", "cd crates/top && cargo bench"])
def test_a_crate_is_named_or_is_where_the_command_runs(tmp_path: Path, run: str) -> None:
    before = {**CARGO, "crates/lone/src/lib.rs": "fn f() {}"}
    build = "cargo build -p top"
    assert reached(tmp_path / "a", before, {"crates/lone/src/lib.rs": ""}, run=run, build=build).why is None
    assert reached(tmp_path / "b", before, {"crates/low/src/lib.rs": "\n"}, run=run, build=build).why


def test_documentation_is_left_out_whatever_the_command(tmp_path: Path) -> None:
    answer = reached(tmp_path, {"Makefile": "", "bench.sh": ""}, {"README.md": "\n"}, run="make bench")
    assert answer.why is None


@pytest.mark.parametrize(
    "source",
    [
        'const TEXT: &str = include_str!("../../../README.md");',
        'for file in glob("docs/*") {}',
        'static DOCS: Dir = include_dir!("$CARGO_MANIFEST_DIR");',
    ],
)
def test_documentation_that_a_measured_source_reads_is_measured(tmp_path: Path, source: str) -> None:
    before = {**CARGO, "crates/top/src/lib.rs": source}
    paths = {"README.md": "\n", "docs/a.md": "\n", "crates/top/src/b.md": "\n"}
    answer = reached(tmp_path, before, paths, run=COMMANDS["cargo"])
    assert "may read" in (answer.why or "")


def test_documentation_of_a_crate_is_no_input(tmp_path: Path) -> None:
    text = '#![doc = include_str!("../README.md")]\n// see README.md\n'
    before = {**CARGO, "crates/top/src/lib.rs": text, "crates/top/README.md": ""}
    assert reached(tmp_path / "a", before, {"crates/top/README.md": "\n"}, run=COMMANDS["cargo"]).why is None
    assert reached(tmp_path / "b", before, {"crates/top/README.md": None}, run=COMMANDS["cargo"]).why


def test_a_command_for_all_crates_compiles_all(tmp_path: Path) -> None:
    """The placeholder leaves out crates without benchmarks, so that they are not compiled."""
    after = {"crates/lone/src/lib.rs": "\n"}
    assert reached(tmp_path / "a", CARGO, after, run="cargo bench").why
    run = "cargo bench ${PERF_CULPRIT_AFFECTED:---workspace}"
    assert reached(tmp_path / "b", CARGO, after, run=run).why
    assert reached(tmp_path / "c", CARGO, after, run=run, only="benchmarks").why is None


def test_what_a_link_leads_to_is_measured(tmp_path: Path) -> None:
    init_repository(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "inputs").symlink_to("docs")
    base = committed(tmp_path, {**CARGO, "docs/a.md": ""})
    head = committed(tmp_path, {"docs/a.md": "\n"})
    assert "link" in (reach(tmp_path, base, head, run=COMMANDS["cargo"], build=None, only="suites").why or "")


def test_a_removed_source_is_reached_as_it_was(tmp_path: Path) -> None:
    assert reached(tmp_path, GO, {"c/c.go": None}, run=COMMANDS["go"]).why


def test_a_moved_source_is_reached_from_where_it_was(tmp_path: Path) -> None:
    before = {**GO, "c/c.go": "package c\n" + "// long enough to be found again\n" * 9}
    after = {"c/c.go": None, "d/moved.go": before["c/c.go"]}
    assert reached(tmp_path, before, after, run=COMMANDS["go"]).why


PARTS = {
    "go": ("go test -bench . ${PERF_CULPRIT_AFFECTED:-./...}", "kit/kit.go", "./a", ("./b",)),
    "cargo": ("cargo bench ${PERF_CULPRIT_AFFECTED:--p top -p lone}", "crates/low/src/lib.rs", "-p top", ("lone",)),
    "python": ("cd other && pytest ${PERF_CULPRIT_AFFECTED:-. ../bench}", "src/lib/loner.py", "test_b.py", None),
}


@pytest.mark.parametrize("language", PARTS)
def test_of_a_suite_only_some_packages(tmp_path: Path, language: str) -> None:
    run, path, arguments, left = PARTS[language]
    before = {**REPOSITORIES[language], "other/test_b.py": "import lib.lone\n", "crates/lone/benches/b.rs": ""}
    after = {path: f"{before[path]}\n"}
    answer = reached(tmp_path, before, after, run=run, only="benchmarks")
    assert answer.arguments == arguments
    assert answer.unreached is not None
    assert left is None or answer.unreached.packages == left
    whole = reached(tmp_path / "whole", before, after, run=run)
    assert (whole.arguments, whole.unreached) == (None, None)


def test_a_command_that_cannot_choose_measures_all(tmp_path: Path) -> None:
    answer = reached(tmp_path, GO, {"c/c.go": "package c\n\n"}, run=COMMANDS["go"], only="benchmarks")
    assert (answer.arguments, answer.unreached) == (None, None)


# What was found to be missed. Each change is in code that the benchmark runs.

MISSED = {
    "go: bracket in a comment": (
        "go",
        {"a/a.go": 'package a\nimport ( // )\n\t"example.com/m/d"\n)\n'},
        "d/d.go",
        None,
    ),
    "go: several on a line": ("go", {"a/a.go": 'package a\nimport ("errors"; "example.com/m/d")\n'}, "d/d.go", None),
    "go: two statements on a line": (
        "go",
        {"a/a.go": 'package a\nimport "errors"; import "example.com/m/d"\n'},
        "d/d.go",
        None,
    ),
    "go: raw text": ("go", {"a/a.go": "package a\nimport (\n\t`example.com/m/d`\n)\n"}, "d/d.go", None),
    "go: replaced by -modfile": (
        "go",
        {
            "x/x.go": "package x\n",
            "x/go.mod": "module example.com/x\n",
            "other.mod": "module example.com/m\nrequire example.com/x v0.0.0\nreplace example.com/x => ./x\n",
            "a/a.go": 'package a\nimport "example.com/x"\n',
        },
        "x/x.go",
        "go test -modfile=other.mod -bench . ./a",
    ),
    "go: tests without benchmarks run, too": (
        "go",
        {"c/c_test.go": "package c\n"},
        "c/c_test.go",
        "go test -bench . ./...",
    ),
    "go: embedded sources": (
        "go",
        {"a/a.go": 'package a\nimport _ "embed"\n//go:embed in/*\nvar x string\n', "a/in/x.go": "package in\n"},
        "a/in/x.go",
        None,
    ),
    "go: a program of a library": (
        "go",
        {
            "kit/kit.go": 'package kit\nimport "os/exec"\nvar Run = exec.Command\n',
            "a/a_test.go": 'package a\nimport "example.com/m/kit"\nvar _ = kit.Run("go", "run", "../d")\n',
        },
        "d/d.go",
        None,
    ),
    "go: a script without an ending": (
        "go",
        {"a/a.go": 'package a\nimport "os/exec"\nvar _ = exec.Command("../gen")\n', "gen": "#!/bin/sh\ngo run ./d"},
        "d/d.go",
        None,
    ),
    "go: a shell": (
        "go",
        {"a/a.go": 'package a\nimport "os/exec"\nvar _ = exec.Command("bash", "../gen")\n', "gen": "go run ./d"},
        "d/d.go",
        None,
    ),
    "python: star": (
        "python",
        {"bench/test_a.py": "from lib import *\n", "src/lib/__init__.py": '__all__ = ["lone"]\n'},
        "src/lib/lone.py",
        None,
    ),
    "python: asyncio": (
        "python",
        {"bench/test_a.py": 'import asyncio, sys\nasyncio.create_subprocess_exec(sys.executable, "-m", "lib.lone")\n'},
        "src/lib/lone.py",
        None,
    ),
    "python: a program of a library": (
        "python",
        {
            "src/lib/fast.py": "from asyncio.subprocess import create_subprocess_exec\n",
            "bench/test_a.py": "import lib.fast\n",
        },
        "src/lib/lone.py",
        None,
    ),
    "python: glob": (
        "python",
        {"bench/test_a.py": 'from pathlib import Path\nTEXTS = list(Path("src").rglob("*.py"))\n'},
        "src/lib/lone.py",
        None,
    ),
    "python: -p": ("python", {}, "src/lib/lone.py", "PYTHONPATH=src pytest -p lib.lone bench/test_a.py"),
    "python: -p, joined": ("python", {}, "src/lib/lone.py", "PYTHONPATH=src pytest -plib.lone bench/test_a.py"),
    "python: -p in settings": ("python", {"pytest.ini": "[pytest]\naddopts = -p lib.lone\n"}, "src/lib/lone.py", None),
    "python: plugins of a conftest": (
        "python",
        {"bench/conftest.py": 'pytest_plugins = ["lone"]\n', "lone.py": ""},
        "lone.py",
        None,
    ),
    "python: the module's package": (
        "python",
        {"bench/__init__.py": ""},
        "bench/__init__.py",
        "python -m bench.test_a",
    ),
    "python: the standard library's name": ("python", {}, "queue.py", "python bench/test_a.py"),
    "python: the standard library's name next to a script": (
        "python",
        {},
        "src/lib/queue.py",
        "python src/lib/fast.py",
    ),
    "python: the standard library's name in a folder of PYTHONPATH": (
        "python",
        {},
        "src/lib/queue.py",
        "PYTHONPATH=src:src/lib pytest bench",
    ),
    "python: the standard library's name in a folder of sys.path": (
        "python",
        {"bench/test_a.py": 'import sys\nsys.path.insert(0, "src/lib")\n'},
        "src/lib/queue.py",
        None,
    ),
    "python: the standard library's name where code starts": (
        "python",
        {
            "bench/test_a.py": "import os, subprocess, sys\nos.chdir('src/lib')\n"
            'subprocess.run([sys.executable, "-c", "import platform"])\n'
        },
        "src/lib/queue.py",
        None,
    ),
    "python: sitecustomize": ("python", {"src/sitecustomize.py": "import lib.lone\n"}, "src/lib/lone.py", None),
    "python: a variable": ("python", {}, "src/lib/lone.py", "PYTEST_PLUGINS=lib.lone pytest bench"),
    "python: exported": ("python", {}, "src/lib/lone.py", "export PYTEST_ADDOPTS=-plib.lone; pytest bench"),
    "python: import_module by another name": (
        "python",
        {"bench/test_a.py": "from importlib import import_module as load\nload(name)\n"},
        "src/lib/lone.py",
        None,
    ),
    "python: a pattern of the shell": (
        "python",
        {"bench/test_b.py": ""},
        "bench/test_b.py",
        "pytest bench/test_a.py bench/*b.py",
    ),
    "python: a comment of the shell": (
        "python",
        {},
        "src/lib/lone.py",
        "pytest bench/test_a.py::t#1 && python src/lib/lone.py",
    ),
    "python: an option of pytest": (
        "python",
        {},
        "src/lib/lone.py",
        'PYTHONPATH=src pytest -o "addopts=-p lib.lone" bench',
    ),
    "python: settings of a build": (
        "python",
        {"pyproject.toml": '[tool.setuptools]\npy-modules = ["src/lib/lone.py"]\n'},
        "src/lib/lone.py",
        None,
    ),
    "python: the package around the tests": (
        "python",
        {"src/lib/bench/__init__.py": "", "src/lib/bench/test_c.py": ""},
        "src/lib/__init__.py",
        "pytest src/lib/bench",
    ),
    "python: subprocess by a name": (
        "python",
        {"bench/test_a.py": 'import sys\nfrom subprocess import run as go\ngo([sys.executable, "-m", name])\n'},
        "src/lib/lone.py",
        None,
    ),
    "python: a script without an ending": (
        "python",
        {"bench/test_a.py": 'from subprocess import run\nrun(["tools/gen"])\n', "tools/gen": "python -m lib.lone"},
        "src/lib/lone.py",
        None,
    ),
    "python: code for another interpreter": (
        "python",
        {"bench/test_a.py": 'import subprocess, sys\nsubprocess.run([sys.executable, "-c", "import lib.lone"])\n'},
        "src/lib/lone.py",
        None,
    ),
    "python: data names a module": (
        "python",
        {
            "bench/test_a.py": 'import json\nfor one in json.load(open("bench/list.json")):\n    open(one)\n',
            "bench/list.json": '["src/lib/lone.py"]',
        },
        "src/lib/lone.py",
        None,
    ),
    "python: getattr": (
        "python",
        {"bench/test_a.py": 'import importlib\ngetattr(importlib, "import_" + "module")("lib." + name)\n'},
        "src/lib/lone.py",
        None,
    ),
    "python: from the standard input": ("python", {}, "src/lib/lone.py", "cat src/lib/lone.py | python"),
    "python: a build backend": (
        "python",
        {"pyproject.toml": '[build-system]\nbuild-backend = "made"\nbackend-path = ["tools"]\n', "tools/made.py": ""},
        "tools/made.py",
        None,
    ),
    "python: latin-1": (
        "python",
        {"bench/test_a.py": "# coding: utf-7\n+AGkAbQBwAG8AcgB0- lib.lone\n"},
        "src/lib/lone.py",
        None,
    ),
    "python: pickle": ("python", {"bench/test_a.py": "import pickle\npickle.load(file)\n"}, "src/lib/lone.py", None),
    "npm: a program of another workspace": (
        "npm",
        {
            "packages/lone/package.json": '{"name": "@x/lone", "bin": {"lone-tool": "i.js"}}',
            "packages/lone/i.js": "",
            "packages/top/package.json": '{"name": "@x/top", "scripts": {"bench": "lone-tool && node bench.js"}}',
        },
        "packages/lone/i.js",
        None,
    ),
    "npm: another name": (
        "npm",
        {"packages/top/package.json": '{"name": "@x/top", "dependencies": {"y": "npm:@x/lone@^1.0.0"}}'},
        "packages/lone/i.ts",
        None,
    ),
    "npm: computed": ("npm", {"packages/top/bench.ts": 'require("@x/" + name)\n'}, "packages/lone/i.ts", None),
    "npm: all workspaces": (
        "npm",
        {"packages/top/package.json": '{"name": "@x/top", "scripts": {"bench": "npm run build --workspaces"}}'},
        "packages/lone/i.ts",
        None,
    ),
    "npm: a pattern of paths": (
        "npm",
        {"packages/top/tsconfig.json": '{"compilerOptions": {"paths": {"#*": ["../*/i"]}}}'},
        "packages/lone/i.ts",
        None,
    ),
    "npm: an installed package uses it": (
        "npm",
        {"package-lock.json": '{"packages": {"node_modules/kit": {"dependencies": {"@x/lone": "^1"}}}}'},
        "packages/lone/i.ts",
        None,
    ),
    "npm: joined": (
        "npm",
        {"packages/top/bench.ts": 'fork(path.join(__dirname, "..", "lone", "i"))\n'},
        "packages/lone/i.ts",
        None,
    ),
    "npm: installing runs it": (
        "npm",
        {
            "packages/lone/package.json": '{"name": "@x/lone", "scripts": {"postinstall": "node i.js"}}',
            "packages/lone/i.js": "",
        },
        "packages/lone/i.js",
        None,
    ),
    "cargo: patched": (
        "cargo",
        {
            "Cargo.toml": f'{CARGO["Cargo.toml"]}[patch.crates-io]\nlone = {{ path = "crates/lone" }}\n',
        },
        "crates/lone/src/lib.rs",
        None,
    ),
    "cargo: path of a module with modules": (
        "cargo",
        {
            "crates/top/src/lib.rs": '#[path = "../../lone/src/deep/mod.rs"]\nmod deep;\n',
            "crates/lone/src/deep/mod.rs": "mod inner;\n",
            "crates/lone/src/deep/inner.rs": "",
        },
        "crates/lone/src/deep/inner.rs",
        None,
    ),
    "cargo: path of a folder": (
        "cargo",
        {"crates/top/src/lib.rs": '#[path = "../../lone/src"]\nmod x { mod deep; }\n', "crates/lone/src/deep.rs": ""},
        "crates/lone/src/deep.rs",
        None,
    ),
    "cargo: a build script lists": (
        "cargo",
        {"crates/low/build.rs": 'read_dir("../lone/src")'},
        "crates/lone/src/lib.rs",
        None,
    ),
    "cargo: a build script embeds the data of all crates": (
        "cargo",
        {
            "crates/low/build.rs": 'for one in read_dir("..") { include(one.join(format!("locales/{name}.ftl"))) }',
            "crates/lone/locales/en.ftl": "",
        },
        "crates/lone/locales/en.ftl",
        None,
    ),
    "cargo: a product that is no comment": (
        "cargo",
        {"crates/top/src/lib.rs": 'fn f() {\n*text = include_str!("../../../NOTES.md");\n}\n', "NOTES.md": ""},
        "NOTES.md",
        None,
    ),
    "cargo: what is built": ("cargo", {}, "crates/lone/src/lib.rs", "cargo build -p lone && cargo bench -p top"),
    "make: a document": (
        "cargo",
        {"Makefile": "", "run.js": 'read("NOTES.md")', "NOTES.md": ""},
        "NOTES.md",
        "make bench",
    ),
}


@pytest.mark.parametrize("name", MISSED)
def test_what_was_missed_is_measured(tmp_path: Path, name: str) -> None:
    language, more, path, run = MISSED[name]
    before = {**REPOSITORIES[language], **more}
    after = {path: f"{before.get(path, 'package c' if path.endswith('.go') else '')}\n"}
    assert reached(tmp_path, before, after, run=run or COMMANDS[language]).why


UNREACHED = {
    "an entry of the manifest": {"pyproject.toml": '[project]\nname = "x"\nscripts = {x = "lib.lone:main"}\n'},
    "settings of a program that checks": {"pyproject.toml": '[tool.mypy]\nfiles = ["src/*.py"]\n'},
}


def test_a_word_that_is_also_a_file_starts_nothing(tmp_path: Path) -> None:
    """Files of data often have no ending, such as `alpha`."""
    code = 'package a\nimport "os/exec"\nvar _, alpha = exec.Command("uname"), 1\n'
    before = {**GO, "a/a.go": code, "fixtures/alpha": "text"}
    assert reached(tmp_path, before, {"d/d.go": "package d\n\n"}, run=COMMANDS["go"]).why is None


@pytest.mark.parametrize("name", UNREACHED)
def test_settings_that_load_no_code_are_left_out(tmp_path: Path, name: str) -> None:
    before = {**PYTHON, **UNREACHED[name]}
    assert reached(tmp_path, before, {"src/lib/lone.py": "\n"}, run=COMMANDS["python"]).why is None


@pytest.mark.parametrize("after", [{"b/b_test.go": None, "b/b.go": None}, {"b/go.mod": "module example.com/b\n"}])
def test_a_package_that_goes_is_measured(tmp_path: Path, after: Mapping[str, str | None]) -> None:
    assert reached(tmp_path, GO, after, run="go test -bench . ./...").why


@pytest.mark.parametrize(
    "run",
    [
        "python",
        "cargo",
        "go",
        "npm",
        "pytest",
        "asv",
        "cat x | python",
        "cd",
        "export",
        ";",
        "|",
        "'",
        "cargo -p",
        "go test -bench",
        "cargo bench -p",
    ],
)
def test_a_command_without_arguments_is_measured(tmp_path: Path, run: str) -> None:
    assert reached(tmp_path, CARGO, {"crates/lone/src/lib.rs": "\n"}, run=run).why


# What Python starts. Only constants are understood.

SYSTEM = 'import subprocess, sys\nsubprocess.check_output(["git", "rev-parse", "HEAD"])\n'
CODE = 'import subprocess, sys\nsubprocess.run([sys.executable, "-c", "import platform"])\n'
UNDERSTOOD = {
    "code": CODE,
    "code, with options": (
        "import subprocess\nimport sys\ntry:\n    subprocess.run(\n"
        '        [sys.executable, "-sS", "-c", "import platform; print(platform.mac_ver()[0])"],\n'
        '        check=True, env={"SYSTEM_VERSION_COMPAT": "0"}, stdout=subprocess.PIPE, text=True,\n'
        "    )\nexcept subprocess.CalledProcessError:\n    pass\n"
    ),
    "code that imports another module": (
        "import subprocess, sys\n"
        'subprocess.Popen([sys.executable, "-c", "import lib.loner"], stdin=subprocess.DEVNULL)\n'
    ),
    "a program of the system": SYSTEM,
    "a program of the system, with options": 'import subprocess\nsubprocess.run(["uname", "-r"], timeout=9)\n',
}


@pytest.mark.parametrize("name", UNDERSTOOD)
def test_a_program_of_constants_leaves_out_what_it_does_not_reach(tmp_path: Path, name: str) -> None:
    before = {**PYTHON, "bench/test_a.py": UNDERSTOOD[name]}
    assert reached(tmp_path, before, {"src/lib/lone.py": "\n"}, run=COMMANDS["python"]).why is None


@pytest.mark.parametrize("path", ["src/lib/lone.py", "src/lib/loner.py"])
@pytest.mark.parametrize(
    ("before", "code"),
    [
        ("", "from lib import lone"),
        ('os.chdir("src/lib")', "import lone"),
        ('os.environ["PYTHONPATH"] = "src/lib"', "import lone"),
    ],
)
def test_code_for_another_interpreter_is_followed(tmp_path: Path, before: str, code: str, path: str) -> None:
    text = f'import os, subprocess, sys\n{before}\nsubprocess.run([sys.executable, "-c", "{code}"])\n'
    answer = reached(tmp_path, {**PYTHON, "bench/test_a.py": text}, {path: "\n"}, run=COMMANDS["python"])
    assert answer.why == f"{path} reaches bench/test_a.py"


def _run(words: str, more: str = "") -> dict[str, str]:
    return {"bench/test_a.py": f"import os, subprocess, sys\nsubprocess.run({words}{more})\n"}


HOSTILE: dict[str, dict[str, str]] = {
    "a computed command": _run("[tool]"),
    "a computed interpreter": _run('[os.environ["PYTHON"], "-c", "pass"]'),
    "a computed argument": _run('["git", "rev-parse", name]'),
    "words from elsewhere": _run('["git", *words]'),
    "a shell's line": _run('"git rev-parse HEAD"', ", shell=True"),
    "a list for a shell": _run('["git", "rev-parse", "HEAD"]', ", shell=True"),
    "os.system": {"bench/test_a.py": f'{SYSTEM}import os\nos.system("git describe")\n'},
    "another folder": _run('["git", "describe"]', ', cwd="tools"'),
    "code in another folder": _run('[sys.executable, "-c", "import x"]', ', cwd="src"'),
    "PYTHONPATH": _run('[sys.executable, "-c", "import x"]', ', env={"PYTHONPATH": "tools"}'),
    "PATH": _run('["git", "describe"]', ', env={"PATH": "tools"}'),
    "a copied environment": _run('[sys.executable, "-c", "pass"]', ', env={**os.environ, "A": "b"}'),
    "a computed environment": _run('[sys.executable, "-c", "pass"]', ", env=variables"),
    "options from elsewhere": _run('[sys.executable, "-c", "pass"]', ", **options"),
    "another executable": _run('["git", "describe"]', ', executable="tools/gen"'),
    "another executable, by position": _run('["git", "describe"]', ', -1, "tools/gen"'),
    "standard input": _run('[sys.executable, "-c", "pass"]', ", input=text"),
    "a module": _run('[sys.executable, "-m", "lib.lone"]'),
    "a file": _run('[sys.executable, "tools/gen.py"]'),
    "an interactive interpreter": _run('[sys.executable, "-i", "-c", "pass"]'),
    "a category of warnings": _run('[sys.executable, "-Werror::lib.lone.Warn", "-c", "pass"]'),
    "an argument after code": _run('[sys.executable, "-c", "pass", "lib.lone"]'),
    "computed code": _run('[sys.executable, "-c", f"import {name}"]'),
    "joined code": _run('[sys.executable, "-c", "import " + name]'),
    "code that imports by a name": _run(
        '[sys.executable, "-c", "import importlib, sys; importlib.import_module(sys.argv[0])"]'
    ),
    "code that runs a module": _run('[sys.executable, "-c", "import runpy; runpy.run_module(x)"]'),
    "code that executes": _run('[sys.executable, "-c", "exec(open(0).read())"]'),
    "code that starts a program": _run('[sys.executable, "-c", "import os; os.system(x)"]'),
    "code that starts more": _run(
        "[sys.executable, \"-c\", \"import subprocess, sys; subprocess.run([sys.executable, '-c', 'pass'])\"]"
    ),
    "code that is none": _run('[sys.executable, "-c", "def ("]'),
    "code that lists": _run('[sys.executable, "-c", "import os; os.listdir(x)"]'),
    "a program that builds": _run('["make"]'),
    "a program that tests": _run('["pytest"]'),
    "a shell": _run('["sh", "-c", "git describe"]'),
    "a program around another": _run('["env", "git", "describe"]'),
    "a program that reads files": _run('["git", "grep", "x"]'),
    "a program that lists files": _run('["git", "ls-files"]'),
    "git with settings": _run('["git", "-c", "alias.x=!python tools/gen.py", "x"]'),
    "git that compares the folder": _run('["git", "describe", "--dirty"]'),
    "a path of a program": _run('["./git", "describe"]'),
    "a program with a file": _run('["hostname", "-F", "name"]'),
    "a program that is here": {**_run('["git", "describe"]'), "tools/git": "python -m lib.lone"},
    "a program that is here, with an ending": {**_run('["uname", "-r"]'), "tools/uname.bat": "python -m lib.lone"},
    "a program that is installed": {
        **_run('["uname", "-r"]'),
        "pyproject.toml": '[project]\nname = "x"\nscripts = {uname = "lib.lone:main"}\n',
    },
    "another name of the function": {"bench/test_a.py": f"{SYSTEM}go = subprocess.run\ngo(words)\n"},
    "another name of the module": {"bench/test_a.py": f"{SYSTEM}import subprocess as other\nother.run(words)\n"},
    "the module as a value": {"bench/test_a.py": f"{SYSTEM}start(subprocess)\n"},
    "one more command": {"bench/test_a.py": f"{SYSTEM}subprocess.call(words)\n"},
    "from another module": {
        "src/lib/fast.py": SYSTEM,
        "bench/test_a.py": "from lib import fast\nfast.subprocess.run(words)\n",
    },
    "by a text, from another module": {
        "src/lib/fast.py": SYSTEM,
        "bench/test_a.py": 'from lib import fast\ngetattr(fast, "subprocess").run(words)\n',
    },
    "an interpreter that is set": {"bench/test_a.py": f'{CODE}sys.executable = "tools/gen"\n'},
    "an interpreter that is set by a text": {"bench/test_a.py": f'{CODE}setattr(sys, "executable", x)\n'},
    "an interpreter that is set by a name": {"bench/test_a.py": f"{CODE}setattr(sys, name, x)\n"},
    "an interpreter that is set by pytest": {"bench/test_a.py": f"{CODE}monkeypatch.setattr(sys, name, x)\n"},
    "an interpreter that is patched": {"bench/test_a.py": f'{CODE}patch("sys.executable", "tools/gen")\n'},
    "an interpreter that another module sets": {
        "src/lib/fast.py": CODE,
        "bench/test_a.py": 'import sys as other\nfrom lib import fast\nother.executable = "tools/gen"\n',
    },
    "an interpreter that is patched by its name": {
        "src/lib/fast.py": CODE,
        "bench/test_a.py": 'import sys\nfrom lib import fast\npatch.multiple(sys, executable="tools/gen")\n',
    },
    "code of bytes": _run('[sys.executable, "-c", b"import lib.lone"]'),
    "a home with modules": _run('[sys.executable, "-c", "pass"]', ', env={"HOME": "tools"}'),
    "another sys": {"bench/test_a.py": f"{CODE}import lib.fast as sys\n"},
    "another sys from a module": {"bench/test_a.py": f"{CODE}from lib.fast import sys\n"},
    "another sys with a star": {"bench/test_a.py": f"{CODE}from lib.fast import *\n"},
    "another sys in a class": {"bench/test_a.py": f'{CODE}class sys:\n    executable = "tools/gen"\n'},
    "another sys as an argument": {
        "bench/test_a.py": 'import subprocess\ndef f(sys):\n    subprocess.run([sys.executable, "-c", "pass"])\n'
    },
    "another sys that is assigned": {"bench/test_a.py": f"{CODE}sys = other\n"},
    "another sys that another module sets": {
        "src/lib/fast.py": CODE,
        "bench/test_a.py": "from lib import fast\nfast.sys = other\n",
    },
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_program_that_is_not_constant_is_measured(tmp_path: Path, name: str) -> None:
    before = {**PYTHON, **HOSTILE[name]}
    assert reached(tmp_path, before, {"src/lib/lone.py": "\n"}, run=COMMANDS["python"]).why


@pytest.mark.parametrize(
    ("after", "why"),
    [
        ({"README.md": "more\n"}, None),
        ({"docs/a.md": "new\n", ".github/workflows/ci.yml": "on: push\n"}, None),
        ({"README.md": "more\n", "a.py": "x = 2\n"}, "a.py is no documentation"),
        ({"words.md": "other\n"}, "read.py may read words.md"),
        ({}, "nothing changed"),
    ],
)
def test_documents_alone_ask_no_tool(tmp_path: Path, after: Mapping[str, str | None], why: str | None) -> None:
    """The command is not understood, and need not be."""
    before = {"README.md": "text\n", "a.py": "x = 1\n", "words.md": "a\n", "read.py": "open('words.md')\n"}
    assert reached(tmp_path, before, after, run="./no-such-tool $(date)", only="documents").why == why
