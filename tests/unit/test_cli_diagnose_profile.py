"""diagnose --profile as a user calls it."""

import json
from pathlib import Path

import pytest

from perf_culprit.cli.entry import main

FOLDER = Path(__file__).parents[1] / "golden" / "profiles"


def test_profiles_are_ranked_as_logs_are(capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(FOLDER / "shop.pstats")] * 2
    assert main(["diagnose", "--profile", *files, "--trusted-profile", "--json", "-"]) == 0
    written = capsys.readouterr()
    document = json.loads(written.out)
    assert document["suspects"][0]["method"] == "dao.py:<listcomp>"
    assert document["services"][0]["calls"] == 2
    assert document["services"][0]["mean_ms"] == pytest.approx(15.540057)
    assert "- the profile is a call graph" in written.err


@pytest.mark.parametrize(
    ("name", "method", "unit"), [("pyspy.txt", "dao.py:load.", "samples"), ("sums.callgrind", "load", "instructions")]
)
def test_counts_are_ranked_by_their_shares(
    capsys: pytest.CaptureFixture[str], name: str, method: str, unit: str
) -> None:
    assert main(["diagnose", "--profile", str(FOLDER / name), "--json", "-"]) == 0
    written = capsys.readouterr()
    document = json.loads(written.out)
    assert (document["suspects"][0]["method"].split("<")[0], document["unit"]) == (method, unit)
    assert f" {unit}" in written.err
    assert " ms" not in written.err.split("Services")[0]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "needs --log with --pattern, or --profile"),
        (["--profile", "shop.pstats"], 2, "--trusted-profile"),
        (["--profile", "shop.pstats", "--log", "x"], 2, "give one of the two"),
        (["--profile", "none.json"], 3, "cannot be read"),
        (["--profile", "pyspy.txt", "--format", "x"], 2, "is not a known format of profiles"),
        (["--profile", "sums.callgrind", "perf.script"], 3, "which cannot be ranked together"),
    ],
)
def test_what_is_wrong_is_said(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(FOLDER)
    assert main(["diagnose", *arguments]) == code
    assert message in capsys.readouterr().err
