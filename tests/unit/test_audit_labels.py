"""`audit --sweep --labels`: the user's own good and bad runs, from files to the table and the picture."""

from pathlib import Path

import numpy as np
import pytest

from perf_culprit.cli.entry import main
from perf_culprit.errors import DataError
from perf_culprit.flows.look_back import read_labels

PLACES = ("runs/good-1.csv", "runs/good-2.csv", "runs/good-3.csv", "runs/bad-1.csv")


def labelled(tmp_path: Path, text: str) -> dict[str, bool]:
    file = tmp_path / "labels.txt"
    file.write_text(text)
    return read_labels(file, PLACES)


def test_a_pattern_labels_files_by_path_or_name(tmp_path: Path) -> None:
    assert labelled(tmp_path, "good good-*.csv\n\nbad runs/bad-1.csv\n") == {
        "runs/good-1.csv": False,
        "runs/good-2.csv": False,
        "runs/good-3.csv": False,
        "runs/bad-1.csv": True,
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("good good-*\nslow bad-1.csv", "neither good nor bad"),
        ("good good-*\nbad other.csv", "none of the files fits"),
        ("good *", "fewer than 3 good runs, or no bad one"),
        ("good good-1.csv\nbad bad-1.csv", "fewer than 3 good runs, or no bad one"),
    ],
)
def test_what_labels_nothing_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        labelled(tmp_path, text)


def test_the_command_shows_a_table_and_draws_f_by_threshold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    for name in ("good-1", "good-2", "good-3", "good-4", "bad-1", "bad-2"):
        factor = 1.4 if name.startswith("bad") else 1.0
        values = rng.normal((50 * factor, 80), (2, 3), (60, 2))
        rows = [f"{60 * row},{cpu:.3f},{disk:.3f}" for row, (cpu, disk) in enumerate(values)]
        Path(f"{name}.csv").write_text("\n".join(["time,cpu,disk", *rows]) + "\n")
    Path("labels").write_text("good good-*\nbad bad-*\n")
    files = sorted(str(path) for path in Path().glob("*-*.csv"))
    assert main(["audit", "--files", *files, "--sweep", "--labels", "labels", "--svg", "f.svg"]) == 0
    shown = capsys.readouterr().out
    assert "Your good and bad runs, by threshold" in shown
    assert any(line.split()[1:6] == ["control_chart", "0.3", "100%", "100%", "100%"] for line in shown.splitlines())
    assert "F, rule_ensemble" in Path("f.svg").read_text()


def test_labels_without_a_sweep_are_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--files", "a.csv", "--labels", "labels"]) == 2
    assert "--labels needs --sweep and --files" in capsys.readouterr().err
