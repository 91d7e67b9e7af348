"""Proposals that are dropped, each with its reason. The cases are those of real repositories, written for the tests."""

from pathlib import Path

import pytest

from perf_culprit.cli.entry import main
from perf_culprit.init.benchmark_tools import proposals
from perf_culprit.init.proposal_faults import fault_of
from perf_culprit.init.repository import Suggestion, look
from tests.support.git_repository import init_repository
from tests.unit.test_existing_workflows import STORED, lay_out, timed


@pytest.mark.parametrize(
    ("project", "steps", "reason"),
    [
        (
            "delta-kernel-rs",
            "- run: cargo bench -- --save-baseline ${{ github.base_ref }}",
            "only GitHub knows `github.base_ref`",
        ),
        (
            "pydantic-core",
            "- run: cargo bench --bench $NAME\n  env: {NAME: '${{ github.event.label.name }}'}",
            "only GitHub knows `github.event.label.name`",
        ),
        ("(the runner's own)", "- run: go test -bench . -run $GITHUB_REF_NAME", "only GitHub knows `$GITHUB_REF_NAME`"),
        ("polars", "- name: Run non-benchmark tests\n  run: pytest tests/benchmark -m 'not slow'", "`non-benchmark`"),
        (
            "pypdf",
            "- run: pytest tests/bench.py --benchmark-json o.json -p no:benchmark",
            "`-p no:benchmark` switches off",
        ),
        (
            "ioc-finder",
            "- run: pytest --benchmark-only --benchmark-json o.json; if ($LASTEXITCODE) { Write-Output $env:X }",
            "written for PowerShell",
        ),
        ("networkx", "- run: ./benchmarks.sh\n", "it needs two commits (`asv continuous`)"),
    ],
)
def test_what_cannot_run_in_another_job_is_dropped(tmp_path: Path, project: str, steps: str, reason: str) -> None:
    root = lay_out(tmp_path, f"{steps}\n", benchmarks_D_sh='asv continuous "$BASE" HEAD\n')
    kept, dropped = proposals(look(root))
    assert kept == (), project
    assert [reason in fault for _, fault in dropped] == [True], (project, dropped)


def test_groovy_s_executions_that_overwrite_one_file_are_dropped(tmp_path: Path) -> None:
    job = "strategy:\n  matrix: {suite: [core, plugin, indy]}\n"
    steps = "- run: ./gradlew -Pbench=${{ matrix.suite }} :perf:jmh\n"
    _, dropped = proposals(look(lay_out(tmp_path, steps, job=job)))
    assert [fault for _, fault in dropped] == ["its 3 executions overwrite one file"]


def test_laze_s_converter_gives_way_to_what_measures() -> None:
    converter = Suggestion(tool="script", run=timed("x", "python tools/bench_to_json.py out.txt"))
    assert fault_of(converter) == "`tools/bench_to_json.py` converts results; an earlier step measures"
    assert fault_of(Suggestion(tool="script", run=timed("x", "python tools/bench.py"))) == ""


def test_simdjson_s_options_come_from_cmake_itself(tmp_path: Path) -> None:
    from perf_culprit.init.asked_tools import QUESTIONS

    read = next(read for file, _, read in QUESTIONS if file == "CMakeLists.txt")
    (tmp_path / "CMakeLists.txt").write_text("target_link_libraries(b benchmark::benchmark)")
    answer = "SIMDJSON_DEVELOPER_MODE:BOOL=OFF\nBUILD_SHARED_LIBS:BOOL=ON\n"
    (suggestion,) = read(answer, "cmake", look(tmp_path))
    assert "-DSIMDJSON_DEVELOPER_MODE=ON" in suggestion.build


def test_a_dropped_proposal_is_said_and_nothing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = lay_out(
        init_repository(tmp_path / "x"), "- run: asv continuous ${{ github.base_ref }} HEAD ; benchstat a b\n"
    )
    root.joinpath(".github/workflows/bench.yml").write_text(
        "on: [push]\njobs:\n  b:\n    runs-on: x\n    steps:\n    - run: pytest bench --benchmark-disable\n"
    )
    assert main(["init", "--repo", str(root), "--yes"]) == 2
    told = capsys.readouterr()
    assert "dropped: .github/workflows/bench.yml, job b: `--benchmark-disable` switches off its results" in told.out
    assert "name the command with --run" in told.err


def test_what_a_dispatch_is_given_by_default_is_no_lack(tmp_path: Path) -> None:
    root = lay_out(
        tmp_path, STORED.format(run="go test -bench ${{ inputs.what }} | tee o.txt", tool="go", file="o.txt")
    )
    path = root / ".github/workflows/bench.yml"
    path.write_text(
        path.read_text().replace("on: [push]", "on: {workflow_dispatch: {inputs: {what: {default: Parse}}}}")
    )
    assert proposals(look(root))[0][0].run == "go test -bench Parse"


def test_what_bencher_is_given_is_not_needed_to_measure(tmp_path: Path) -> None:
    given = "--token '${{ secrets.T }}' --start-point '${{ github.base_ref }}'"
    steps = f"- run: bencher run {given} 'go test -bench .'\n"
    kept, dropped = proposals(look(lay_out(tmp_path, steps)))
    assert (kept[0].run, dropped) == ("go test -bench .", ())


def test_a_line_that_installs_the_tool_gets_no_result_file(tmp_path: Path) -> None:
    steps = "- run: |\n    uv pip install pytest-benchmark\n    uv run pytest bench --benchmark-only\n"
    (kept, *_), _ = proposals(look(lay_out(tmp_path, steps)))
    uv, measuring = kept.run.splitlines()
    assert uv == "uv pip install pytest-benchmark"
    assert measuring.endswith('--benchmark-only --benchmark-json="$PERF_CULPRIT_OUTPUT"')
