"""`init --try`: which proposals are tried here, what is said of them, and what is written."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from perf_culprit.cli.entry import main
from perf_culprit.flows.measurement import Tried
from perf_culprit.init.asked_tools import QUESTIONS
from perf_culprit.init.existing_workflows import workflow_suggestions
from perf_culprit.init.repository import look
from perf_culprit.init.trial import missing, paced, pinned, scratch, shortened
from perf_culprit.init.workflow_check import check_files
from perf_culprit.init.workflow_files import Choice
from perf_culprit.model.run import Run
from tests.support.git_repository import init_repository, run_git
from tests.unit.test_existing_workflows import lay_out

GO = "#!/bin/sh\n# as go test -bench prints\necho 'BenchmarkParse-2 100 25 ns/op'\n"


def committed(root: Path) -> Path:
    for name in ("bench.sh", "bench_a.sh", "bench_b.sh"):
        if (root / name).exists():
            (root / name).chmod((root / name).stat().st_mode | stat.S_IXUSR)
    run_git(root, "add", "--all")
    run_git(root, "commit", "--quiet", "--message", "x")
    return root


def test_the_next_proposal_is_tried_if_one_gives_no_benchmarks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = "- run: ./bench_a.sh  # hyperfine\n"
    root = lay_out(
        init_repository(tmp_path / "x"),
        steps,
        bench_a_D_sh="echo broken >&2\nexit 3\n",
        bench_D_sh=GO,
        Makefile="bench:\n\t@./bench.sh  # go test -bench\n",
    )
    assert main(["init", "--repo", str(committed(root)), "--yes", "--try"]) == 0
    told = capsys.readouterr().out
    assert "gave no benchmarks: ./bench_a.sh\n" in told
    assert "ended with exit code 3; its output ends with: broken" in told
    assert "tried: 1 benchmark in 0 s, built in 0 s, such as BenchmarkParse" in told
    assert "--run 'make bench'" in (root / ".github/workflows/perf.yml").read_text()
    assert "HEAD against itself, for at most 10 minutes:" in told


def test_a_part_of_the_suite_does_not_stand_for_the_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    functions = "".join(f"func Benchmark{name}(b *testing.B) {{}}\n" for name in ("Parse", "Print"))
    root = lay_out(
        init_repository(tmp_path / "x"),
        "- run: ./bench_a.sh  # go test -bench .\n",
        bench_a_D_sh="exit 3\n",
        bench_D_sh=GO,
        Makefile="bench:\n\t@./bench.sh  # go test -bench\n",
        parse_test_D_go=functions,
    )
    assert main(["init", "--repo", str(committed(root)), "--yes", "--try", "--minutes", "1"]) == 3
    told = capsys.readouterr()
    assert "not taken: `make bench` gives a part: the sources declare 1 benchmark more, such as BenchmarkPrint" in (
        told.out
    )
    assert "the whole suite failed" in told.err
    assert "if the part is enough: perf-culprit init --try --run 'make bench'" in told.err
    assert not (root / ".github/workflows/perf.yml").exists()


@pytest.mark.parametrize(
    ("printed", "lacking"),
    [
        ("error: toolchain '1.80.1-x86' is not installed", "needs the Rust toolchain 1.80.1-x86"),
        ("curl: (6) Could not resolve host: example.org", "needs the network (example.org)"),
        ("error: release version 21 not supported", "needs Java 21"),
        ("Could NOT find CURL (missing: CURL_LIBRARY)", "needs the library or program CURL"),
    ],
)
def test_what_the_machine_lacks_is_not_an_error_of_the_build(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], printed: str, lacking: str
) -> None:
    text = f'echo "$RUSTUP_TOOLCHAIN {printed}" >&2\nexit 1\n'
    root = committed(lay_out(init_repository(tmp_path / "x"), "- run: ./bench.sh\n", bench_D_sh=text))
    assert main(["init", "--repo", str(root), "--yes", "--try"]) == 0
    told = capsys.readouterr().out
    assert told.count(f"not tried: ./bench.sh {lacking}\n") == 1
    assert ("tried with RUSTUP_TOOLCHAIN=stable" in told) == ("Rust" in lacking)
    assert f"  # not tried: {lacking}" in (root / ".github/workflows/perf.yml").read_text()


def test_a_draft_tries_on_the_runner_and_tells_the_pull_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = committed(lay_out(init_repository(tmp_path / "x"), "- run: ./bench.sh\n", bench_D_sh=GO))
    assert main(["init", "--repo", str(root), "--yes", "--pull-request"]) == 0
    assert "gh pr create --draft" in capsys.readouterr().out
    (path,) = (root / ".github/workflows").glob("perf*")
    assert not (root / ".github/perf-culprit.yml").exists()
    assert all("zeros" in remark.text for remark in check_files(root))
    jobs = yaml.safe_load(path.read_text())["jobs"]
    assert [job["permissions"] for job in jobs.values()] == [
        {"contents": "read"},
        {"actions": "read", "pull-requests": "write"},
    ]
    assert not any("checkout" in step.get("uses", "") for step in jobs["tell"]["steps"])
    tools, comment = tmp_path / "bin", tmp_path / "comment.md"
    tools.mkdir()
    for name, body in (("perf-culprit", "echo \"$@\"; echo '```'; exit 3"), ("gh", 'echo "$@"')):
        (tools / name).write_text(f"#!/bin/sh\n{body}\n")
        (tools / name).chmod(0o755)
    environment = {"PATH": f"{tools}:{os.environ['PATH']}", "NUMBER": "7", "GITHUB_REPOSITORY": "o/r"}
    environment["GITHUB_RUN_ID"] = "42"

    def run(script: str) -> subprocess.CompletedProcess[str]:
        command = ["bash", "-e", "-o", "pipefail", "-c", script]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    (script,) = (step["run"] for step in jobs["try"]["steps"] if "--try" in step.get("run", ""))
    assert run(script).returncode == 3
    assert run(jobs["tell"]["steps"][-1]["run"]).stdout == "pr comment 7 --repo o/r --body-file comment.md\n"
    assert "\n\n    init --try --yes --minutes 15\n    ```\n\nIts files" in comment.read_text()


SHORT = {
    "go test -run '^$' -bench . -count=10 ./...": "go test -run '^$' -bench . -benchtime=100ms ./...",
    "cargo bench -p a && cp -r target/criterion out": (
        r"cargo bench -p a --bench \* -- --warm-up-time 1 --measurement-time 1 --sample-size 10 "
        "&& cp -r target/criterion out"
    ),
    "cargo bench --bench a -- x && cp -r target/criterion out": (
        "cargo bench --bench a -- x --warm-up-time 1 --measurement-time 1 --sample-size 10 "
        "&& cp -r target/criterion out"
    ),
    "pytest --benchmark-json=x": "pytest --benchmark-max-time=0.1 --benchmark-min-rounds=1 --benchmark-json=x",
    "./b --benchmark_repetitions=5 --benchmark_out=x": "./b --benchmark_min_time=0.05 --benchmark_out=x",
    "make bench": "",
}


@pytest.mark.parametrize("run", SHORT)
def test_a_shorter_execution_keeps_the_benchmarks(run: str) -> None:
    assert shortened(run) == SHORT[run]


def test_the_package_manager_is_the_pinned_one(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"packageManager": "yarn@4.1.0+sha512.abc"}')
    steps = ({"uses": "pnpm/action-setup@v4", "with": {"version": 9}},)
    choice = Choice(run="pnpm bench", setup="", steps=steps)
    assert pinned(look(tmp_path), choice) == {"pnpm": "pnpm@9", "yarn": "@yarnpkg/cli-dist@4.1.0"}
    _, bring = scratch(choice, tmp_path, pins={"pnpm": "pnpm@9"})
    assert bring.splitlines()[-1] == "npm install --silent --global pnpm@9"


def test_what_needs_another_machine_is_written_as_not_tried(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = "services:\n  db: {image: 'postgres:16'}\n"
    root = committed(lay_out(init_repository(tmp_path / "x"), "- run: ./bench.sh\n", job=job, bench_D_sh=GO))
    assert main(["init", "--repo", str(root), "--yes", "--try"]) == 0
    assert "not tried: ./bench.sh needs the service db\n" in capsys.readouterr().out
    assert "\n  # not tried: needs the service db\n  measure:\n" in (root / ".github/workflows/perf.yml").read_text()


def test_without_a_trial_the_last_line_offers_one_and_the_trial_replaces_what_was_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = committed(lay_out(init_repository(tmp_path / "x"), "- run: ./bench.sh\n", bench_D_sh=GO))
    assert main(["init", "--repo", str(root)]) == 0
    assert capsys.readouterr().out.endswith("\nTry it first: perf-culprit init --try\n")
    assert main(["init", "--repo", str(root), "--yes"]) == 2
    assert main(["init", "--repo", str(root), "--try"]) == 0


def test_a_terminal_sees_the_commands_and_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = committed(lay_out(init_repository(tmp_path / "x"), "- run: ./bench.sh\n", bench_D_sh=GO))
    asked: list[str] = []

    def answer(question: str) -> str:
        asked.append(question)
        return "yes" if "Run these" in question else ""

    monkeypatch.setattr("builtins.input", answer)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    assert main(["init", "--repo", str(root)]) == 0
    assert asked[-1] == "Run these commands here once, for at most 10 minutes? (yes/no) [no]: "
    told = capsys.readouterr().out
    assert told.index("   run: ./bench.sh") < told.index("tried: 1 benchmark")


@pytest.mark.parametrize("options", [(), ("--force",), ("--split", "--force")])
def test_a_foreign_perf_yml_stays(tmp_path: Path, options: tuple[str, ...]) -> None:
    root = lay_out(init_repository(tmp_path / "x"), "- run: go test -bench .\n")
    foreign = root / ".github/workflows/perf.yml"
    foreign.write_text("name: perf\n")
    assert main(["init", "--repo", str(root), "--yes", *options]) == 0
    assert foreign.read_text() == "name: perf\n"
    ours = (root / ".github/workflows/perf-culprit.yml").read_text()
    assert ours.startswith("name: perf-culprit\n")
    if "--split" in options:
        report = (root / ".github/workflows/perf-report.yml").read_text()
        assert "workflows: [perf-culprit]\n" in report
        assert "measure-workflow: perf-culprit.yml" in (root / ".github/workflows/perf-command.yml").read_text()
    else:
        assert "mode: command\n          measure-workflow: perf-culprit.yml\n" in ours


def test_the_old_job_s_time_is_said(tmp_path: Path) -> None:
    job = "timeout-minutes: 90\nstrategy:\n  matrix: {shard: [1, 2, 3], os: [a, b]}\n"
    (suggestion,), _ = workflow_suggestions(look(lay_out(tmp_path, "- run: go test -bench .\n", job=job)))
    assert "their job: up to 90 minutes in 6 jobs" in suggestion.notes
    (suggestion,), _ = workflow_suggestions(look(lay_out(tmp_path, "- run: go test -bench .\n", job=job[20:])))
    assert "their job: in 6 jobs" in suggestion.notes


def executed(seconds: float) -> Tried:
    return Tried(run=Run(), build_s=1.0, execution_s=seconds)


def test_one_execution_tells_the_limit_and_what_to_do_if_few_fit() -> None:
    told: list[str] = []
    choice = Choice(run="x", setup="")
    assert paced(choice, executed(60), told.append).timeout == 0
    assert told == []
    slow = paced(choice, executed(410), told.append)
    assert slow.timeout == 840
    assert "its --timeout is written" in told[0]
    assert "8 executions take 55 minutes; a pull request has 15." in told[1]
    assert "--split --parts 4 --list CMD" in told[2]


def test_programs_come_into_a_scratch_folder_or_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    choice = Choice(
        run="uv run pytest bench",
        build="docker compose up",
        setup="sudo apt-get install x && pip install pytest-benchmark",
    )
    assert missing(choice) == ["`docker`"]
    enter, bring = scratch(choice, tmp_path / "1")
    assert enter.startswith(f"export PATH={tmp_path}/1/bin:$PATH ")
    assert bring.splitlines() == [
        f"python3 -m venv {tmp_path}/1",
        "pip install --quiet uv",
        "pip install pytest-benchmark",
    ]


ANSWERS = {
    "Cargo.toml": (
        '{"packages": [{"name": "p", "targets": [{"name": "b", "kind": ["bench"], "required-features": ["x"]}]}]}',
        "cargo bench -p p --bench b --features x",
    ),
    "package.json": ('{"core": {"bench": "vitest bench", "bench:check": "x"}}', "npm run bench --workspace core"),
    "justfile": ("build bench-all lint-bench", "just bench-all"),
    "tox.ini": ("py311\nbenchmark\n", "tox run -e benchmark"),
    "Makefile": ("make -bench\nbench: all\n", "make bench"),
}


@pytest.mark.parametrize("file", ANSWERS)
def test_the_tools_answers_are_proposals(tmp_path: Path, file: str) -> None:
    answer, expected = ANSWERS[file]
    command, read = next((command, read) for name, command, read in QUESTIONS if name == file)
    assert next(read(answer, command, look(tmp_path))).run.startswith(expected)
