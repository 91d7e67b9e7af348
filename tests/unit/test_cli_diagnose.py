"""The command `diagnose` as a user calls it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from perf_culprit.cli.entry import main
from tests.support.execution_logs import call, log

ROWS = [("1", "Shop.order", 100.0), ("1.1", "OrderDao.find", 80.0)]


@pytest.fixture
def server_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "server.log"
    path.write_bytes(log(execution for i in range(20) for execution in call(f"c{i}", ROWS, second=i)) + b"broken\n")
    return path


def test_suspects_and_services_to_test_again(server_log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", "--log", server_log.name, "--pattern", "labelled", "--json", "out.json"]) == 0
    text = capsys.readouterr().out
    assert "20 calls of 1 service, 2 methods, 41 lines" in text
    assert "line 41: broken" in text
    document = json.loads((server_log.parent / "out.json").read_bytes())
    assert [suspect["method"] for suspect in document["suspects"]] == ["OrderDao.find", "Shop.order"]
    assert document["suspects"][0]["score"] == pytest.approx(0.8)
    assert document["suspects"][1]["services"] == [
        {"service": "shop", "self_share": 0.2, "children_share": 0.8, "self_ms_per_call": 20.0}
    ]
    assert document["services"][0]["windows"][0]["calls"] == 20


def test_json_on_standard_output_is_only_json(server_log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", "--log", str(server_log), "--pattern", "labelled", "--json", "-"]) == 0
    written = capsys.readouterr()
    assert json.loads(written.out)["log"]["unused"] == {"no_match": 1}
    assert "Suspects" in written.err


def test_options_reach_the_ranking(server_log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["diagnose", "--log", str(server_log), "--pattern", "labelled", "--json", "-"]
    assert main([*arguments, "--minimum-self-time", "50", "--lambda", "0.5", "--window", "5"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["minimum_self_ms"], document["fluctuation_weight"]) == (50, 0.5)
    assert [suspect["tiny"] for suspect in document["suspects"]] == [False, True]
    assert [window["calls"] for window in document["services"][0]["windows"]] == [5, 5, 5, 5]


def test_a_page_and_the_series_of_a_method(server_log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["diagnose", "--log", str(server_log), "--pattern", "labelled", "--window", "5"]
    assert main([*arguments, "--method", "OrderDao.find", "--html", "out.html", "--json", "-"]) == 0
    written = capsys.readouterr()
    method = json.loads(written.out)["method"]
    assert (method["service"], method["calls"], method["mean_ms"]) == ("OrderDao.find", 20, 80)
    assert [(window["calls"], window["mean_ms"]) for window in method["windows"]] == [(5, 80)] * 4
    assert "OrderDao.find: mean time in windows of 5 s" in written.err
    assert "OrderDao.find: calls per second</title>" in (server_log.parent / "out.html").read_text()


def test_a_method_that_never_ran(server_log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["diagnose", "--log", str(server_log), "--pattern", "labelled"]
    assert main([*arguments, "--method", "OrderDao.fin"]) == 2
    assert "did you mean OrderDao.find?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("pattern", "code", "message"),
    [
        ("json", 3, "use --pattern labelled"),
        ("none.txt", 2, "give one of labelled, spring, json"),
        ("lacking.txt", 2, "lacks the named groups call, label, method, elapsed_ms"),
    ],
)
def test_exit_codes(
    server_log: Path, capsys: pytest.CaptureFixture[str], pattern: str, code: int, message: str
) -> None:
    (server_log.parent / "lacking.txt").write_text("(?P<service>.)")
    assert main(["diagnose", "--log", str(server_log), "--pattern", pattern]) == code
    assert message in capsys.readouterr().err


def test_no_log(server_log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert server_log.exists()
    assert main(["diagnose", "--log", "none.log", "--pattern", "labelled"]) == 3
    assert "No such file" in capsys.readouterr().err


@pytest.mark.parametrize("value", ["-1", "nan", "inf", "x"])
def test_weights_are_numbers_from_0_up(server_log: Path, value: str) -> None:
    assert main(["diagnose", "--log", str(server_log), "--pattern", "labelled", f"--lambda={value}"]) == 2


def test_a_log_from_a_pipe(server_log: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "perf_culprit", "diagnose", "--log", "-", "--pattern", "labelled"],
        input=server_log.read_bytes(),
        capture_output=True,
        check=True,
    )
    assert b"OrderDao.find" in done.stdout
