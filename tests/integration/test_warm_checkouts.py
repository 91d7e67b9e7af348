"""The first execution of a checkout compiles it: no measurement may include that, in any checkout."""

import json
import os
import sys
from pathlib import Path

import pytest

from perf_culprit.cli.entry import main
from perf_culprit.measure.workplace import Trees
from perf_culprit.model.bisection import Job, Purpose
from perf_culprit.model.bisection_files import decode_job_result, encode_request
from perf_culprit.model.dispatch import BisectCommands, BisectJob, BisectRequest
from perf_culprit.model.run import MetricKey
from tests.support.measured_repository import Commit, measured_repository

pytestmark = pytest.mark.slow  # real worktrees and processes

# It prints its result and, like a count of instructions, the bytecode files that it had to write.
BENCH = """from pathlib import Path
before = set(Path().rglob("*.pyc"))
import parse
print(parse.LEVEL + 400 * len(set(Path().rglob("*.pyc")) - before))
"""
RUN = f"PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX= {sys.executable} bench.py"


def program(folder: Path, *, count: int, step_at: int) -> dict[str, str]:
    """Make a Python program of `count` commits, 10% slower from commit `step_at` on."""
    levels = {f"c{number}": 1100 if number >= step_at else 1000 for number in range(count)}
    files = {name: {"bench.py": BENCH, "parse.py": f"LEVEL = {level}  # {name}\n"} for name, level in levels.items()}
    return measured_repository(folder, {name: Commit(files=own) for name, own in files.items()})


VALGRIND = """#!/bin/sh
for option in "$@"; do case "$option" in --log-file=*) log="${option#--log-file=}";; esac; done
echo "==1== I   refs:      $(sh -e -c "$option"),000" > "${log%/*}/1.log"
"""


@pytest.mark.parametrize("options", [(), ("--engine", "weighted", "--repeat", "3")])
def test_a_checkout_that_was_removed_and_made_again_is_warm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    """A search by counts may execute an end, or a suspect, long after other checkouts replaced it."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/valgrind").write_text(VALGRIND)
    (tmp_path / "bin/valgrind").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    defaults = Trees.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "kept", 3)
    hashes = program(tmp_path / "repository", count=34, step_at=17)
    out = tmp_path / "answer.json"
    argv = ["bisect", "--repo", str(tmp_path / "repository"), "--good", hashes["c0"], "--bad", hashes["c33"], *options]
    assert main([*argv, "--run", RUN, "--metric", "instructions", "--profile-seconds", "0", "--json", str(out)]) == 0
    answer = json.loads(out.read_text())
    assert [culprit["commit"] for culprit in answer["culprits"]] == [hashes["c17"]]
    assert {round(entry["relative_change"], 3) for entry in answer["measured"]} == {0.0, 0.1}


def test_a_machine_warms_every_commit_of_its_job(tmp_path: Path) -> None:
    hashes = program(tmp_path / "repository", count=4, step_at=2)
    rounds = tuple(Job(id=f"r{n}", commits=tuple(hashes.values()), purpose=Purpose.SEARCH) for n in range(2))
    request = BisectRequest(
        bisection="7",
        dispatch="1",
        key=MetricKey("result", "value"),
        commands=BisectCommands(run=RUN),
        jobs=(BisectJob(id="job-1", rounds=rounds),),
    )
    (tmp_path / "request.json").write_bytes(encode_request(request))
    argv = ["bisect-job", "--repo", str(tmp_path / "repository"), "--request", str(tmp_path / "request.json")]
    assert main([*argv, "--job", "job-1", "--output", str(tmp_path / "out")]) == 0
    result = decode_job_result((tmp_path / "out/bisect-job.json").read_bytes(), place="out")
    values = [[measured.values[commit] for commit in hashes.values()] for measured in result.rounds]
    assert values == [[(1000.0,), (1000.0,), (1100.0,), (1100.0,)]] * 2
