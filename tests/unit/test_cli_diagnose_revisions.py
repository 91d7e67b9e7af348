"""diagnose --baseline --target as a user calls it: logs, profiles, a repository, the forms of output."""

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from perf_culprit.cli.entry import main
from perf_culprit.model.report import decode_report
from tests.support.compared_trees import Tree
from tests.support.execution_logs import call, log
from tests.support.profiles import encode_profile

SOURCE = "def tokenize(text):\n    return text.split()\n\n\ndef parse(text):\n    return tokenize(text)\n"
OWN = {"parse": 1.0, "parse>tokenize": 4.0, "parse>build": 2.0}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    (tmp_path / "before.json").write_bytes(encode_profile(Tree(own=OWN).profile(rng)))
    slow = OWN | {"parse>tokenize": 7.0}
    (tmp_path / "after.json").write_bytes(encode_profile(Tree(own=slow).profile(rng)))
    return tmp_path


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=folder, check=True)


@pytest.fixture
def repository(folder: Path) -> Path:
    git(folder, "init", "-q", "-b", "main", "repo")
    repo = folder / "repo"
    for text in (SOURCE, SOURCE.replace("text.split()", "sorted(text.split())")):
        (repo / "parser.py").write_text(text)
        git(repo, "add", "parser.py")
        git(repo, "commit", "-q", "-m", "change")
    return repo


@pytest.mark.parametrize("ends", [["--commit", "HEAD"], ["--base", "HEAD~1", "--head", "HEAD"]])
def test_profiles_with_what_the_commit_touched(
    repository: Path, capsys: pytest.CaptureFixture[str], ends: list[str]
) -> None:
    arguments = ["--baseline", "before.json", "--target", "after.json", "--repo", str(repository), "--json", "out.json"]
    assert main(["diagnose", *arguments, *ends]) == 0
    text = capsys.readouterr().out
    assert re.search(r"^• tokenize .* \+7", text, re.MULTILINE)
    assert "parser.py:2" in text
    assert "bare name" in text
    assert "parse → tokenize" in text
    document = json.loads(Path("out.json").read_bytes())
    assert document["suspects"][0]["touched"]["file"] == "parser.py"
    assert ("commit" in document) == ("--commit" in ends)
    assert len(document["head"]) == 40


def test_flame_graphs_of_the_difference(folder: Path) -> None:
    assert main(["diagnose", "--baseline", "before.json", "--target", "after.json", "--flame", "flame.html"]) == 0
    page = (folder / "flame.html").read_text(encoding="utf-8")
    assert '["parse",0,' in page
    assert main(["diagnose", "--baseline", "before.json", "--target", "after.json", "--flame", "two.folded"]) == 0
    stack, before, after = (folder / "two.folded").read_text().splitlines()[1].rsplit(" ", 2)
    assert stack == "test;parse;tokenize"
    assert int(after) == pytest.approx(7_000, rel=0.03)
    assert int(after) - int(before) == pytest.approx(3_000, rel=0.06)


def test_logs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(1)
    for name, find_ms in (("before.log", 5.0), ("after.log", 9.0)):
        executions = []
        for i in range(60):
            find = find_ms * rng.lognormal(0, 0.1)
            executions += call(f"c{i}", [("1", "Shop.order", find + 2), ("1.1", "Dao.find", find)], second=i)
        (folder / name).write_bytes(log(executions))
    arguments = ["--baseline", "before.log", "--target", "after.log", "--pattern", "labelled", "--json", "-"]
    assert main(["diagnose", *arguments]) == 0
    written = capsys.readouterr()
    document = json.loads(written.out)
    assert document["suspects"][0]["method"] == "Dao.find"
    assert document["services"][0]["baseline_repetitions"] == 60
    assert "• Dao.find" in written.err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--baseline", "before.json"], 2, "give the files of both revisions"),
        (["--baseline", "before.json", "--target", "after.json", "--base", "HEAD"], 2, "--base and --head"),
        (["--baseline", "before.json", "--target", "none.json"], 3, "give profiles that exist"),
        (["--baseline", "other.json", "--target", "both.json"], 3, "no service is in both revisions"),
    ],
)
def test_exit_codes(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, message: str
) -> None:
    rng = np.random.default_rng(2)
    (folder / "other.json").write_bytes(encode_profile(Tree(own=OWN, service="other").profile(rng)))
    both = [Tree(own=OWN, service=name).profile(rng) for name in ("a", "b")]
    (folder / "both.json").write_bytes(b"".join(map(encode_profile, both)))
    assert main(["diagnose", *arguments]) == code
    assert message in capsys.readouterr().err


def test_compare_takes_the_diagnosis_into_report_and_comment(folder: Path) -> None:
    assert main(["diagnose", "--baseline", "before.json", "--target", "after.json", "--json", "trees.json"]) == 0
    for place in range(16):  # eight rounds
        for name, level in (("base", 10), ("head", 60)):
            times = "".join(f"BenchmarkParse-8 1000 {level + (i + place) % 3 / 10} ns/op\n" for i in range(12))
            (folder / f"{name}-{place}.txt").write_text(f"goos: linux\n{times}# {place}\n")
    arguments = ["--paired", "--baseline", "base-*.txt", "--target", "head-*.txt", "--diagnosis", "trees.json"]
    assert main(["compare", *arguments, "--json", "report.json", "--markdown", "comment.md"]) == 1
    report = json.loads((folder / "report.json").read_bytes())
    assert report["diagnosis"]["suspects"][0]["method"] == "tokenize"
    comment = (folder / "comment.md").read_text(encoding="utf-8")
    assert "Look first at `tokenize`" in comment.split("\n")[2]
    assert "```mermaid" in comment


def test_compare_takes_a_diagnosis_of_one_revision_beside_that_of_two(folder: Path) -> None:
    assert main(["diagnose", "--baseline", "before.json", "--target", "after.json", "--json", "trees.json"]) == 0
    assert main(["diagnose", "--profile", "after.json", "--json", "costs.json"]) == 0
    for name in ("base.txt", "head.txt"):
        (folder / name).write_text("".join(f"BenchmarkParse-8 1000 {10 + i % 3 / 10} ns/op\n" for i in range(12)))
    arguments = ["--baseline", "base.txt", "--target", "head.txt", "--diagnosis", "costs.json"]
    assert (
        main(["compare", *arguments, "--diagnosis", "trees.json", "--json", "report.json", "--markdown", "c.md"]) == 0
    )
    document = json.loads((folder / "report.json").read_bytes())
    assert document["costs"]["suspects"][0]["method"] == "tokenize"
    comment = (folder / "c.md").read_text(encoding="utf-8")
    assert "Where the time goes: 3 methods in 1 service" in comment
    assert "not those that got slower" in comment
    assert "Why: the call tree" in comment
    assert decode_report((folder / "report.json").read_bytes(), place="r").costs is not None
