"""`perf-culprit changes --releases` as a user calls it: result files by version, and the stored runs of tags."""

import json
from pathlib import Path

import numpy as np
import pytest

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
