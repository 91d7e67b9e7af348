"""`perf-culprit bisect` end to end on the cases of benchmarks/bisect/real.py, with a benchmark that needs no clock.

Every commit has its level in a file. The command prints it with about 2% of noise from a counter's checksum. The same
search therefore gives the same numbers on any machine.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from perf_culprit.cli.entry import main
from tests.support.measured_repository import COUNTER, Commit, measured_repository

# Whole searches of real worktrees and processes.
pytestmark = pytest.mark.slow

# The checksum of a counter is effectively random: uniform from -2 to 2%.
NOISY = (
    f'n=0; test ! -e "${COUNTER}" || read -r n < "${COUNTER}"; echo $((n + 1)) > "${COUNTER}"; '
    "c=$(echo seed $n | cksum | cut -d ' ' -f 1); echo $(($(cat value) * (100000 + c % 4001 - 2000)))"
)
# Every 23rd execution fails after all, whichever commit it is at.
FLAKY = f"{NOISY}; test $((n % 9)) -ne 7"
LEVEL = 1000


def history(changes: Mapping[str, float], *, unbuildable: frozenset[str] = frozenset()) -> dict[str, Commit]:
    """Return thirty candidates: main line m1 to m18, and three merged side branches of four commits each."""
    parents: dict[str, list[str]] = {"m0": []}
    for number in range(1, 19):
        parents[f"m{number}"] = [f"m{number - 1}"]
        if number in {4, 9, 14}:
            tip = f"m{number - 1}"
            for side in range(1, 5):
                parents_of_side, tip = [tip], f"s{number}{side}"
                parents[tip] = parents_of_side
            merge = parents.pop(f"m{number}")
            parents[f"m{number}"] = [*merge, tip]
    held: dict[str, set[str]] = {}
    commits = {}
    for name, own in parents.items():
        held[name] = ({name} & set(changes)).union(*(held[parent] for parent in own))
        level = float(LEVEL)
        for culprit in held[name]:
            level *= 1 + changes[culprit]
        files = {"buildable": "no" if name in unbuildable else "yes"}
        commits[name] = Commit(level=round(level), files=files, parents=own)
    return commits


@pytest.fixture(name="folder")
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(COUNTER, str(tmp_path / "counter"))
    return tmp_path


def bisect(folder: Path, commits: Mapping[str, Commit], *options: str, run: str = NOISY) -> dict[str, Any]:
    """Run a bisection; return its JSON with names for the hashes of culprits, suspects and skipped commits."""
    hashes = measured_repository(folder / "repository", commits)
    out = folder / "answer.json"
    argv = ["bisect", "--repo", str(folder / "repository"), "--good", hashes["m0"], "--bad", hashes["m18"]]
    main([*argv, "--run", run, "--prior", "uniform", "--json", str(out), *options])
    answer: dict[str, Any] = json.loads(out.read_text())
    names = {commit: name for name, commit in hashes.items()}
    for entry in (*answer["culprits"], *answer["suspects"]):
        entry["commit"] = names[entry["commit"]]
    answer["skipped"] = {names[commit]: why for commit, why in answer["skipped"].items()}
    return answer


def named(answer: Mapping[str, Any]) -> set[str]:
    return {entry["commit"] for entry in answer["culprits"]}


@pytest.mark.parametrize(
    ("culprit", "change"),
    [("m11", 0.05), ("s93", 0.10), ("m14", 0.15), ("m1", 0.30)],
    ids=["+5%", "+10% on a side branch", "+15% at a merge", "+30% at the first commit"],
)
def test_one_culprit(folder: Path, culprit: str, change: float) -> None:
    answer = bisect(folder, history({culprit: change}))
    assert answer["outcome"] == "culprit"
    assert named(answer) == {culprit}
    (entry,) = answer["culprits"]
    interval = entry["confidence_interval"]
    assert interval["low"] - 0.01 < change < interval["high"] + 0.01
    assert answer["executions"] <= 250


def test_two_culprits(folder: Path) -> None:
    answer = bisect(folder, history({"m5": 0.15, "m13": 0.20}))
    assert answer["outcome"] == "several_culprits"
    assert named(answer) == {"m5", "m13"}


def test_an_improvement_before_the_regression(folder: Path) -> None:
    answer = bisect(folder, history({"m6": -0.15, "m12": 0.35}))
    assert named(answer) == {"m6", "m12"}
    improvements = {entry["commit"] for entry in answer["culprits"] if entry["improvement"]}
    assert improvements == {"m6"}


def test_nothing_changed(folder: Path) -> None:
    answer = bisect(folder, history({}))
    assert answer["outcome"] in {"not_reproduced", "inconclusive"}
    assert named(answer) == set()


def test_unbuildable_commits(folder: Path) -> None:
    """m11 is the culprit. m10 and m11 do not build, so no measurement can separate m10, m11 and m12."""
    unbuildable = frozenset({"m2", "s42", "m10", "m11", "m17"})
    commits = history({"m11": 0.15}, unbuildable=unbuildable)
    answer = bisect(folder, commits, "--build", "grep -q yes buildable")
    assert answer["outcome"] == "suspect_set"
    assert {entry["commit"] for entry in answer["suspects"]} == {"m10", "m11", "m12"}
    assert set(answer["skipped"]) <= unbuildable


def test_a_flaky_benchmark(folder: Path) -> None:
    answer = bisect(folder, history({"m11": 0.15}), run=FLAKY)
    assert named(answer) == {"m11"}
    assert any(entry["failures"] for entry in answer["measured"])
