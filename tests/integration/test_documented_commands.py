"""Every command of the documentation: run unchanged here, or by the test that is named here."""

import glob
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from perf_culprit.cli.command_parser import parsed
from perf_culprit.cli.entry import main
from tests.support.audits import make_audits_small
from tests.support.documented import commands, lay_out, mentions, scripts
from tests.support.recipes import PROJECT

# Commands that cannot run inside this test, and where they run (another test, or CI itself).
ELSEWHERE: Final[Mapping[str, str]] = {
    "sh .ci/env perf-culprit demo": "tests/e2e/test_wheel.py",
    "sh .ci/env pytest": ".ci/tests",
    "sh .ci/env pytest --all": ".ci/tests",
    "sh .ci/env pytest tests/unit/judge": ".ci/tests",
    "sh .ci/env pytest --durations=25": ".ci/tests",
    "sh .ci/env pytest -n 0 --pdb -k NAME": ".ci/env",
    "sh .ci/env pytest tests/integration/test_recorded_slowdowns.py": ".ci/tests",
    "python -m benchmarks.diagnose.replay": "tests/integration/test_recorded_slowdowns.py",
    "git clone https://github.com/nyrkio/benchzoo && git -C benchzoo checkout 77bf382": (
        "tests/integration/test_foreign_results.py"
    ),
    "python -m tests.support.foreign_results benchzoo/tests/data --write": "tests/integration/test_foreign_results.py",
    "sh .ci/env nox -s lint": ".ci/run",
    "sh .ci/env nox -s lint -- mypy house": ".github/workflows/ci.yml",
    "sh .ci/env nox -s tests fuzz": ".ci/run",
    "perf-culprit bisect --good v1.4 --bad main --build 'uv sync' --run 'uv run python bench.py'": (
        "tests/integration/test_bisect_packages.py"
    ),
    "sh .ci/env python .ci/reference.py": "tests/unit/test_reference.py",
    "bash .ci/run": ".github/workflows/ci.yml",
    'sh .ci/env pytest tests/unit -m "not slow" --cov --cov-report=term:skip-covered': ".github/workflows/ci.yml",
    "sh .ci/env pip install mutmut==3.8.1": "pyproject.toml",
    "sh .ci/env python -m tests.mutants --each 2 --seed 3 --seconds 6": "pyproject.toml",
    "sh .ci/env python -m tests.mutants --each 1000 perf_culprit.judge.verdict": "pyproject.toml",
    "pip install atheris==3.0.0": ".ci/fuzz",
    "python -m tests.fuzz.guided --seconds 3600 --target jmh": ".ci/fuzz",
    "python -m tests.fuzz.guided --seconds 3600": ".ci/fuzz",
    "pip install perf-culprit && perf-culprit init": "tests/e2e/test_wheel.py",
    "perf-culprit bisect-job --request request.json --job job-1 --output out": "tests/integration/test_bisect_job.py",
    "pip install perf-culprit && perf-culprit init --try --pull-request": "tests/unit/test_existing_workflows.py",
    "perf-culprit doctor --refusal \"Event 'workflow_dispatch' is not allowed to trigger Actions workflows.\"": (
        "tests/integration/test_doctor.py"
    ),
    "perf-culprit changes results.csv": "tests/unit/test_changes.py",
    "perf-culprit record run.json": "tests/integration/test_history_contract.py",
    "pip download perf-culprit --dest wheelhouse": "tests/e2e/test_wheel.py",
    "pip install --no-index --find-links wheelhouse perf-culprit": "tests/e2e/test_wheel.py",
    "perf-culprit measure --commits main HEAD --run 'PYTHONPATH=. python \"$BENCHMARKS/run.py\"'"
    " --environment BENCHMARKS --output out": "tests/integration/test_measure.py",
    "perf-culprit import data.js --dry-run": "tests/integration/test_import.py",
    "perf-culprit import data.js": "tests/integration/test_import.py",
    "perf-culprit import .asv/results": "tests/integration/test_import.py",
    "perf-culprit import perf.json": "tests/integration/test_import.py",
    "perf-culprit diagnose --log /shared/logs/*.log --pattern labelled --cluster tcp://scheduler:8786": (
        "tests/integration/test_diagnose_cluster.py"
    ),
    "perf-culprit bisect --good v1.4 --bad main --run 'python render.py' --metric instructions": (
        "tests/integration/test_bisect_worktree.py"
    ),
    "perf-culprit bisect --good v1.4 --bad main --run ./bench --metric instructions --jobs 4 --svg plot.svg --open": (
        "tests/integration/test_bisect_worktree.py"
    ),
    "perf-culprit bisect --good v1.4 --bad main --build make --metric size:dist/*.whl": (
        "tests/integration/test_bisect_worktree.py"
    ),
    "perf-culprit measure --commits v1.4 HEAD --run './bench' --metric instructions --output out": (
        "tests/unit/measure/test_quantities_of_commands.py"
    ),
    "perf-culprit measure --commits main HEAD --run 'python bench.py' --output out --trace": (
        "tests/integration/test_measure_trace.py"
    ),
    "perf-culprit verify --culprit abc1234 --fix HEAD --run './bench' --only parse --output out": (
        "tests/integration/test_verify_fix.py"
    ),
    "perf-culprit measure --commits main HEAD --run ./bench --flagged report.json --until-decided"
    " --output again": "tests/integration/test_measure_confirm.py",
    "perf-culprit compare --target bench.json --repo . --base main --confirm again/target.json"
    " --confirm-baseline again/baseline.json": "tests/integration/test_measure_confirm.py",
    "perf-culprit init --parts 4 --list 'ls bench/test_*.py'"
    " --run 'pytest ${PERF_CULPRIT_PART-bench} --benchmark-json=\"$PERF_CULPRIT_OUTPUT\"'": "tests/unit/test_init.py",
    "perf-culprit measure --part 1/3 --list 'ls bench/test_*.py' --commits main HEAD --run './bench $PERF_CULPRIT_PART'"
    " --output part-1": "tests/integration/test_suite_parts.py",
    "perf-culprit compare --paired --baseline part-*/baseline.json --target part-*/target.json": (
        "tests/integration/test_suite_parts.py"
    ),
    "pytest -p perf_culprit.explain.tracer.plugin --perf-culprit-trace trace.json bench/": (
        "tests/unit/tracer/test_plugin.py"
    ),
}
OUTPUTS: Final = ("--json", "--html", "--counters", "--svg", "--flame", "--output")
HERE: Final = {command: document for document, command in commands() if command not in ELSEWHERE}
OUTPUT: Final = re.compile(rf" ({'|'.join(OUTPUTS)}) \S+")
# Of commands that differ only in what they write, the one that writes most: the longest overrides the shorter ones.
COMMANDS: Final = list({OUTPUT.sub("", command): command for command in sorted(HERE, key=len)}.values())


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lay_out(tmp_path_factory.mktemp("documented"), python=sys.executable)


@pytest.mark.slow  # some measure or search
@pytest.mark.parametrize("command", [pytest.param(command, id=f"{HERE[command]} {command}") for command in COMMANDS])
def test_a_documented_command_works(
    project: Path,
    command: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    make_audits_small(monkeypatch)
    monkeypatch.chdir(project)
    monkeypatch.setenv("PATH", f"{project.parent / 'bin'}:{os.environ['PATH']}")
    before, pipe, ours = command.partition(" > ")[0].rpartition(" | ")
    if not ours.startswith("perf-culprit "):
        subprocess.run(["sh", "-e", "-c", command], check=True, capture_output=True)
        return
    if pipe:
        piped = subprocess.run(["sh", "-e", "-c", before], check=True, capture_output=True).stdout
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(piped)))
    code = main(words(ours)[1:])
    output = capsys.readouterr()
    assert code == 0, output.err + output.out
    assert output.out
    after = zip(words(ours), words(ours)[1:], strict=False)
    assert all(Path(name).exists() for option, name in after if option in OUTPUTS)


def test_the_other_commands_have_the_options_of_those_that_run() -> None:
    others = set(HERE) - set(COMMANDS)
    assert {OUTPUT.sub("", command) for command in others} <= {OUTPUT.sub("", command) for command in COMMANDS}
    for command in others:
        parsed(words(command)[1:])


def words(command: str) -> list[str]:
    """Split the line as a shell does; an unquoted name with a star stands for the matching files."""
    results = []
    for word in shlex.split(command, posix=False):
        files = sorted(glob.glob(word)) if "*" in word and "'" not in word else []  # noqa: PTH207 # as the shell does
        results += files or shlex.split(word)
    return results


def test_what_runs_elsewhere_is_documented_and_there() -> None:
    assert set(ELSEWHERE) <= {command for _, command in commands()}
    assert all((PROJECT / place).exists() for place in ELSEWHERE.values())
    assert len(COMMANDS) > 30


@pytest.mark.parametrize(("source", "script", "options"), sorted(set(scripts())), ids=str)
def test_a_named_script_is_there_and_has_its_options(source: str, script: str, options: tuple[str, ...]) -> None:
    path = script.removeprefix("-m ").replace(".", "/") if script.startswith("-m ") else script.removesuffix(".py")
    root = PROJECT / "bot" if path.startswith("perf_culprit") else PROJECT
    file = next((file for name in (f"{path}.py", f"{path}/__main__.py") if (file := root / name).is_file()), None)
    assert file is not None, source
    text = file.read_text(encoding="utf-8")
    for option in options:
        assert f'"{option}"' in text, option


@pytest.mark.parametrize(("source", "command"), sorted(set(mentions())), ids=str)
def test_a_mentioned_command_is_there_and_has_its_options(
    source: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [word for word in command.split(" --", maxsplit=1)[0].split() if word.isalpha() and word.islower()]
    path = names[:2] if names[0] == "history" else names[:1]
    with pytest.raises(SystemExit):
        main([*path, "--help"])
    shown = capsys.readouterr().out.split()
    options = [word.partition("=")[0].rstrip(".,;)") for word in command.split() if word.startswith("--")]
    assert set(options) <= {word.strip("[],") for word in shown}, source
