"""`perf-culprit changes --releases` as a user calls it: result files by version, and the stored runs of tags."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from perf_culprit.cli.entry import main
from perf_culprit.flows.published_schemas import schema_text
from perf_culprit.git.command import Remote
from perf_culprit.model.run import Benchmark, Direction, Metric, Run
from perf_culprit.store.opening import open_git_branch
from tests.support.git_repository import init_repository, run_git

TIME = Metric(name="time", unit="ms", direction=Direction.LOWER_IS_BETTER)
LEVELS = {"v1.0": 10.0, "v1.1": 10.0, "v1.2": 14.0, "v1.3": 10.0}


def numbers(level: float, seed: int) -> list[float]:
    return [round(float(one), 6) for one in np.random.default_rng(seed).normal(level, level / 50, 20)]


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    named = []
    for seed, (name, level) in enumerate(LEVELS.items()):
        Path(f"{name}.txt").write_text("".join(f"{one}\n" for one in numbers(level, seed)))
        named.append(f"{name}={name}.txt")
    return named


def test_a_regression_that_was_undone(results: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["changes", "--releases", *results]) == 0
    text = capsys.readouterr().out.replace("\N{NO-BREAK SPACE}", " ")
    assert "1 benchmark over 4 versions: 1 worse, 1 better" in text
    assert "v1.2" in text
    assert "v1.1" not in text.partition("\n")[2]
    assert "got worse in v1.2 and was back in v1.3" in text


def test_nothing_changed_says_what_a_deviation_is(results: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["changes", "--releases", *results[:2]]) == 0
    text = capsys.readouterr().out.replace("\N{NO-BREAK SPACE}", " ")
    assert text == "1 benchmark over 2 versions: no deviation (of 5% or more, with non-overlapping median intervals)\n"


def test_the_whole_matrix_is_in_the_json(results: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    import jsonschema

    assert main(["changes", "--releases", *results, "--json", "-"]) == 0
    matrix = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator(json.loads(schema_text("releases-v1"))).validate(matrix)
    assert [cell["verdict"] for cell in matrix["rows"][0]["cells"]] == ["no_change", "regression", "improvement"]
    assert matrix["rows"][0]["transient_regressions"] == [{"start": "v1.2", "end": "v1.3"}]


def test_every_version_has_the_intervals_of_its_median_and_mean(
    results: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["changes", "--releases", *results, "--json", "-"]) == 0
    levels = json.loads(capsys.readouterr().out)["rows"][0]["levels"]
    assert [level["version"] for level in levels] == [*LEVELS]
    for seed, level in enumerate(levels):
        samples = np.array(numbers(LEVELS[level["version"]], seed))
        half = stats.t.ppf(0.975, 19) * samples.std(ddof=1) / 20**0.5
        assert level["median"] == pytest.approx(np.median(samples))
        assert level["mean"] == pytest.approx(samples.mean())
        assert level["mean_interval"]["high"] == pytest.approx(samples.mean() + half)
        assert level["interval"]["low"] < level["median"] < level["interval"]["high"]


def test_outliers_move_a_mean_and_no_median(results: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    outliers = [*numbers(10.0, 1)[:15], *(20.0 + place / 100 for place in range(5))]
    Path("v1.1.txt").write_text("".join(f"{one}\n" for one in outliers))
    assert main(["changes", "--releases", *results[:2]]) == 0
    text = capsys.readouterr().out.replace("\N{NO-BREAK SPACE}", " ")
    assert "no deviation" in text
    assert "in v1.1: worse by the means, no change by the medians" in text


def test_the_page_has_curves_with_intervals_and_marks_of_the_gap_s_size(results: list[str]) -> None:
    Path("v1.3.txt").write_text("".join(f"{one}\n" for one in numbers(0.7, 3)))
    assert main(["changes", "--releases", *results, "--html", "out.html"]) == 0
    page = Path("out.html").read_text()
    marks = re.findall(r'<td class="(matrix-\w+) matrix-gap-(\d)">', page)
    # +40% leaves a gap of about a third, and 14 to 0.7 a gap of almost the whole.
    assert marks == [("matrix-worse", "2"), ("matrix-better", "3")]
    assert page.count('stroke-opacity="0.45"') == 2 * len(LEVELS)
    assert all(f">{name}</text>" in page for name in LEVELS)


def test_traces_are_answered_by_the_median_of_each_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for version, paint_us in {"56.0.2909.0": 250, "56.0.2910.0": 70}.items():
        for number in range(5):
            event = {"ph": "X", "pid": 1, "tid": 1}
            inner = {"name": "Paint", "ts": 5, "dur": paint_us + number, **event}
            outer = {"name": "Main", "ts": 0, "dur": 900 + paint_us + 2 * number, **event}
            Path(f"{version}-{number}.json").write_text(json.dumps({"traceEvents": [outer, inner]}))
    versions = [f"{name}={name}-*.json" for name in ("56.0.2909.0", "56.0.2910.0")]
    assert main(["changes", "--releases", *versions, "--json", "-"]) == 0
    rows = {row["key"]["benchmark"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    assert rows["Paint"]["key"]["metric"] == "own time"
    assert [level["median"] for level in rows["Paint"]["levels"]] == pytest.approx([0.252, 0.072])
    assert {name: row["cells"][0]["verdict"] for name, row in rows.items()} == {
        "Main": "no_change",
        "Paint": "improvement",
    }


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["v1.0.txt"], "not NAME=FILE"),
        (["v1.0=v1.0.txt"], "nothing to be compared with"),
        (["v1.0=v1.0.txt", "--repo", "."], "--releases takes NAME=FILE"),
        ([], "--releases takes NAME=FILE"),
    ],
)
@pytest.mark.usefixtures("results")
def test_what_cannot_be_compared(capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    assert main(["changes", "--releases", *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert "v1.0=old.json v1.1=new.json" in error


def test_too_few_samples_everywhere_are_no_usable_data(results: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("v1.0.txt").write_text("10\n10\n10\n10\n")
    assert main(["changes", "--releases", *results[:2]]) == 3
    assert "no benchmark has 5 samples in each of two of the 2 versions" in capsys.readouterr().err


@pytest.mark.slow  # a push to a real repository for each run
def test_the_tags_of_a_repository(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    origin, code = init_repository(tmp_path / "origin.git", bare=True), init_repository(tmp_path / "code")
    run_git(code, "remote", "add", "origin", str(origin))
    with open_git_branch(Remote(url=str(origin))) as history:
        for seed, (name, level) in enumerate(LEVELS.items()):
            if name == "v1.2":
                run_git(code, "checkout", "--quiet", "-b", "stable")
            run_git(code, "commit", "--quiet", "--allow-empty", "-m", name)
            run_git(code, "tag", *(["-a", "-m", name] if seed % 2 else []), name)
            commit = run_git(code, "rev-parse", "HEAD").strip()
            if name != "v1.1":
                benchmark = Benchmark.of(name="a", metric=TIME, samples=tuple(numbers(level, seed)))
                history.append(Run(benchmarks=(benchmark,), commit=commit))
            if name == "v1.2":
                run_git(code, "checkout", "--quiet", "main")
                run_git(code, "merge", "--quiet", "--no-ff", "-m", "merge", "stable")
    assert main(["changes", "--releases", "--repo", str(code)]) == 0
    text = capsys.readouterr().out
    assert "1 benchmark over 3 versions: 1 worse, 1 better" in text
    assert "v1.1" not in text
    run_git(code, "tag", "-d", "v1.2", "v1.3")
    assert main(["changes", "--releases", "--repo", str(code)]) == 3
    assert "holds runs of 1 of HEAD's 2 tagged commits" in capsys.readouterr().err
