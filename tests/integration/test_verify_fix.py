"""`perf-culprit verify`: how much of a culprit's change a fix undoes, on real commits with a known level."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from perf_culprit.cli.entry import main
from perf_culprit.flows.verify_fix import Fix, fix_of
from perf_culprit.model.finding import Verdict
from tests.support.measured_repository import COUNTER, RUN, Commit, measured_repository, temporary_folders


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with temporary_folders(tmp_path, monkeypatch) as folder:
        yield folder


def verify(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, culprit: int, fix: int) -> int:
    levels = {"before": 1000, "culprit": culprit, "fix": fix}
    folder = tmp_path / "repository"
    commits = measured_repository(folder, {name: Commit(level=level) for name, level in levels.items()})
    monkeypatch.setenv(COUNTER, str(tmp_path / "counter"))
    where = ["--repo", str(folder), "--output", str(tmp_path / "out")]
    return main(["verify", "--culprit", commits["culprit"], "--fix", commits["fix"], "--run", RUN, *where])


@pytest.mark.parametrize(
    ("fix", "code", "told"), [(1000, 0, "Fixed: 1 metric"), (1200, 1, "Partly fixed: 1"), (1500, 1, "Not fixed: 1")]
)
def test_a_fix_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    fix: int,
    code: int,
    told: str,
) -> None:
    assert verify(tmp_path, monkeypatch, culprit=1500, fix=fix) == code
    out = capsys.readouterr().out
    assert told in out, out
    assert "+50" in out


def test_a_culprit_that_is_none_has_no_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verify(tmp_path, monkeypatch, culprit=1000, fix=1000) == 3
    err = capsys.readouterr().err
    assert "the culprit made nothing worse here" in err
    assert "Next: " in err


@pytest.mark.parametrize(
    ("left", "gained", "answer"),
    [
        (Verdict.UNCHANGED, Verdict.IMPROVEMENT, Fix.FIXED),
        (Verdict.IMPROVEMENT, Verdict.IMPROVEMENT, Fix.FIXED),
        (Verdict.REGRESSION, Verdict.IMPROVEMENT, Fix.PARTLY),
        (Verdict.REGRESSION, Verdict.NOT_SEEN, Fix.NOT),
        (Verdict.SUSPECTED, Verdict.IMPROVEMENT, Fix.UNDECIDED),
        (Verdict.NOT_SEEN, Verdict.IMPROVEMENT, Fix.UNDECIDED),
    ],
)
def test_only_what_is_excluded_is_fixed(left: Verdict, gained: Verdict, answer: Fix) -> None:
    assert fix_of(left, gained) is answer
