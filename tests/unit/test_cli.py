"""The command line as a user calls it: exit codes, messages, files, cold start."""

import io
import json
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest

from perf_culprit.cli import output
from perf_culprit.cli.command_functions import COMMAND_FUNCTIONS
from perf_culprit.cli.command_parser import parsed
from perf_culprit.cli.entry import main
from perf_culprit.cli.output import shown
from perf_culprit.commands.all_commands import COMMANDS, SECTIONS
from perf_culprit.commands.declared import Command
from perf_culprit.commands.setup_requests import Formats
from perf_culprit.progress import doing
from perf_culprit.read.results.result_formats import READERS
from perf_culprit.say.certainty_words import NOT_PROVEN
from tests.support.goldens import FOLDER, golden
from tests.support.measurements import measured_json

LEVELS = {"parse": 0.004, "render": 0.02}
DOCS = Path(__file__).parents[2] / "docs"
HEAVY = (
    "dataclasses",
    "msgspec",
    "numpy",
    "scipy",
    "github",
    "jinja2",
    "pydantic",
    "yaml",
    "requests",
    "sqlalchemy",
    "perf_culprit.flows.compare",
    "perf_culprit.dispatch.local_bisection",
)


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for seed in range(4):
        (tmp_path / f"base-{seed}.json").write_bytes(measured_json(LEVELS, seed=seed))
    (tmp_path / "same.json").write_bytes(measured_json(LEVELS, seed=50))
    for seed, name in enumerate(("slow.json", "slow-1.json", "slow-2.json", "slow-3.json", "slow-4.json"), start=51):
        (tmp_path / name).write_bytes(measured_json({**LEVELS, "parse": 0.0096}, seed=seed))
    return tmp_path


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from perf_culprit.cli.command_parser import command_parser; command_parser().format_help();"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_comparison_loads_no_package_and_no_part_of_numpy_that_it_does_not_use(results: Path) -> None:
    code = (
        "import sys; from perf_culprit.cli.entry import main; main(['compare', 'base-0.json', 'same.json']);"
        "hidden = ('numpy.f2py', 'numpy.testing', 'numpy.polynomial', 'statsmodels', 'pandas');"
        "print([name for name in hidden if name in sys.modules]); import numpy; print(numpy.testing.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=results, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-2:] == ["[]", "numpy.testing"]


def test_every_declared_command_does_something() -> None:
    assert set(COMMAND_FUNCTIONS) == set(COMMANDS)


@pytest.mark.parametrize("verb", COMMANDS, ids=lambda verb: verb.NAME)
def test_every_verb_has_help_whose_examples_parse(verb: type[Command], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*verb.NAME.split(), "--help"])
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert not re.search(r"\w-$", printed, re.MULTILINE)  # no option is broken at a hyphen
    assert "exit codes:" not in printed
    assert "Exit codes: perf-culprit --help" in printed
    for example in verb.EXAMPLES:
        assert f"  {example}\n" in printed
        command = re.split(" > | [|] ", example)[-1 if "|" in example else 0]
        assert type(parsed(shlex.split(command)[1:])) is verb


def test_a_long_command_says_what_it_does_unless_told_to_be_quiet(
    results: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert results.is_dir()
    monkeypatch.setattr("perf_culprit.cli.output.LOG_SECONDS", 0.0)
    command = ["compare", "--baseline", "base-0.json", "--target", "same.json"]
    assert main([*command, "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    main([*command, "--verbose"])
    steps = capsys.readouterr().err.splitlines()
    assert [step.split(" s  ")[1] for step in steps] == [
        "reading same.json",
        "reading base-0.json",
        "judging 2 metrics of benchmarks",
    ]


def test_the_status_is_shown_while_the_work_lasts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("perf_culprit.cli.output.LOG_SECONDS", 0.1)
    with shown(Formats()):
        doing("reading a file")
        deadline = time.monotonic() + 30
        while not (errors := capsys.readouterr().err) and time.monotonic() < deadline:
            time.sleep(0.05)
    assert errors.endswith(" s: reading a file\n")


def test_a_commit_is_a_full_hash(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert results.is_dir()
    assert main(["collect", "same.json", "--commit", "abc"]) == 2
    assert "'abc' is not a full hash of a commit" in capsys.readouterr().err


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion_knows_the_commands(shell: str, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["completion", shell]) == 0
    script = capsysbinary.readouterr().out.decode()
    assert "--false-discovery-rate" not in script
    assert all(word in script for word in ("compare", "--baseline", "completion"))


def test_every_mistake_of_the_configuration_is_reported(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (results / "bad.yml").write_text("detectr: anova\nalpha: 7\nproven: 7\nbenchmarks:\n  - minimum-effect: abc\n")
    assert main(["collect", "same.json", "--config", "bad.yml"]) == 2
    errors = capsys.readouterr().err
    assert "bad.yml:1: unknown key detectr; did you mean detector?" in errors
    assert "bad.yml:2: alpha is gone: " in errors
    assert "bad.yml:3: proven: " in errors
    assert "bad.yml:5: " in errors


def test_alone_it_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "exit codes:" in capsys.readouterr().out


def test_collect_reports_what_it_read_and_what_it_left_out(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["collect", str(FOLDER / "vitest/bench.json"), "--json", "run.json"]) == 0
    assert capsys.readouterr().err == (
        "vitest: 3 benchmarks, summaries without samples\n  note: left out because they failed: 1\n"
    )
    assert main(["collect", "base-0.json", "base-1.json", "-q", "--json", "run.json"]) == 0
    assert capsys.readouterr().err == ""
    assert (results / "run.json").exists()


def test_formats_lists_every_reader_with_how_its_files_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["formats"]) == 0
    out = capsys.readouterr().out
    for name, reader in READERS.items():
        assert f"{name:24} {reader.description}\n" in out
        assert reader.example in out


def test_formats_lists_those_that_a_name_is_part_of(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["formats", "GOOGLECPP"]) == 0
    out = capsys.readouterr().out
    assert "google_benchmark_text" in out
    assert "hyperfine" not in out
    assert main(["formats", "hyperfin"]) == 0
    assert main(["formats", "hiperfine"]) == 2
    assert "did you mean hyperfine? perf-culprit formats" in capsys.readouterr().err


@pytest.mark.parametrize("file", ["load/hey.txt", "load/siege.txt", "timeit/timeit.txt", "numbers/loop.txt"])
def test_files_of_one_nameless_series_are_compared(
    results: Path, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("monday.txt", "today.txt"):
        (results / name).write_bytes(golden(file))
    assert main(["compare", "monday.txt", "today.txt"]) == 0
    assert "nothing could be compared" not in capsys.readouterr().out


def test_the_threshold_of_other_tools_is_a_key(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert results.is_dir()
    assert main(["compare", "base-0.json", "same.json", "--fail-threshold", "5"]) == 2
    assert "levels: {fail: 10%}" in capsys.readouterr().err


def test_a_negative_effect_is_refused_as_a_value(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert results.is_dir()
    assert main(["compare", "base-0.json", "same.json", "--minimum-effect", "-5%"]) == 2
    assert "such as 5%, not '-5%'" in capsys.readouterr().err


def test_old_and_new_stand_for_baseline_and_target(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert results.is_dir()
    assert main(["compare", "base-0.json", "same.json"]) == 0
    short = capsys.readouterr().out
    assert main(["compare", "--baseline", "base-0.json", "--target", "same.json"]) == 0
    assert capsys.readouterr().out == short
    for wrong in (["base-0.json"], ["base-0.json", "same.json", "--target", "slow.json"], []):
        assert main(["compare", *wrong]) == 2
        assert "needs OLD and NEW, or --target with --baseline or --repo" in capsys.readouterr().err


def test_the_help_lists_each_command_once_under_its_section(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    titles = [line for line in lines if line.removesuffix(":") in SECTIONS]
    assert titles == [f"{title}:" for title in SECTIONS]
    names = {command.NAME.partition(" ")[0] for command in COMMANDS}
    assert all(sum(line.startswith(f"    {name} ") for line in lines) == 1 for name in names)


def test_no_change_is_0_and_a_regression_is_1(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--baseline", "base-0.json", "base-1.json", "base-2.json", "--target", "same.json"]) == 0
    assert "No change seen in 2 benchmarks" in capsys.readouterr().out
    for seed in range(16):  # eight rounds
        (results / f"turn-{seed}.json").write_bytes(measured_json(LEVELS, seed=100 + seed))
        (results / f"slower-{seed}.json").write_bytes(measured_json({**LEVELS, "parse": 0.0096}, seed=200 + seed))
    sides = ["--baseline", "turn-*.json", "--target", "slower-*.json"]
    assert main(["compare", "--paired", *sides, "--json", "out.json"]) == 1
    assert "1 of 2 benchmarks got slower" in capsys.readouterr().out
    report = json.loads((results / "out.json").read_text())
    jsonschema.validate(report, json.loads((DOCS / "report-v2.schema.json").read_text()))
    verdicts = {finding["benchmark"]: finding["verdict"] for finding in report["findings"]}
    assert verdicts == {"parse": "regression", "render": "unchanged"}


def test_a_benchmark_that_failed_is_not_listed_as_missing_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fine = "pkg: x\nBenchmarkA 10 100 ns/op\nBenchmarkB 10 100 ns/op\n"
    files = {
        "old.txt": fine + "PASS\n",
        "new.txt": "pkg: x\nBenchmarkA 10 100 ns/op\n--- FAIL: BenchmarkB\n    a: boom\nFAIL\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    main(["compare", *(str(tmp_path / name) for name in files)])
    shown = capsys.readouterr().out
    assert "BenchmarkB: failed on the target: a: boom" in shown
    assert "missing:" not in shown


@pytest.mark.parametrize(("levels", "code", "mark"), [("{}", 0, "1 missing"), ("{lost: fail}", 1, "levels.lost")])
def test_a_lost_benchmark_is_told_and_fails_where_that_is_configured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], levels: str, code: int, mark: str
) -> None:
    for side, names in (("base", ("kept", "lost")), ("head", ("kept",))):
        for number in range(4):
            rows = [{"name": name, "unit": "ms", "value": 10 + 0.01 * number} for name in names]
            (tmp_path / f"{side}{number}.json").write_text(json.dumps(rows))
    (tmp_path / "c.yml").write_text(f"levels: {levels}\n")
    sides = [[str(tmp_path / f"{side}{number}.json") for number in range(4)] for side in ("base", "head")]
    options = ["--config", str(tmp_path / "c.yml"), "--paired", "--baseline", *sides[0], "--target", *sides[1]]
    assert main(["compare", *options]) == code
    shown = " ".join(capsys.readouterr().out.split())
    assert mark in shown
    assert "1 missing" in shown.partition("See why benchmarks are missing")[0]
    assert ("are missing. This fails the check." in shown) == (code == 1)


@pytest.mark.parametrize(("levels", "code"), [("{}", 0), ("{lost: fail}", 1)])
def test_a_failed_benchmark_stands_first_with_its_reason(tmp_path: Path, levels: str, code: int) -> None:
    for side, fails in (("base", False), ("head", True)):
        for number in range(4):
            rows = [{"name": name, "real_time": 10 + 0.01 * number, "cpu_time": 1, "time_unit": "ms"} for name in "ab"]
            failed = {"error_occurred": True, "error_message": "cannot open table.bin"}
            rows = [{**row, **failed} if fails and row["name"] == "b" else row for row in rows]
            content = {"context": {"num_cpus": 2, "library_build_type": "release"}, "benchmarks": rows}
            (tmp_path / f"{side}{number}.json").write_text(json.dumps(content))
    (tmp_path / "c.yml").write_text(f"levels: {levels}\n")
    sides = [[str(tmp_path / f"{side}{number}.json") for number in range(4)] for side in ("base", "head")]
    options = ["--config", str(tmp_path / "c.yml"), "--paired", "--baseline", *sides[0], "--target", *sides[1]]
    assert main(["compare", *options, "--markdown", str(tmp_path / "c.md")]) == code
    heading, *rest = (tmp_path / "c.md").read_text().splitlines()
    assert heading.startswith(f"### {'🔴' if code else '⚠️'} 1 benchmark failed; ")
    assert "**Not tested:** `b`: failed on the target: cannot open `table.bin`" in rest
    assert "missing" not in heading


def test_repeated_options_add_up(results: Path) -> None:
    out = results / "out.json"
    main(
        [
            "compare",
            "--baseline",
            "base-0.json",
            "--baseline",
            "base-1.json",
            "--target",
            "same.json",
            "--json",
            str(out),
        ]
    )
    assert json.loads(out.read_text())["baseline_runs"] == 2


def test_json_on_standard_output_is_only_json(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert results.is_dir()
    main(["compare", "--baseline", "base-0.json", "--target", "same.json", "--json", "-"])
    written = capsys.readouterr()
    assert json.loads(written.out)["format"] == "perf-culprit-report"
    assert "one run a side doesn't show how much runs differ" in written.err


def test_outputs_are_checked_before_the_work(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert results.is_dir()
    assert main(["compare", "--baseline", "none.json", "--target", "none.json", "--json", "lacking/out.json"]) == 2
    assert "there is no folder lacking" in capsys.readouterr().err
    assert main(["compare", "--baseline", "none.json", "--target", "none.json", "--open"]) == 2
    assert "--html report.html --open" in capsys.readouterr().err


def test_the_page_is_opened_where_that_is_asked_for(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    main(["compare", "--baseline", "base-*.json", "--target", "slow.json", "--html", "c.html", "--open"])
    assert opened == [(results / "c.html").as_uri()]


def test_markdown_and_page(results: Path) -> None:
    main(["compare", "--baseline", "base-*.json", "--target", "slow.json", "--markdown", "c.md", "--html", "c.html"])
    assert f"1 of 2 benchmarks looks slower, {NOT_PROVEN}" in (results / "c.md").read_text()
    assert "<table" in (results / "c.html").read_text()


def test_standard_input(results: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    stdin = io.TextIOWrapper(io.BytesIO((results / "same.json").read_bytes()))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert main(["compare", "--baseline", "base-*.json", "--target", "-"]) == 0
    assert "No change seen in 2 benchmarks" in capsys.readouterr().out


def test_collect_writes_a_run(results: Path) -> None:
    assert main(["collect", "base-*.json", "--json", "run.json"]) == 0
    run = json.loads((results / "run.json").read_text())
    jsonschema.validate(run, json.loads((DOCS / "run-v1.schema.json").read_text()))
    first = run["benchmarks"][0]
    assert (first["name"], first["metric"], first["unit"], first["direction"]) == (
        "parse",
        "time",
        "s",
        "lower_is_better",
    )
    assert len(first["samples"]) == 80
    assert first["group_sizes"] == [20, 20, 20, 20]


@pytest.mark.parametrize(
    ("argv", "code", "text"),
    [
        pytest.param(["collect", "absent.json"], 3, "absent.json", id="no such file"),
        pytest.param(["collect", "absent-*.json"], 3, "absent-*.json", id="pattern without a file"),
        pytest.param(["compare", "--target", "slow.json", "--baseline", "broken.json"], 3, "broken.json", id="broken"),
        pytest.param(["compare", "--target", "slow.json"], 4, "git", id="history outside a repository"),
        pytest.param(["collect", "same.json", "--config", "no.yml"], 2, "no.yml", id="no such configuration"),
        pytest.param(["collect", "same.json", "--tool", "stopwatch"], 2, "stopwatch", id="unknown format"),
        pytest.param(
            ["compare", "--baseline", "same.json", "--target", "slow.json", "--detector", "oracle"],
            2,
            "oracle",
            id="unknown detector",
        ),
        pytest.param(
            ["compare", "--baseline", "same.json", "--target", "slow.json", "--minimum-effect", "0.05"],
            2,
            "5%",
            id="fraction instead of percentage",
        ),
    ],
)
def test_mistakes_end_with_place_next_step_and_code(
    results: Path, capsys: pytest.CaptureFixture[str], argv: list[str], code: int, text: str
) -> None:
    (results / "broken.json").write_text('{"benchmarks": [')
    assert main(argv) == code
    written = capsys.readouterr().err
    assert written.startswith("error: ")
    assert text in written
    assert "\nNext: " in written
    assert "Traceback" not in written


def test_output_that_cannot_be_written_leaves_nothing(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (results / "blocked").write_text("a file, not a folder")
    assert main(["collect", "same.json", "--json", "blocked/run.json"]) == 2
    assert "cannot be written" in capsys.readouterr().err
    assert sorted(path.name for path in results.iterdir() if path.name.startswith(".")) == []


def test_schema_is_what_is_published(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    for name, file in (
        ("run", "run-v1"),
        ("report", "report-v2"),
        ("bisection", "bisection-v1"),
        ("config", "config"),
        ("simulation", "simulation-v1"),
        ("simulation-model", "simulation-model"),
    ):
        assert main(["schema", name]) == 0
        assert json.loads(capsysbinary.readouterr().out) == json.loads((DOCS / f"{file}.schema.json").read_text())


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environment", "terminal", "piped"),
    [
        ({}, True, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": ""}, True, False),
        ({"FORCE_COLOR": "1"}, True, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
    ],
)
def test_colour_follows_the_stream_unless_the_environment_says_otherwise(
    environment: dict[str, str], terminal: bool, piped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert output.colour(Terminal()) is terminal
    assert output.colour(io.StringIO()) is piped
    assert output.table_width(io.StringIO()) == output.UNLIMITED


@pytest.mark.parametrize(
    ("arguments", "step"),
    [
        (["measure", "HEAD", "."], "write for example `perf-culprit measure --commits main HEAD"),
        (["bisect", "v1", "main"], "write for example `perf-culprit bisect --good"),
        (["measure", "--commmits", "HEAD"], "did you mean --commits?"),
    ],
)
def test_arguments_in_the_wrong_place_get_the_command_s_example(
    arguments: list[str], step: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert f"Next: {step}" in capsys.readouterr().err
