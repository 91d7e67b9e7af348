"""`measure --reference registry`: the newest version that users install, by the package's own client and its tag."""

import json
from pathlib import Path

import pytest

from perf_culprit.cli.entry import main
from perf_culprit.errors import EXIT_FINE, EXIT_INFRASTRUCTURE, EXIT_USAGE
from tests.support.git_repository import chain, import_commits, init_repository, run_git

PYPROJECT = '[project]\nname = "acme-parse"\nversion = "3.0"\n'
CARGO = '[package]\nname = "acme-parse"\nversion = "3.0.0"\n'
PACKAGE = json.dumps({"name": "@acme/parse", "version": "3.0.0"})
CLIENTS = {
    "pip": "acme-parse (2.1)\nAvailable versions: 2.1, 2.0",
    "npm": "2.1",
    "cargo": "acme-parse #parser\nA parser.\nversion: 2.1\nlicense: MIT\nrust-version: 1.85",
}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four commits, tagged v1.9, v2.1 and v2.2; each client writes its arguments and its folder, then answers."""
    folder = init_repository(tmp_path / "repository")
    commits = import_commits(folder, chain("main", 4))
    run_git(folder, "checkout", "--quiet", commits["main4"])
    for tag, commit in {"v1.9": "main1", "v2.1": "main2", "v2.2": "main3"}.items():
        run_git(folder, "tag", tag, commits[commit])
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, answer in CLIENTS.items():
        (programs / f"{name}.txt").write_text(answer + "\n")
        (programs / name).write_text('#!/bin/sh\necho "$@" > "$0.asked"; pwd >> "$0.asked"; cat "$0.txt"\n')
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    monkeypatch.chdir(folder)
    return folder


def planned() -> int:
    """Plan a measurement; `--dry-run` executes each commit once."""
    options = ["--run", "true", "--metric", "cpu-time", "--dry-run", "--output", "o"]
    return main(["measure", "--reference", "registry", *options])


@pytest.mark.parametrize(
    ("file", "manifest", "question"),
    [
        ("pyproject.toml", PYPROJECT, "pip index versions acme-parse"),
        ("package.json", PACKAGE, "npm view @acme/parse version"),
        ("Cargo.toml", CARGO, "cargo info acme-parse"),
    ],
)
def test_the_registrys_newest_version_is_the_baseline(
    repository: Path, capsys: pytest.CaptureFixture[str], file: str, manifest: str, question: str
) -> None:
    (repository / file).write_text(manifest)
    code = planned()
    printed = capsys.readouterr()
    assert code == EXIT_FINE, printed.err
    commit = run_git(repository, "rev-parse", "v2.1")
    assert f"baseline {commit[:12]}, v2.1; target HEAD" in printed.out + printed.err, (
        "not v2.2, which nobody can install"
    )
    (asked,) = (repository.parent / "programs").glob("*.asked")
    words, place = asked.read_text().splitlines()
    assert f"{asked.stem} {words}" == question
    assert not Path(place).is_relative_to(repository), "cargo would answer with the package of the folder"


def test_a_version_without_a_tag_is_refused(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "pyproject.toml").write_text(PYPROJECT)
    run_git(repository, "tag", "--delete", "v2.1")
    assert planned() == EXIT_USAGE
    err = capsys.readouterr().err
    assert "PyPI's newest release of acme-parse is 2.1, and no tag here has that version" in err
    assert "git fetch --tags" in err


def test_a_client_without_an_answer_is_named(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "Cargo.toml").write_text(CARGO)
    (repository.parent / "programs" / "cargo.txt").write_text("error: could not find it\n")
    assert planned() == EXIT_INFRASTRUCTURE
    err = capsys.readouterr().err
    assert "crates.io has no answer for acme-parse: it names no version" in err
    assert "cargo info acme-parse" in err


@pytest.mark.parametrize("manifest", ["", '[project]\nname = "--index-url=http://evil.example"\n', "[project\n"])
def test_a_manifest_without_a_name_asks_nobody(
    repository: Path, capsys: pytest.CaptureFixture[str], manifest: str
) -> None:
    if manifest:
        (repository / "pyproject.toml").write_text(manifest)
    assert planned() != EXIT_FINE
    assert "Next: " in capsys.readouterr().err
    assert not list((repository.parent / "programs").glob("*.asked"))
