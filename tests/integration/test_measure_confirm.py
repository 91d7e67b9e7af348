"""`measure --confirm`: the second measurement, of what was flagged only, and what `compare` makes of it."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from perf_culprit.cli.entry import main
from perf_culprit.say.certainty_words import NOT_PROVEN
from tests.support.measured_repository import COUNTER, RUN, line, measured_repository

# It records the requested benchmarks, and measures one more.
ASKED = 'echo "$PERF_CULPRIT_BENCHMARKS" >> "$ASKED_FILE"; '


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(COUNTER, str(tmp_path / "counter"))
    monkeypatch.setenv("ASKED_FILE", str(tmp_path / "asked"))
    measured_repository(tmp_path / "repository", line(4, step_at=3))
    return tmp_path / "repository"


def measure(repository: Path, *commits: str, run: str = RUN, more: Sequence[str] = ()) -> int:
    out = str(repository.parent / "out")
    options = ["--run", ASKED + run, "--rounds", "4", "--warmup", "0", "--output", out, "--confirm", *more]
    return main(["measure", "--repo", str(repository), "--commits", *commits, *options])


def compare(repository: Path) -> int:
    out = repository.parent / "out"
    sides = ["--baseline", str(out / "baseline.json"), "--target", str(out / "target.json")]
    second = ["--confirm-baseline", str(out / "confirm-baseline.json"), "--confirm", str(out / "confirm-target.json")]
    return main(["compare", "--paired", *sides, *second, "--json", str(repository.parent / "report.json")])


def test_a_true_regression_is_measured_again_and_confirmed(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert measure(repository, "HEAD~1", "HEAD") == 0
    output = capsys.readouterr().out
    assert "looked like a regression: 1 benchmark, measured again\n" in output
    assert "--confirm-baseline" in output
    asked = (repository.parent / "asked").read_text().splitlines()
    assert asked == [""] * 16 + ["result"] * 16
    assert compare(repository) == 1
    report = json.loads((repository.parent / "report.json").read_text())
    assert report["findings"][0]["notes"][-1]["text"].startswith("confirmed by a second measurement: +")


def test_a_failing_command_that_leaves_results_is_measured_again(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert measure(repository, "HEAD~1", "HEAD", run=f'{RUN}; [ "$(cat number)" != c3 ]') == 0
    output = capsys.readouterr().out
    assert "Not tested: the target's command ended with exit code 1" in output
    assert "looked like a regression: 1 benchmark, measured again\n" in output


def test_a_blip_is_withdrawn(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The head is slow only in the first measurement."""
    blip = f'if [ -n "$PERF_CULPRIT_BENCHMARKS" ]; then echo 1000 > value; fi; {RUN}'
    assert measure(repository, "HEAD~1", "HEAD", run=blip) == 0
    capsys.readouterr()
    assert compare(repository) == 0
    assert "0 proven, 1 refuted" in capsys.readouterr().out


def test_an_interrupt_of_the_second_measurement_keeps_the_first_and_another_call_adds_the_rest(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    ended = repository.parent / "ended"
    end = f'if [ "$(cat "${COUNTER}")" = 21 ] && [ ! -e "{ended}" ]; then touch "{ended}"; kill -INT $PPID; sleep 9; fi'
    run = f"{end}; {RUN}"
    assert measure(repository, "HEAD~1", "HEAD", run=run) == 130
    output = capsys.readouterr().out
    assert "got worse" in output
    assert "interrupted: measured 4 of 4 rounds" in output
    assert "looked like a regression: 1 benchmark, not yet measured again\n" in output
    assert "--confirm" not in output, "one round of four confirms nothing"
    target = repository.parent / "out" / "target.json"
    first = json.loads(target.read_bytes())["benchmarks"]

    assert measure(repository, "HEAD~1", "HEAD", run=run, more=["--resume"]) == 0
    shown = capsys.readouterr()
    assert "1 benchmark, round 2 of 4" in shown.err
    assert "round 1" not in shown.err
    assert "looked like a regression: 1 benchmark, measured again\n" in shown.out
    assert json.loads(target.read_bytes())["benchmarks"] == first
    again = json.loads((repository.parent / "out" / "confirm-target.json").read_text())
    assert again["benchmarks"][0]["rounds"] == [1, 1, 2, 2, 3, 3, 4, 4]
    assert compare(repository) == 1


def test_the_verdict_is_that_of_both_measurements(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blip = f'if [ -n "$PERF_CULPRIT_BENCHMARKS" ]; then echo 1000 > value; fi; {RUN}'
    assert measure(repository, "HEAD~1", "HEAD", run=blip) == 0
    assert "0 proven, 1 refuted" in capsys.readouterr().out


def test_nothing_flagged_is_not_measured_again(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert measure(repository, "HEAD~2", "HEAD~1") == 0
    assert "--confirm" not in capsys.readouterr().out
    assert not (repository.parent / "out" / "confirm-target.json").exists()


def test_more_than_two_commits_are_refused(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert measure(repository, "HEAD~2", "HEAD~1", "HEAD") == 2
    assert "exactly two commits" in capsys.readouterr().err


# Three benchmarks, of which the commits change the first.
SUITE = (
    f'm=$({RUN}); echo "[{{\\"name\\": \\"parse\\", \\"unit\\": \\"s\\", \\"value\\": $m}}"; '
    "for n in render load; do m=$((1000000 + m % 7919)); "
    'echo ",{\\"name\\": \\"$n\\", \\"unit\\": \\"s\\", \\"value\\": $m}"; done; echo "]"'
)


def screened(folder: Path, parse: float) -> list[str]:
    """Return the options of a comparison with six stored files; the head's `parse` is slower by this factor."""
    files = []
    for number, factor in enumerate((*[1.0] * 6, parse)):
        levels = {"parse": 1e6 * factor, "render": 1e6, "load": 1e6}
        values = [
            {"name": name, "unit": "s", "value": level * (1 + (number * 37 + place * 11) % 21 / 2000)}
            for place, (name, level) in enumerate(levels.items())
        ]
        files.append(folder / f"stored-{number}.json")
        files[-1].write_text(json.dumps(values))
    *baseline, target = map(str, files)
    return ["compare", "--baseline", *baseline, "--target", target, "--json", str(folder / "report.json")]


@pytest.mark.parametrize(
    ("commits", "counts", "verdict"),
    [
        (("HEAD~1", "HEAD"), "1 proven, 0 refuted", "regression"),
        (("HEAD~2", "HEAD~1"), "0 proven, 1 refuted", "unchanged"),
    ],
)
def test_rounds_of_what_stored_runs_suspect_prove_or_refute_it(
    repository: Path,
    capsys: pytest.CaptureFixture[str],
    commits: tuple[str, str],
    counts: str,
    verdict: str,
) -> None:
    folder = repository.parent
    asked = screened(folder, 1.6)
    assert main(asked) == 0
    assert f"looks slower, {NOT_PROVEN}" in capsys.readouterr().out
    again = ["--run", ASKED + SUITE, "--tool", "custom_smaller_is_better", "--rounds", "6", "--warmup", "0"]
    flagged = ["--flagged", str(folder / "report.json"), "--output", str(folder / "again")]
    assert main(["measure", "--repo", str(repository), "--commits", *commits, *again, *flagged]) == 0
    assert set((folder / "asked").read_text().splitlines()) == {"parse"}
    capsys.readouterr()
    sides = [str(folder / "again" / f"{side}.json") for side in ("baseline", "target")]
    assert main([*asked, "--confirm-baseline", sides[0], "--confirm", sides[1]]) == (verdict == "regression")
    assert counts in capsys.readouterr().out
    findings = json.loads((folder / "report.json").read_text())["findings"]
    assert [one["verdict"] for one in findings if one["benchmark"] == "parse"] == [verdict]


def test_no_budget_measures_nothing_and_one_that_is_given_counts(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = repository.parent
    assert main(screened(folder, 1.6)) == 0
    (folder / "config.yml").write_text("confirm: {budget: 0}")
    asked = ["measure", "--repo", str(repository), "--commits", "HEAD~1", "HEAD", "--rounds", "2", "--warmup", "0"]
    asked += ["--run", SUITE, "--tool", "custom_smaller_is_better", "--output", str(folder / "again")]
    asked += ["--flagged", str(folder / "report.json"), "--config", str(folder / "config.yml")]
    assert main(asked) == 0
    assert "report.json: confirm.budget is 0, so nothing is measured" in capsys.readouterr().out
    assert not (folder / "again").exists()
    assert main([*asked, "--minutes", "5"]) == 0
    assert "measured 2 of 2 rounds" in capsys.readouterr().out
    assert main([*asked, "--minutes", "0.00001"]) == 0
    assert "time limit reached: measured 1 of 2 rounds" in capsys.readouterr().out


def test_nothing_suspected_measures_nothing(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = repository.parent
    assert main(screened(folder, 1.0)) == 0
    flagged = ["--flagged", str(folder / "report.json")]
    assert measure(repository, "HEAD~1", "HEAD", more=flagged) == 0
    assert "report.json: nothing is suspected, so nothing is measured" in capsys.readouterr().out
    assert not (folder / "asked").exists()
