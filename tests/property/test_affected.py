"""The readers of a fork's sources: whatever these hold, the answer is a reason to measure, in bounded time."""

import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf_culprit.measure.affected import FORM_FAULTS, _commands
from perf_culprit.measure.compiled_graphs import Cargo, Go
from perf_culprit.measure.npm_workspaces import Npm
from perf_culprit.measure.package_graphs import ChangedFiles, Graph, MeasuredPackage, ShellCommand, Source, UnknownError
from perf_culprit.measure.python_modules import Python

SECONDS = 10.0
SIZE = 300_000
WORDS = st.sampled_from(
    (
        *(
            "import",
            "from",
            "require(",
            "`${",
            "../",
            "*.",
            ".js",
            "'",
            '"',
            "(",
            ")",
            "{",
            "}",
            "\n",
            "/*",
            "//",
            "\\",
            " ",
        ),
        *(
            "go:embed",
            "process::{",
            "current_exe()",
            "#[path = ",
            ".rs",
            "lerna ",
            "npm run ",
            "@x/a",
            "é",
            "\x00",
            "$",
            "a",
        ),
    )
)
TEXTS = st.lists(WORDS, max_size=40).map("".join)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


class Written(ChangedFiles):
    """Files that exist nowhere but here."""

    def __init__(self, contents: Mapping[str, bytes], answer: str = "") -> None:
        self.blobs = dict.fromkeys(contents, "0")
        self.base = self.head = set(contents)
        self.links = set()
        self.ask = lambda _command: answer
        self._contents = dict(contents)
        self._size = 0


def asked(graph: Callable[[ChangedFiles], Graph], files: ChangedFiles, *words: str) -> None:
    """Ask the graph of a language, as a decision does; only known faults may be raised."""
    with suppress(UnknownError, *FORM_FAULTS):
        made = graph(files)
        for package in made.starts(ShellCommand(words=words), can_choose=True):
            command = Source(path="the command", text=" ".join(words))
            part = MeasuredPackage(graph=made, package=package, folder="", used=made.used(package), command=command)
            part.why(["x/y.py", "x/y.go", "x/y.rs", "x/y.ts"], ["README.md", "docs/a.md"], {"README.md"})


@given(TEXTS)
def test_a_command_of_any_text(text: str) -> None:
    with suppress(UnknownError):
        list(_commands(text))


@given(st.binary(max_size=60) | TEXTS.map(str.encode))
def test_a_module_of_any_content(content: bytes) -> None:
    asked(Python, Written({"bench/test_a.py": content, "x/y.py": b"", "pyproject.toml": content}), "pytest", "bench")


@given(TEXTS, JSON)
def test_a_workspace_of_any_content(text: str, manifest: Any) -> None:
    whole = {"name": "a", "scripts": manifest, "bin": manifest, "dependencies": manifest}
    for one in (whole, manifest):
        files = {
            "package.json": b'{"name": "root"}',
            "a/package.json": json.dumps(one).encode(),
            "a/i.ts": text.encode(),
            "x/package.json": b"{}",
            "x/y.ts": b"",
            "package-lock.json": json.dumps(manifest).encode(),
        }
        asked(Npm, Written(files), "npm", "run", "bench", "--prefix", "a")


@given(TEXTS, JSON)
def test_an_answer_of_any_content(text: str, answer: Any) -> None:
    files = {"a/a_test.go": text.encode(), "a/src/lib.rs": text.encode(), "a/Cargo.toml": text.encode(), "x/y.go": b""}
    for one in (json.dumps(answer), text):
        asked(Go, Written(files, f"/t\n{one}"), "go", "test", "-bench", ".", "./a")
        asked(Cargo, Written(files, f"/t\n{one}"), "cargo", "bench")


REPEATED = (
    *(
        '"',
        "'",
        "`",
        "`${",
        '"../',
        "'../*",
        "require(",
        "require( ",
        "import  ",
        "process::{",
        "current_exe()",
        '"a.rs',
    ),
    *(
        "path = ",
        "lerna ",
        "--filter ",
        "/* ",
        "* ",
        "//",
        "((((",
        "[[[[",
        "a=1\n",
        "-",
        "not ",
        "f(",
        "{",
        '"go" ',
        "'/a*",
    ),
    *("require('", "=require", "func ", "Benchmark", "@", "a.", ".a", "\\", "\n", " ", "é", "from . import *\n"),
)


@pytest.mark.parametrize("text", REPEATED)
def test_a_text_without_an_end(text: str) -> None:
    content = (text * (SIZE // len(text))).encode()
    node = {"ImportPath": "m/a", "Dir": "/t/a", "Imports": ["os/exec"]}
    tests = {"ImportPath": "m/a.test", "Dir": "/t/a", "Imports": ["m/a"], "DepOnly": True}
    crate = {"name": "a", "id": "a", "manifest_path": "/t/a/Cargo.toml", "dependencies": [], "targets": []}
    bench = {"kind": ["bench"], "src_path": "/t/a/src/lib.rs"}
    metadata = {"packages": [crate | {"targets": [bench]}], "workspace_root": "/t", "workspace_default_members": ["a"]}
    manifest = b'{"name": "a"}'
    started = time.process_time()
    asked(Python, Written({"bench/test_a.py": content, "x/y.py": b""}), "pytest", "bench")
    asked(
        Npm,
        Written({"package.json": b"{}", "a/package.json": manifest, "a/i.ts": content}),
        "npm",
        "run",
        "b",
        "-w",
        "a",
    )
    asked(Go, Written({"a/a.go": content}, f"/t\n{json.dumps(node)}\n{json.dumps(tests)}"), "go", "test", "-bench", ".")
    asked(
        Cargo, Written({"a/src/lib.rs": content, "a/Cargo.toml": b""}, f"/t\n{json.dumps(metadata)}"), "cargo", "bench"
    )
    assert time.process_time() - started < SECONDS
