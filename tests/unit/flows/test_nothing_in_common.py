"""Two sides without a common metric do not pass: exit code 3, and the names that may mean the same benchmark."""

import json
from pathlib import Path

import pytest

from perf_culprit.cli.entry import main
from perf_culprit.errors import DataError
from perf_culprit.flows.render import report_json
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.report import Conclusion
from tests.support import reports


def run(folder: Path, side: str, *names: str) -> str:
    entries = [{"name": name, "unit": "ms", "samples": [1, 2, 3, 1, 2, 3]} for name in names]
    file = folder / f"{side}.json"
    file.write_text(json.dumps({"format": "perf-culprit-run", "version": 1, "benchmarks": entries}))
    return str(file)


@pytest.mark.parametrize(
    ("before", "now", "alike"),
    [
        (("test_parse[small]",), ("bench.py::test_parse[small]",), "test_parse[small] → bench.py::"),
        (("sort", "parse"), ("Sort", "render"), "sort → Sort"),
        (("alpha",), ("something else entirely",), None),
        (("BenchmarkGet",), ("BenchmarkSomeValid",), None),
    ],
)
def test_nothing_in_common_is_no_data_and_names_what_looks_alike(
    before: tuple[str, ...],
    now: tuple[str, ...],
    alike: str | None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = tmp_path / "report.json"
    sides = ["--baseline", run(tmp_path, "base", *before), "--target", run(tmp_path, "head", *now)]
    assert main(["compare", *sides, "--json", str(report)]) == 3
    text = capsys.readouterr().out
    assert "nothing could be compared" in text
    assert (alike is None) is ("look alike" not in text)
    assert alike is None or alike in text
    assert json.loads(report.read_text())["conclusion"] == "inconclusive"


def test_one_metric_in_common_is_enough(tmp_path: Path) -> None:
    sides = ["--baseline", run(tmp_path, "base", "a", "b"), "--target", run(tmp_path, "head", "b", "c")]
    assert main(["compare", *sides]) == 0


def test_what_could_not_be_read_again_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(FILE_LIMITS), "report_bytes", 100)
    with pytest.raises(DataError, match="larger than 100 bytes"):
        report_json(reports.report(Conclusion.NO_CHANGE))
