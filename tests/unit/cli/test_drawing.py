"""Drawing never changes a verdict: a page that fails is a note, and the exit code is that of the numbers."""

import json
from pathlib import Path
from typing import Never

import pytest

from perf_culprit.cli.entry import main
from perf_culprit.errors import EXIT_REGRESSION
from perf_culprit.model.report import encode_tree_comparison
from tests.support.diagnosed_reports import diagnosis, with_suspects
from tests.support.measurements import measured_json

LEVELS = {"parse": 0.004, "render": 0.02}
FILES = ("--paired", "--baseline", "base*.json", "--target", "slow*.json")
PAGES = ("--json", "report.json", "--markdown", "report.md", "--html", "report.html")


@pytest.fixture(autouse=True)
def _results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for seed in range(16):  # eight rounds
        Path(f"base-{seed}.json").write_bytes(measured_json(LEVELS, seed=seed))
        Path(f"slow-{seed}.json").write_bytes(measured_json({**LEVELS, "parse": 0.0096}, seed=51 + seed))


def test_wanted_a_regression_hidden_by_a_diagnosis_of_many_suspects_got_it_called() -> None:
    Path("trees.json").write_bytes(encode_tree_comparison(with_suspects(diagnosis(), 13)))
    assert main(["compare", *FILES, "--diagnosis", "trees.json", *PAGES]) == EXIT_REGRESSION
    assert "<p>and 1 more</p>" in Path("report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "page", ["flows.render.render_html", "flows.render.render_markdown", "say.comparison.render_text"]
)
def test_a_page_that_cannot_be_drawn_is_a_note(
    page: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> Never:
        raise RecursionError("<script>alert(1)</script>")

    monkeypatch.setattr(f"perf_culprit.{page}", fail)
    assert main(["compare", *FILES, *PAGES]) == EXIT_REGRESSION
    assert json.loads(Path("report.json").read_text(encoding="utf-8"))["conclusion"] == "regression"
    printed = capsys.readouterr()
    texts = [printed.out, printed.err, *(Path(f"report.{kind}").read_text(encoding="utf-8") for kind in ("md", "html"))]
    notes = [text for text in texts if "Regression. The rest could not be drawn: RecursionError." in text]
    assert len(notes) == (1 if "render_text" in page else 2)
    assert not any("alert" in text for text in texts)
