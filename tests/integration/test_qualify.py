"""`perf-culprit qualify`: what a pull request would cost here, and which slowdown it would show."""

from pathlib import Path

import pytest

from perf_culprit.cli.entry import main
from tests.support.measured_repository import COUNTER, RUN, Commit, measured_repository

# Two benchmarks by a counter: one of 1% noise, one of about 40%.
NOISY = (
    f"{RUN.replace('; echo $((v *', '; a=$((v *').replace('- 10)))', '- 10)))')}; "
    'b=$((1000 + n * 7919 % 1000)); printf \'[{"name": "quiet", "unit": "ms", "value": %s}, '
    '{"name": "loud", "unit": "ms", "value": %s}]\' "$a" "$b" > "$PERF_CULPRIT_OUTPUT"'
)


def qualify(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: str, *more: str) -> int:
    monkeypatch.setenv(COUNTER, str(tmp_path / "counter"))
    measured_repository(tmp_path / "repository", {"c0": Commit()})
    options = ["--repo", str(tmp_path / "repository"), "--run", run, "--environment", COUNTER]
    return main(["qualify", *options, *more])


def test_a_quiet_suite_sees_a_small_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert qualify(tmp_path, monkeypatch, RUN) == 0
    output = capsys.readouterr().out
    assert "One execution takes 1 second." in output
    assert "Unchanged against unchanged: 0 of 20 warned. With +10%: 20 of 20 found." in output
    assert "cannot see" not in output


def test_a_loud_suite_says_what_it_cannot_see(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert qualify(tmp_path, monkeypatch, NOISY) == 0
    output = capsys.readouterr().out
    assert "those of loud by" in output
    rows = [line.split() for line in output.splitlines() if " rounds " in line and "+" in line]
    assert [row[1] for row in rows] == ["4", "7"]
    typical, noisiest = ([int(row[place][1:-1]) for row in rows] for place in (-2, -1))
    assert max(typical) <= 10
    assert min(noisiest) >= 20


def test_too_few_minutes_promise_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert qualify(tmp_path, monkeypatch, RUN, "--minutes", "0.001") == 0
    output = capsys.readouterr().out
    assert ". The first verdict comes after 4, in " in output
    assert "This machine cannot see +10% in 0.001 minutes. What would:" in output
    assert "suspects" not in output
