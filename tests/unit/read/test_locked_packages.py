"""The packages that lock files name."""

from pathlib import Path

import pytest

from perf_culprit.read.results.locked_packages import lock_environment, packages

FILES = {
    "requirements-dev.txt": (
        (
            "# pinned\nNumPy==2.4.6 \\\n    --hash=sha256:00\nzope.interface[test] == 8.0 ; python_version > '3'\n"
            "flask>=3\n-r other.txt\n"
        ),
        {"pip:numpy": "2.4.6", "pip:zope-interface": "8.0"},
    ),
    "uv.lock": (
        (
            'version = 1\n[[package]]\nname = "mine"\nversion = "1"\nsource = { editable = "." }\n'
            '[[package]]\nname = "attrs"\nversion = "25.4.0"\nsource = { registry = "https://example.org" }\n'
        ),
        {"pip:attrs": "25.4.0"},
    ),
    "Cargo.lock": (
        (
            'version = 4\n[[package]]\nname = "mine"\nversion = "0.1.0"\n'
            '[[package]]\nname = "syn"\nversion = "2.0.1"\nsource = "registry"\n'
            '[[package]]\nname = "syn"\nversion = "1.0.9"\nsource = "registry"\n'
        ),
        {"cargo:syn": "1.0.9, 2.0.1"},
    ),
    "package-lock.json": (
        (
            '{"lockfileVersion": 3, "packages": {"": {"version": "1.0.0"}, "node_modules/@a/b": {"version": "7.1.0"},'
            ' "node_modules/@a/b/node_modules/c": {"version": "2.0.0"}, "node_modules/w": {"link": true}}}'
        ),
        {"npm:@a/b": "7.1.0", "npm:c": "2.0.0"},
    ),
    "go.mod": (
        (
            "module example.org/mine\n\ngo 1.25\n\nrequire golang.org/x/text v0.31.0\nrequire (\n"
            "\tgithub.com/a/b/v2 v2.0.0-20260101 // indirect\n)\n"
        ),
        {"go:golang.org/x/text": "v0.31.0", "go:github.com/a/b/v2": "v2.0.0-20260101"},
    ),
    "pom.xml": (
        (
            '<project xmlns="http://maven.apache.org/POM/4.0.0"><properties><j>2.20.1</j></properties><dependencies>'
            "<dependency><groupId>g</groupId><artifactId>core</artifactId><version>${j}</version></dependency>"
            "<dependency><groupId>g</groupId><artifactId>managed</artifactId></dependency></dependencies></project>"
        ),
        {"maven:g:core": "2.20.1"},
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_each_lock_file_names_its_packages(name: str, tmp_path: Path) -> None:
    text, expected = FILES[name]
    (tmp_path / name).write_text(text)
    assert lock_environment(tmp_path).components == expected


def test_an_update_reads_from_to() -> None:
    before, after = (packages({"uv.lock": FILES["uv.lock"][0].replace("25.4.0", v).encode()}) for v in ("1.0", "1.1"))
    (change,) = before.changes_to(after)
    assert (change.name, change.before, change.after) == ("pip:attrs", "1.0", "1.1")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("package-lock.json", "[" * 100_000),
        ("package-lock.json", '{"packages": {"node_modules/x": 3}}'),
        ("package-lock.json", '{"dependencies": {"x": {"dependencies": []}}}'),
        ("uv.lock", 'package = "no table"'),
        ("pom.xml", '<!DOCTYPE a [<!ENTITY b "c">]><project>&b;</project>'),
        ("go.mod", "\udcff"),
        ("requirements.txt", "a" * 200 + "==1"),
        ("requirements.txt", "\x1b[31ma==1"),
    ],
)
def test_a_strangers_lock_file_says_nothing_and_harms_nothing(name: str, text: str) -> None:
    assert packages({name: text.encode(errors="surrogateescape")}).components.keys() <= {"npm:x"}
