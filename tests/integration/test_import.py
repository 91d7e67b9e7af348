"""`perf-culprit import`: another tool's stored results become the baseline of the next run."""

import json
from pathlib import Path

import pytest

from perf_culprit.cli.entry import main
from perf_culprit.model.run_file import encode_run
from tests.support.git_repository import run_git
from tests.support.stored_runs import make_run

SUITE = "Python Benchmark"
STEP, COMMITS = 12, 24
GOLDEN = Path(__file__).parents[1] / "golden" / "collect"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder, origin = tmp_path / "work", tmp_path / "origin.git"
    run_git(tmp_path, "init", "-q", "--bare", str(origin))
    run_git(tmp_path, "init", "-q", "-b", "main", str(folder))
    for number in range(COMMITS):
        run_git(folder, "commit", "-q", "--allow-empty", "-m", f"commit {number}")
    run_git(folder, "remote", "add", "origin", str(origin))
    return folder


def stored(repository: Path, *, first: int = 0) -> list[dict[str, object]]:
    """Return github-action-benchmark's entries: 2 ms, and 4 ms from commit 12 on, with 1% of noise."""
    hashes = run_git(repository, "rev-list", "--reverse", "HEAD").split()
    return [
        {
            "commit": {"id": commit, "message": "m", "timestamp": "2026-01-01T00:00:00Z", "url": "u"},
            "date": 1_767_000_000_000 + 60_000 * number,
            "tool": "pytest",
            "benches": [
                {
                    "name": "test_shop.py::test_search",
                    "value": (500 if number < STEP else 250) * (1 + 0.01 * (number * 7 % 5 - 2)),
                    "unit": "iter/sec",
                }
            ],
        }
        for number, commit in enumerate(hashes)
        if number >= first
    ]


def write(repository: Path, entries: dict[str, list[dict[str, object]]]) -> str:
    path = repository / "data.js"
    path.write_text("window.BENCHMARK_DATA = " + json.dumps({"entries": entries}), encoding="utf-8")
    return str(path)


def perf_culprit(*arguments: str) -> int:
    return main(list(arguments))


def test_the_steps_of_an_imported_history_are_found(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write(repository, {SUITE: stored(repository)})
    assert perf_culprit("import", data, "--repo", str(repository), "--dry-run") == 0
    assert "would import 24 runs of 24 commits (2025-12-29 to 2025-12-29) into suite default" in capsys.readouterr().out
    assert run_git(repository, "ls-remote", "origin") == ""

    assert perf_culprit("import", data, "--repo", str(repository)) == 0
    told = capsys.readouterr().out
    assert "imported 24 runs of 24 commits" in told
    assert "24 of the commits are ancestors of HEAD" in told
    assert "the machine of 24 runs is unknown" in told

    changes = tmp_path / "changes.json"
    assert perf_culprit("changes", "--repo", str(repository), "--json", str(changes)) == 0
    (series,) = json.loads(changes.read_text())["columns"]
    assert [change["index"] for change in series["changes"]] == [STEP]


def test_importing_again_stores_only_what_is_new(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entries = stored(repository)
    assert perf_culprit("import", write(repository, {SUITE: entries[:20]}), "--repo", str(repository)) == 0
    before = run_git(repository, "ls-remote", "origin")
    assert perf_culprit("import", write(repository, {SUITE: entries[:20]}), "--repo", str(repository)) == 0
    assert "stored before, so kept as they are: 20 runs" in capsys.readouterr().out
    assert run_git(repository, "ls-remote", "origin") == before
    assert perf_culprit("import", write(repository, {SUITE: entries}), "--repo", str(repository)) == 0
    told = capsys.readouterr().out
    assert told.startswith("imported 4 of 24 runs of 24 commits")
    assert "stored before, so kept as they are: 20 runs" in told
    assert run_git(repository, "ls-remote", "origin") != before


def test_suites_keep_their_names_and_results_without_a_commit_are_counted(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = {**stored(repository, first=COMMITS - 1)[0], "commit": {"id": "abc1234"}}
    data = write(repository, {"api": stored(repository), "cli": [*stored(repository, first=20), short]})
    assert perf_culprit("import", data, "--repo", str(repository)) == 0
    told = capsys.readouterr().out
    assert "imported 28 runs of 24 commits" in told
    assert "into suites api, cli" in told
    assert "left out, because they say no full commit hash: 1 result" in told


def test_results_of_another_repository_are_questioned(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    foreign = [{**entry, "commit": {"id": "1" * 40}} for entry in stored(repository, first=22)]
    assert perf_culprit("import", write(repository, {SUITE: foreign}), "--repo", str(repository)) == 0
    assert "0 of the commits are ancestors of HEAD" in capsys.readouterr().out


def test_a_folder_of_asv_is_read_beside_what_is_no_result(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    machine = repository / ".asv" / "results" / "laptop"
    machine.mkdir(parents=True)
    (machine / "machine.json").write_text('{"machine": "laptop", "version": 1}', encoding="utf-8")
    for commit in run_git(repository, "rev-list", "HEAD").split()[:3]:
        result = json.loads((GOLDEN / "asv" / "226be61e.json").read_bytes()) | {"commit_hash": commit}
        (machine / f"{commit[:8]}-env.json").write_text(json.dumps(result), encoding="utf-8")
    assert perf_culprit("import", str(repository / ".asv" / "results"), "--repo", str(repository)) == 0
    told = capsys.readouterr().out
    assert "imported 3 runs of 3 commits" in told
    assert "is unknown" not in told


@pytest.mark.parametrize("file", ["perf.json", "reports.json"])
def test_what_bencher_stores_is_a_run_per_report(
    repository: Path, capsys: pytest.CaptureFixture[str], file: str
) -> None:
    older, newer = run_git(repository, "rev-list", "HEAD").split()[1::-1]
    text = (GOLDEN / "bencher_perf" / file).read_text(encoding="utf-8")
    path = repository / file
    path.write_text(text.replace("1d3e" * 10, older).replace("2c5f" * 10, newer), encoding="utf-8")
    assert perf_culprit("import", str(path), "--repo", str(repository)) == 0
    told = capsys.readouterr().out
    assert "imported 2 runs of 2 commits (2026-09-02 to 2026-09-03) into suite default" in told
    assert "2 of the commits are ancestors of HEAD" in told
    assert "the machine of 2 runs is unknown" in told
    left_out = "left out, because they say no full commit hash: 1 result"
    assert (left_out in told) is (file == "perf.json")


def test_nothing_to_import_is_said_with_the_way_out(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = repository / "times.txt"
    path.write_text("1\n2\n3\n", encoding="utf-8")
    assert perf_culprit("import", str(path), "--repo", str(repository)) == 3
    assert "no result names the full hash of its commit (results read: 1)" in capsys.readouterr().err


def test_what_was_recorded_before_is_not_imported_again(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same numbers of the same commit are one run, whatever their environment."""
    monkeypatch.chdir(repository)
    hashes = run_git(repository, "rev-list", "--reverse", "HEAD").split()
    files = []
    for number in (1, 2, 3):
        file = tmp_path / f"run-{number}.json"
        file.write_bytes(encode_run(make_run(number, commit=hashes[number])))
        files.append(str(file))
    assert perf_culprit("record", files[0]) == 0
    assert perf_culprit("record", files[1], "--commit", hashes[2]) == 0
    recorded = capsys.readouterr().out
    assert f"on branch perf-history of {tmp_path / 'origin.git'}" in recorded, "it says where it was pushed"
    assert perf_culprit("import", *files) == 0
    listed = run_git(tmp_path / "origin.git", "ls-tree", "-r", "--name-only", "perf-history").splitlines()
    assert len([name for name in listed if name.startswith("runs/")]) == 3
    assert perf_culprit("import", *files) == 0
    again = run_git(tmp_path / "origin.git", "ls-tree", "-r", "--name-only", "perf-history").splitlines()
    assert again == listed
