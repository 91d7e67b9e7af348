"""The code that a change can reach, by real commits of small repositories. Unclear cases are measured."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from perf_culprit.measure.affected import Reach, reach
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
    "crates/kit/Cargo.toml": '[package]\nname = "kit"\n',
    "crates/kit/src/lib.rs": "",
    "crates/lowkit/Cargo.toml": '[package]\nname = "lowkit"\n',
    "crates/lowkit/src/lib.rs": "",
    "crates/apart/Cargo.toml": '[package]\nname = "apart"\n',
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
    "go": 'go test -run "^$" -bench . ./... | tee "$PERF_CULPRIT_OUTPUT"',
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
    by_package: bool = False,
) -> Reach:
    init_repository(folder)
    base = committed(folder, before)
    head = committed(folder, after)
    return reach(folder, base, head, run=run, build=build, by_package=by_package)


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
        ".github/workflows/ci.yml",
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
    "cargo": ("crates/lone/src/lib.rs", "crates/lowkit/src/lib.rs", "README.md", "docs/a.png", "LICENSE-MIT"),
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
        ("python", {"bench/test_a.py": "import subprocess\n"}, "subprocess"),
        (
            "python",
            {
                "src/lib/fast.py": "import subprocess, sys\nsubprocess.run(sys.executable)\n",
                "bench/test_a.py": "import lib.fast",
            },
            "subprocess",
        ),
        ("python", {"src/lib/fast.py": "def (\n"}, "cannot be parsed"),
        ("cargo", {"crates/low/Cargo.toml": "[package"}, "cannot be parsed"),
        ("cargo", {"crates/top/benches/parse.rs": "use std::process::Command;"}, "only running"),
        ("cargo", {"crates/low/build.rs": 'if extension == "rs" {}'}, "only running"),
        ("go", {"a/a_test.go": 'package a\nimport "os/exec"\nfunc BenchmarkA() {}\n'}, "only running"),
        ("npm", {"packages/top/bench.ts": "import(name)\n"}, "only running"),
        ("npm", {"packages/top/bench.ts": "import 'child_process'\n"}, "only running"),
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
        ("go", "go test -bench . ./d", None),
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


@pytest.mark.parametrize("run", ["cargo bench -p top", "cd crates/top && cargo +nightly bench", "cargo bench"])
def test_a_crate_is_named_or_is_where_the_command_runs(tmp_path: Path, run: str) -> None:
    before = {**CARGO, "crates/lone/src/lib.rs": "fn f() {}"}
    build = "cargo build --release"
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
    before = {**CARGO, "crates/top/src/lib.rs": '#![doc = include_str!("../README.md")]\n// see README.md\n'}
    assert reached(tmp_path, before, {"crates/top/README.md": "\n"}, run=COMMANDS["cargo"]).why is None


def test_what_a_link_leads_to_is_measured(tmp_path: Path) -> None:
    init_repository(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "inputs").symlink_to("docs")
    base = committed(tmp_path, {**CARGO, "docs/a.md": ""})
    head = committed(tmp_path, {"docs/a.md": "\n"})
    assert "link" in (reach(tmp_path, base, head, run=COMMANDS["cargo"], build=None, by_package=False).why or "")


def test_a_removed_source_is_reached_as_it_was(tmp_path: Path) -> None:
    assert reached(tmp_path, GO, {"c/c.go": None}, run=COMMANDS["go"]).why


def test_a_moved_source_is_reached_from_where_it_was(tmp_path: Path) -> None:
    before = {**GO, "c/c.go": "package c\n" + "// long enough to be found again\n" * 9}
    after = {"c/c.go": None, "d/moved.go": before["c/c.go"]}
    assert reached(tmp_path, before, after, run=COMMANDS["go"]).why


PARTS = {
    "go": ("go test -bench . ${PERF_CULPRIT_AFFECTED:-./...}", "c/c.go", "./a", ("./b",)),
    "cargo": ("cargo bench ${PERF_CULPRIT_AFFECTED:--p top -p lone}", "crates/low/src/lib.rs", "-p top", ("lone",)),
    "python": ("cd other && pytest ${PERF_CULPRIT_AFFECTED:-. ../bench}", "src/lib/loner.py", "test_b.py", None),
}


@pytest.mark.parametrize("language", PARTS)
def test_of_a_suite_only_some_packages(tmp_path: Path, language: str) -> None:
    run, path, arguments, left = PARTS[language]
    before = {**REPOSITORIES[language], "other/test_b.py": "import lib.lone\n"}
    answer = reached(tmp_path, before, {path: "\n"}, run=run, by_package=True)
    assert answer.arguments == arguments
    assert answer.unreached is not None
    assert left is None or answer.unreached.packages == left
    whole = reached(tmp_path / "whole", before, {path: "\n"}, run=run)
    assert (whole.arguments, whole.unreached) == (None, None)


def test_a_command_that_cannot_choose_measures_all(tmp_path: Path) -> None:
    answer = reached(tmp_path, GO, {"c/c.go": "package c\n\n"}, run=COMMANDS["go"], by_package=True)
    assert (answer.arguments, answer.unreached) == (None, None)
