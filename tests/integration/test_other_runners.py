"""docs/runners.md as pasted: measured where the action cannot run, judged in a Linux job."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from perf_culprit.cli.entry import main
from tests.support.git_repository import init_repository, run_git
from tests.support.recipes import BLOCKS
from tests.support.scenarios import LEVEL, SLOWER, Project, open_project
from tests.support.workflows.runner import InThisProcess

UPLOAD, REPORT, WINDOWS = (block.value for block in BLOCKS if block.document == "docs/runners.md")
# It replaces a program with Google Benchmark; `level` is the commit's, the noise 2%.
PROGRAM = r"""#!/bin/sh
out=${1#--benchmark_out=}
n=0; test ! -e COUNTER || read -r n < COUNTER; echo $((n + 1)) > COUNTER
awk -v level=LEVEL -v seed="$n" 'BEGIN {
  srand(seed * 7919 + 17)
  printf "{\"context\": {\"date\": \"2026-01-01T00:%02d:00+00:00\", \"num_cpus\": 2}, \"benchmarks\": [", seed
  for (i = 1; i <= 5; i++) {
    printf "%s{\"name\": \"parse\", \"run_name\": \"parse\", \"run_type\": \"iteration\", ", (i > 1 ? "," : "")
    printf "\"repetitions\": 5, \"repetition_index\": %d, \"iterations\": 1, \"time_unit\": \"ns\", ", i - 1
    printf "\"real_time\": %.4f, \"cpu_time\": 1}", level * (1 + 0.04 * (rand() - 0.5))
  }
  print "]}"
}' > "$out"
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Project]:
    action = InThisProcess.with_files_in(tmp_path / "jobs-of-ours", monkeypatch, capsys)
    with open_project(tmp_path, action, split=False) as opened:
        yield opened


def measured_elsewhere(workflow: dict[str, Any]) -> None:
    """Change the two jobs as docs/runners.md says: the upload replaces the last steps, and a Linux job judges."""
    jobs = workflow["jobs"]
    jobs["measure"] |= {"runs-on": "macos-15", "steps": jobs["measure"]["steps"][:-2] + UPLOAD}
    jobs["report"]["steps"] = REPORT


@pytest.mark.slow  # measures in rounds
@pytest.mark.parametrize("level", [LEVEL, SLOWER], ids=["0%", "+50%"])
def test_measured_on_macos_judged_on_linux(project: Project, level: int) -> None:
    measured_elsewhere(project.files["perf"])
    pull = project.open_pull(7, base=project.main, level=level, merged_level=level)
    outcome = project.run_pull(pull)
    assert not outcome.failed, outcome.log
    (comment,) = project.comments(7)
    assert comment.startswith("<!-- perf-culprit:v1:macos -->")
    assert ("1 of 2 benchmarks got slower" in comment) == (level == SLOWER), comment
    assert ("🟢" in comment) == (level == LEVEL)
    pushed = project.push(level)
    assert not pushed.failed, pushed.log
    assert project.recorded() == {project.main}


@pytest.mark.parametrize("level", [LEVEL, SLOWER], ids=["0%", "+50%"])
def test_measured_on_windows_in_the_documented_loop(
    tmp_path: Path, level: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Run the loop in the checkout of GitHub's merge; then `compare` with the two lists of files."""
    checkout = init_repository(tmp_path / "checkout")
    counter = tmp_path / "counter"

    def commit(value: int) -> None:
        program = checkout / "bench.exe"
        program.write_text(PROGRAM.replace("LEVEL", str(value)).replace("COUNTER", str(counter)))
        program.chmod(0o755)
        run_git(checkout, "add", ".")
        run_git(checkout, "commit", "--quiet", "--allow-empty", "--message", "x")

    commit(LEVEL)
    commit(level)
    (step,) = WINDOWS
    subprocess.run(
        ["bash", "-e", "-c", step["run"]],
        cwd=checkout,
        env={"PATH": "/usr/bin:/bin", "GITHUB_WORKSPACE": str(checkout)},
        check=True,
        capture_output=True,
    )
    base, head = (sorted(map(str, checkout.glob(f"{side}-*.json"))) for side in ("base", "head"))
    assert len(base) == len(head) == 14
    code = main(["compare", "--baseline", *base, "--target", *head])
    output = capsys.readouterr().out
    assert (code, "parse · time takes" in output) == ((1, True) if level == SLOWER else (0, False)), output
