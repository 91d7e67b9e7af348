"""The command `audit` as a user calls it."""

import json
from pathlib import Path

import pytest
from defusedxml import ElementTree

from perf_culprit.cli.entry import main
from perf_culprit.model.run_file import encode_run
from tests.support.audits import make_audits_small
from tests.support.measurements import measured, measured_json

LEVELS = {"parse": 0.004, "render": 0.02}


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    make_audits_small(monkeypatch)
    for number in range(6):
        (tmp_path / f"run-{number}.json").write_bytes(measured_json(LEVELS, seed=number))
    return tmp_path


def test_audit_of_files(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--files", "run-*.json", "--json", "audit.json", "--svg", "audit.svg"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Audit of suite default: 6 runs, 2 metrics, 20 samples per run\n")
    assert "Recommendation: detector " in out
    data = json.loads((results / "audit.json").read_text())
    assert {entry["detector"] for entry in data["detectors"]} >= {"anova", "median_interval"}
    assert ElementTree.fromstring((results / "audit.svg").read_text()).tag.endswith("svg")


@pytest.mark.usefixtures("results")
def test_json_to_standard_output_is_nothing_but_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--files", "run-0.json", "--json", "-"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["kind"] == "split_runs"
    assert captured.err.startswith("Audit of suite")


@pytest.mark.usefixtures("results")
def test_the_seed_decides_the_random_trials(capsys: pytest.CaptureFixture[str]) -> None:
    shown = []
    for seed in ("1", "1", "2"):
        assert main(["audit", "--files", "run-0.json", "--seed", seed]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]
    assert shown[0] != shown[2]


@pytest.mark.usefixtures("results")
@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["--files", "missing.json"], 3, "missing.json"),
        (["--files", "few.json"], 3, "too little to audit"),
        ([], 4, "git"),
    ],
)
def test_bad_input_has_its_exit_code(
    arguments: list[str], code: int, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("few.json").write_bytes(encode_run(measured(LEVELS, seed=1, count=6)))
    assert main(["audit", *arguments]) == code
    assert text in capsys.readouterr().err
