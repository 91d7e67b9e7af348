"""Logs of CI jobs: a tool's output in them is read as if the CI service had added nothing."""

from dataclasses import replace
from pathlib import Path

import pytest

from perf_culprit.cli.entry import main
from perf_culprit.errors import DataError
from perf_culprit.model.run import Environment, Run
from perf_culprit.read.results.collect import AS_IT_IS, Reading, collect_sources
from perf_culprit.read.results.source import Source
from tests.support.goldens import golden

STAMP = "2026-11-26T09:00:00.1234567Z "
FILES = ("go/single.txt", "load/wrk.txt", "criterion/native_0.5.txt", "pytest_benchmark/table.txt", "vitest/bench.json")


def read(text: str, *, is_ci_log: bool = True) -> Run:
    return collect_sources([Source("log.txt", text.encode())], Reading(is_ci_log=is_ci_log))


def logged(text: str, before: str) -> str:
    body = [f"\x1b[36;1m{line}\x1b[0m" if i % 3 == 0 else line for i, line in enumerate(text.rstrip("\n").split("\n"))]
    lines = ["##[group]Run bench", "##[endgroup]", *body, "##[error]Process completed"]
    return "".join(f"{before}{line}\r\n" for line in lines)


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("before", [STAMP, f"bench (3.12)\tRun it\t{STAMP}", "2026-11-26T09:00:00.123456Z 00O "])
def test_a_log_reads_as_its_output(file: str, before: str) -> None:
    plain = golden(file).decode()
    assert read(logged(plain, before)).benchmarks == read(plain, is_ci_log=False).benchmarks


STAMPED_NAMES = ("benchmark_ips/ips.txt", "mitata/groups.txt", "jmh/console.txt", "load/sysbench.txt")


@pytest.mark.parametrize("file", [*FILES, *STAMPED_NAMES])
@pytest.mark.parametrize("before", [STAMP, f"bench (3.12)\tRun it\t\ufeff{STAMP}"])
def test_github_logs_need_no_option(file: str, before: str) -> None:
    plain = golden(file).decode()
    stated = replace(AS_IT_IS, environment=Environment(components={"memory": "of this machine"}))
    of_log = collect_sources([Source("log.txt", logged(plain, before).encode())], stated)
    assert of_log.benchmarks == read(plain, is_ci_log=False).benchmarks
    assert not of_log.environment.components.get("memory")


def test_lines_that_github_did_not_stamp_stay() -> None:
    text = logged(golden("go/single.txt").decode() + "PASS\n" * 20, STAMP)
    assert read(f"{text}Finished\n", is_ci_log=False) == read(text, is_ci_log=False)


def test_a_log_of_an_unknown_format_names_the_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log.txt").write_text("09:00 nothing that anybody knows\n")
    assert main(["collect", str(tmp_path / "log.txt")]) == 3
    assert "perf-culprit collect --ci-log" in capsys.readouterr().err


def test_results_of_several_jobs_are_no_samples_of_one_run() -> None:
    text = golden("go/single.txt").decode()
    with pytest.raises(DataError, match=r"holds the logs of 2 jobs \(a, b\)"):
        read(logged(text, f"a\tx\t{STAMP}") + logged(text, f"b\tx\t{STAMP}"))


def test_the_command_takes_nothing_of_this_machine(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text(logged(golden("go/single.txt").decode(), STAMP))
    assert main(["collect", str(tmp_path / "log.txt"), "--ci-log", "--json", str(tmp_path / "run.json")]) == 0
    text = (tmp_path / "run.json").read_text()
    assert '"memory"' not in text.partition('"environment"')[2]
