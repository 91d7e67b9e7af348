"""`perf-culprit changes` as a user calls it: tables of any kind, the stored history, and the errors of both."""

import io
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from perf_culprit.cli.entry import main
from perf_culprit.git.command import Remote
from perf_culprit.model.run import Benchmark, Direction, Environment, Metric, Run
from perf_culprit.store.opening import open_git_branch
from tests.support.git_repository import chain, import_commits, init_repository, run_git
from tests.support.goldens import golden

ROWS = 200
COMMITS = 24
STEP_AT, DRIFT_FROM, DRIFT_TO, BLIP_AT = 120, 60, 120, 90
TIME = Metric(name="time", unit="ms", direction=Direction.LOWER_IS_BETTER)


def noise(seed: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return 100 + np.random.default_rng(seed).normal(size=ROWS)


def columns() -> dict[str, list[str]]:
    step, drift, blip = noise(1), noise(2), noise(3)
    step[STEP_AT:] += 8
    drift += 15 * np.clip((np.arange(ROWS) - DRIFT_FROM) / (DRIFT_TO - DRIFT_FROM), 0, 1)
    blip[BLIP_AT] *= 3
    return {
        "build": [f"b{number}" for number in range(ROWS)],
        "step": [f"{value:.4f}" for value in step],
        "drift": [f"{value:.4f}" for value in drift],
        "blip": [f"{value:.4f}" for value in blip],
    }


def table(data: Mapping[str, Sequence[str]], *, delimiter: str = ",") -> str:
    return "\n".join(delimiter.join(row) for row in [tuple(data), *zip(*data.values(), strict=True)]) + "\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "builds.csv").write_text(table(columns()))
    return tmp_path


def changes_of(*arguments: str, file: str = "builds.csv") -> dict[str, dict[str, Any]]:
    assert main(["changes", file, *arguments, "--json", "out.json"]) == 0
    data = json.loads(Path("out.json").read_text())
    assert (data["format"], data["version"]) == ("perf-culprit-changes", 1)
    return {column["name"]: column for column in data["columns"]}


def failed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(["changes", *arguments])
    return code, capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_a_step_a_drift_and_a_blip() -> None:
    judged = changes_of()
    assert list(judged) == ["step", "drift", "blip"]
    (step,) = judged["step"]["changes"]
    assert abs(step["index"] - STEP_AT) <= 1
    assert (step["kind"], step["label"]) == ("step", f"b{step['index']}")
    assert step["relative_change"] == pytest.approx(0.08, abs=0.01)
    assert step["before"] == pytest.approx(100, abs=1)
    assert step["p_value"] <= step["q_value"] < 0.001
    (drift,) = judged["drift"]["changes"]
    assert (drift["kind"], DRIFT_FROM <= drift["index"] <= DRIFT_TO) == ("drift", True)
    assert judged["blip"]["changes"] == []
    assert {column["rows"] for column in judged.values()} == {ROWS}
    assert "alarms" not in judged["step"]


@pytest.mark.usefixtures("folder")
def test_online_says_for_each_row_whether_there_would_be_an_alarm() -> None:
    step = changes_of("--online", "--column", "step")["step"]
    (alarm,) = step["alarms"]
    assert STEP_AT < alarm["index"] < STEP_AT + 8
    assert abs(alarm["change_index"] - STEP_AT) <= 3
    assert (alarm["label"], alarm["change_label"]) == (f"b{alarm['index']}", f"b{alarm['change_index']}")
    assert alarm["relative_change"] == pytest.approx(0.08, abs=0.02)
    assert [index for index, raised in enumerate(step["alarm"]) if raised] == [alarm["index"]]
    assert len(step["alarm"]) == ROWS


@pytest.fixture
def trifles(folder: Path) -> str:
    """A table of counts without noise in two equal columns: +0.5%, then +3%, then +20%."""
    counts = [f"{value:.0f}" for value in np.repeat([20_000, 20_100, 20_703, 24_843.6], 40)]
    (folder / "calls.csv").write_text(table({"calls": counts, "queries": counts}))
    return "calls.csv"


def test_changes_below_the_minimum_effect_are_not_said(trifles: str) -> None:
    def rows(*arguments: str) -> list[int]:
        calls = changes_of("--column", "calls", "--online", *arguments, file=trifles)["calls"]
        assert len(calls["alarms"]) == len(calls["changes"])
        return [change["index"] for change in calls["changes"]]

    assert rows() == [80, 120]
    assert rows("--minimum-effect", "0%") == [40, 80, 120]
    assert rows("--minimum-effect", "5%") == [120]


def test_the_minimum_effect_is_the_configurations_where_it_has_one(folder: Path, trifles: str) -> None:
    rule = 'benchmarks:\n- match: "queries"\n  minimum-effect: 0.1%\n'
    (folder / "own.yml").write_text(f"minimum-effect: 10%\n{rule}")

    def rows(*arguments: str) -> dict[str, int]:
        judged = changes_of("--config", "own.yml", *arguments, file=trifles)
        return {name: len(column["changes"]) for name, column in judged.items()}

    assert rows() == {"calls": 1, "queries": 3}
    assert rows("--minimum-effect", "2%") == {"calls": 2, "queries": 3}


def test_an_alarm_needs_no_later_row(folder: Path) -> None:
    alarm = changes_of("--online", "--column", "step")["step"]["alarms"][0]
    lines = (folder / "builds.csv").read_text().splitlines(keepends=True)
    (folder / "short.csv").write_text("".join(lines[: alarm["index"] + 2]))
    assert changes_of("--online", "--column", "step", file="short.csv")["step"]["alarms"] == [alarm]


def test_the_text_names_rows_and_what_was_left_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert folder.is_dir()
    assert main(["changes", "builds.csv", "--online"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("1 change of 1% or more in step (200 rows)")
    assert "0 changes of 1% or more in blip (200 rows)\n  a step of " in text
    assert "Seeing only the rows before: 1 alarm" in text
    assert "b120" in text
    assert "columns left out: `build`" in text


def printed(folder: Path, capsys: pytest.CaptureFixture[str], values: Sequence[float], *arguments: str) -> str:
    (folder / "one.csv").write_text("ms\n" + "".join(f"{value!r}\n" for value in values))
    assert main(["changes", "one.csv", *arguments]) == 0
    return capsys.readouterr().out


def test_nothing_found_says_what_would_have_been(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(folder, capsys, [5.0] * 40, "--online")
    assert text == (
        "0 changes of 1% or more in ms (40 rows)\n"
        "  a step of 1.2% that lasts 20 rows would have been found\n\n"
        "Seeing only the rows before: 0 alarms\n"
        "  a step of 1.2% that lasts 9 rows would have raised one\n\n"
        f"  5 ┤{'•' * 40}\n"
    )
    text = printed(folder, capsys, [0.0] * 25, "--online", "--minimum-effect", "0%")
    assert "0 changes in ms (25 rows)\n  a step of any size that lasts 12 rows would" in text
    assert "Seeing only the rows before: cannot tell yet, 6 more rows would do\n" in text
    text = printed(folder, capsys, [float(f"1e{(number * 17) % 60 - 30}") for number in range(60)])
    assert "  cannot tell: no step of any size would stand out; take medians" in text


def test_what_would_have_been_found_is_in_the_json(folder: Path) -> None:
    blip = changes_of("--column", "blip", "--online")["blip"]
    assert blip["minimum_effect"] == 0.01
    assert blip["detectable"]["rows"] == 20
    assert blip["detectable"]["relative_change"] == pytest.approx(0.035, abs=0.01)
    assert blip["detectable"]["size"] == pytest.approx(3.5, abs=1)
    assert (blip["detectable_alarm"]["rows"], blip["lacking_rows"]) == (9, 0)
    assert changes_of("--column", "step")["step"]["detectable"] is None
    assert folder.is_dir()


@pytest.mark.parametrize(
    ("values", "changes"),
    [
        pytest.param(np.full(60, 7.0), 0, id="constant"),
        pytest.param(np.where(np.arange(60) == 30, 700.0, 7.0), 0, id="one outlier"),
        pytest.param(np.repeat([1000.0, 1001.0], 30), 0, id="0.1% without noise"),
        pytest.param(np.repeat([1.0, 1000.0], 30), 1, id="a thousandfold without noise"),
        pytest.param(np.repeat([1.0, 1000.0], 30) * np.exp(np.random.default_rng(1).normal(0, 0.5, 60)), 1, id="noise"),
        pytest.param(np.random.default_rng(2).integers(998, 1003, 60).astype(float), 0, id="whole numbers"),
        pytest.param(np.repeat([0.0, 3.0], 30), 1, id="from zero"),
        pytest.param(np.repeat([-5.0, 5.0], 30), 1, id="from below zero"),
    ],
)
def test_series_of_all_kinds(folder: Path, *, values: Sequence[float], changes: int) -> None:
    (folder / "kind.csv").write_text("ms\n" + "".join(f"{float(value)!r}\n" for value in values))
    judged = changes_of("--online", file="kind.csv")["ms"]
    assert (len(judged["changes"]), len(judged["alarms"])) == (changes, changes)


def test_too_few_rows_for_the_gate_are_no_silence(folder: Path) -> None:
    (folder / "few.csv").write_text("ms\n" + "4.5\n" * 25)
    judged = changes_of("--online", file="few.csv")["ms"]
    assert (judged["alarms"], judged["detectable_alarm"], judged["lacking_rows"]) == ([], None, 6)


@pytest.mark.parametrize("rows", range(1, 11))
def test_ten_rows_and_fewer_say_how_many_more_would_do(
    folder: Path, capsys: pytest.CaptureFixture[str], rows: int
) -> None:
    (folder / "short.csv").write_text("ms\n" + "4.5\n" * rows)
    code, message = failed(capsys, "short.csv")
    assert (code, f"{18 - rows} more would do" in message) == (3, True), message


def test_json_on_standard_output_is_only_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert folder.is_dir()
    main(["changes", "builds.csv", "--json", "-"])
    written = capsys.readouterr()
    assert json.loads(written.out)["columns"]
    assert "1 change of 1% or more in step" in written.err


@pytest.mark.usefixtures("folder")
def test_the_same_again_and_whatever_else_is_judged() -> None:
    assert changes_of("--column", "step")["step"] == changes_of()["step"]


def test_a_constant_factor_changes_nothing(folder: Path) -> None:
    data = columns()
    scaled = {name: [repr(float(text) * 1024) for text in data[name]] for name in ("step", "drift", "blip")}
    (folder / "scaled.csv").write_text(table({"build": data["build"], **scaled}))
    plain, times = changes_of("--online"), changes_of("--online", file="scaled.csv")
    assert list(plain) == list(times)
    for name, column in plain.items():
        assert times[name]["alarm"] == column["alarm"]
        for before, after in zip(column["changes"], times[name]["changes"], strict=True):
            same = ("index", "kind", "p_value", "q_value")
            assert [after[field] for field in same] == [before[field] for field in same]
            assert after["strength"] == pytest.approx(before["strength"])
            assert after["before"] == pytest.approx(1024 * before["before"])


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(lambda text: text.replace(",", ";"), id="semicolons"),
        pytest.param(lambda text: text.replace(",", "\t"), id="tabs"),
        pytest.param(lambda text: text.replace("\n", "\r\n"), id="line ends of Windows"),
        pytest.param(lambda text: "\ufeff" + text, id="byte order mark"),
        pytest.param(lambda text: "\n" + text + "\n\n", id="empty lines around"),
        pytest.param(lambda text: text.replace("b7,", '"b,\n""7""",'), id="quoted"),
    ],
)
def test_ways_to_write_a_table(folder: Path, written: Callable[[str], str]) -> None:
    plain = changes_of()
    (folder / "other.csv").write_text(written(table(columns())), newline="")
    assert changes_of(file="other.csv") == plain


def test_standard_input(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = changes_of()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((folder / "builds.csv").read_bytes())))
    assert changes_of(file="-") == plain


def test_missing_values_keep_their_rows(folder: Path) -> None:
    data = columns()
    for number, text in zip(range(10, 15), ("", "NaN", "nan", "null", "NA"), strict=True):
        data["step"][number] = text
    (folder / "gaps.csv").write_text(table(data))
    step = changes_of("--column", "step", file="gaps.csv")["step"]
    assert step["missing"] == 5
    assert abs(step["changes"][0]["index"] - STEP_AT) <= 1


def test_a_table_of_one_column_has_missing_values_too(folder: Path) -> None:
    values = columns()["step"]
    values[3] = ""
    (folder / "one.csv").write_text("\n".join(["ms", *values]) + "\n")
    assert (changes_of(file="one.csv")["ms"]["rows"], changes_of(file="one.csv")["ms"]["missing"]) == (ROWS, 1)


def test_columns_that_say_which_row_it_is_are_left_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counted = [str(number) for number in range(ROWS)]
    data = {
        **dict.fromkeys(("", "index", "sut_version", "first_timestamp", "commit", "time", "seconds"), counted),
        "cpu time": columns()["step"],
        "note": ["fine"] * ROWS,
    }
    (folder / "many.csv").write_text(table(data))
    assert list(changes_of(file="many.csv")) == ["cpu time"]
    text = capsys.readouterr().out
    assert (
        "columns left out: ``, `index`, `sut_version`, `first_timestamp`, `commit`, `time`, `seconds`, `note`" in text
    )
    assert "sut_version" in text.splitlines()[2]


def test_a_time_in_words_names_the_rows(folder: Path) -> None:
    data = {"time": [f"day {number}" for number in range(ROWS)], "step": columns()["step"]}
    (folder / "dated.csv").write_text(table(data))
    (change,) = changes_of(file="dated.csv")["step"]["changes"]
    assert change["label"] == f"day {change['index']}"


def test_a_time_that_goes_back_is_a_measurement(folder: Path) -> None:
    (folder / "time.csv").write_text(table({"time": columns()["step"]}))
    assert len(changes_of(file="time.csv")["time"]["changes"]) == 1


def test_the_column_that_names_rows_can_be_chosen(folder: Path) -> None:
    data = {**columns(), "day": [f"day {number}" for number in range(ROWS)]}
    (folder / "days.csv").write_text(table(data))
    (change,) = changes_of("--column", "step", "--index", "day", file="days.csv")["step"]["changes"]
    assert change["label"] == f"day {change['index']}"


def test_columns_with_too_few_values_say_so_beside_others(folder: Path) -> None:
    data = columns()
    data["drift"] = ["1.5"] * 10 + [""] * (ROWS - 10)
    (folder / "few.csv").write_text(table(data))
    judged = changes_of(file="few.csv")
    assert judged["drift"]["reason"] == "10 values, 18 are needed; 8 more would do"
    assert judged["step"]["reason"] is None


@pytest.mark.parametrize(
    ("content", "arguments", "code", "text"),
    [
        pytest.param("", [], 3, "bad.csv: is empty", id="empty"),
        pytest.param("a,b\n", [], 3, "has no rows", id="no rows"),
        pytest.param('{"benchmarks": []}', [], 3, "looks like JSON", id="JSON"),
        pytest.param("window.BENCHMARK_DATA = {\n}", [], 3, "`changes --repo .` reads the history", id="data.js"),
        pytest.param("a,b\n1,2\n1,2,3\n", [], 3, "bad.csv:3: has 3 cells, the header has 2", id="cells"),
        pytest.param('a,b\n1,"2\n', [], 3, "is not a table", id="open quote"),
        pytest.param("a,a\n1,2\n", [], 3, "has the column `a` twice", id="same name"),
        pytest.param("1.5,2\n1.4,2\n", [], 3, "begins with numbers", id="no header"),
        pytest.param("a\nx\ny\n", [], 3, "has no column of numbers", id="no numbers"),
        pytest.param("\na,b\n1,2\n1,oops\n1,3\n", [], 3, "bad.csv:4: column `b`: `oops` is not a number", id="text"),
        pytest.param("a;b\n1;1,5\n2;1.5\n3;2.5\n", [], 3, "bad.csv:2: column `b`: `1,5` is not a number", id="comma"),
        pytest.param("a\n1\n1e99\n", [], 3, "too large or too small", id="huge"),
        pytest.param("a\n1\ninf\n2\n", [], 3, "`inf` is not a number", id="infinite"),
        pytest.param(
            "a,b\nx,1\n", ["--column", "a"], 3, "bad.csv:2: column `a`: `x` is not a number", id="chosen text"
        ),
        pytest.param("a,b\n1,2\n", ["--column", "c"], 2, "there is no column `c`\nNext: use `a`, `b`", id="unknown"),
        pytest.param("a,b\n1,2\n", ["--index", "c"], 2, "there is no column `c`", id="unknown index"),
        pytest.param("a\n" + "1\n" * 17, [], 3, "a: 17 values, 18 are needed; 1 more would do", id="few rows"),
        pytest.param("a\n" + "1\n" * 20_001, [], 3, "holds more than 20,000 rows", id="many rows"),
        pytest.param("a" * 140_000 + ",b\n1,2\n", [], 3, "is not a table: field larger", id="long name"),
        pytest.param(",".join(map(hex, range(50_000))) + "\n", [], 3, "has no rows", id="many columns"),
        pytest.param("PK\x03\x04zip", [], 3, "is a zip archive", id="archive"),
    ],
)
def test_what_is_wrong_with_a_table(
    folder: Path, capsys: pytest.CaptureFixture[str], *, content: str, arguments: list[str], code: int, text: str
) -> None:
    (folder / "bad.csv").write_text(content)
    got, message = failed(capsys, "bad.csv", *arguments)
    assert (got, text in message) == (code, True), message


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        pytest.param([], "give either a file or --repo", id="neither"),
        pytest.param(["builds.csv", "--repo", "."], "give either a file or --repo", id="both"),
        pytest.param(["builds.csv", "--benchmark", "x", "--suite", "y"], "--benchmark, --suite belongs", id="foreign"),
        pytest.param(["--repo", ".", "--column", "x"], "--column belongs to a file", id="column of a history"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_options_that_do_not_go_together(capsys: pytest.CaptureFixture[str], arguments: list[str], text: str) -> None:
    code, message = failed(capsys, *arguments)
    assert (code, text in message) == (2, True), message


def test_foreign_names_are_no_commands_for_the_runner(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "evil.csv").write_text(table({"::error::x\x1b[31m": columns()["step"]}))
    assert main(["changes", "evil.csv"]) == 0
    written = capsys.readouterr().out
    assert not any(line.startswith("::") for line in written.splitlines())
    assert "\x1b" not in written


def test_errors_show_foreign_names_inert(
    repository: tuple[Path, list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    code, line = repository
    evil = Benchmark.of(name="a\x1b[2J\u202eb ##[error]c\n::error::d\r::add-mask::e", metric=TIME, samples=(1.0,))
    with open_git_branch(Remote(url=str(code.parent / "origin.git"))) as history:
        history.append(Run(benchmarks=(evil,), commit=line[-1], environment=Environment(components={"cpu": "fast"})))
    status, written = failed(capsys, "--repo", str(code), "--benchmark", "nothing*")
    assert (status, "no stored benchmark matches" in written) == (2, True)
    assert "error::d" in written
    assert all(text.isprintable() for text in written.split("\n"))
    assert not re.search(r"^\s*::|##\[", written, re.MULTILINE)


@pytest.fixture
def repository(folder: Path) -> tuple[Path, list[str]]:
    """Commits on main with one stored run each and a step halfway, and runs of a branch and of another machine."""
    origin = init_repository(folder / "origin.git", bare=True)
    code = init_repository(folder / "code")
    hashes = import_commits(code, {**chain("c", COMMITS), "side": ["c5"]})
    run_git(code, "update-ref", "refs/heads/main", hashes[f"c{COMMITS}"])
    run_git(code, "remote", "add", "origin", str(origin))
    line = [hashes[f"c{number}"] for number in range(1, COMMITS + 1)]
    rng = np.random.default_rng(8)
    with open_git_branch(Remote(url=str(origin))) as history:
        for number, commit in enumerate(line):
            level = 10.0 if number < COMMITS // 2 else 13.0
            # One sample is an outlier, which would change a mean.
            samples = (*(float(value) for value in rng.normal(level, 0.1, 4)), 500.0 * (number % 2 + 1))
            history.append(stored(commit, samples))
        history.append(stored(hashes["side"], (99.0,)))
        other = replace(stored(line[0], (77.0,)), environment=Environment(components={"cpu": "slow"}))
        history.append(other)
    return code, line


def stored(commit: str, samples: tuple[float, ...]) -> Run:
    sort = Benchmark.of(name="sort/large", metric=TIME, samples=samples)
    return Run(
        benchmarks=(sort, replace(sort, name="parse", samples=(4.0,))),
        commit=commit,
        environment=Environment(components={"cpu": "fast"}),
    )


@pytest.mark.slow  # a push to a real repository for each run
def test_the_stored_history(repository: tuple[Path, list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    code, line = repository
    out = ["--json", "out.json"]
    assert main(["changes", "--repo", str(code), "--benchmark", "sort*", "--online", *out]) == 0
    (column,) = json.loads(Path("out.json").read_text())["columns"]
    assert (column["name"], column["unit"], column["rows"]) == ("sort/large", "ms", COMMITS)
    (change,) = column["changes"]
    assert (change["index"], change["label"], change["kind"]) == (COMMITS // 2, line[COMMITS // 2], "step")
    assert change["relative_change"] == pytest.approx(0.3, abs=0.05)
    text = capsys.readouterr().out
    assert line[COMMITS // 2][:12] in text
    assert "not on this line left out: 1" in text
    assert "on other hardware than the newest left out: 1" in text
    assert failed(capsys, "--repo", str(code), "--benchmark", "nothing*")[0] == 2
    run_git(code.parent, "clone", "--quiet", "--depth=1", f"file://{code}", "shallow")
    message = failed(capsys, "--repo", "shallow", "--history", str(code.parent / "origin.git"))
    assert (message[0], "fetch-depth: 0" in message[1]) == (2, True)
    message = failed(capsys, "--repo", str(code), "--suite", "other")
    assert (message[0], "no run of the suite 'other'" in message[1]) == (3, True)


def test_results_of_one_run_are_sent_to_compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "go.txt").write_bytes(golden("go/single.txt"))
    assert main(["changes", str(tmp_path / "go.txt")]) == 3
    assert "perf-culprit compare OLD NEW judges results of single runs" in capsys.readouterr().err
