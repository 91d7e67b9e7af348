"""Whole comments, one of each conclusion, as they are posted.

To accept an intended change of words, run UPDATE_GOLDEN=1 pytest tests/unit/say/test_golden.py and read the diff.
"""

import os
from pathlib import Path

import pytest

from perf_culprit.model.report import Conclusion
from perf_culprit.say.comment import render_markdown, render_summary
from perf_culprit.say.comparison import PageOptions, render_text
from tests.support.reports import every_conclusion

FOLDER = Path(__file__).parents[2] / "golden" / "report"
REPORTS = every_conclusion()
OPTIONS = PageOptions(
    marker="<!-- perf-culprit:v1:default -->",
    run_url="https://github.example/octo/parser/actions/runs/42",
    report_url="https://github.example/octo/parser/actions/runs/42#artifacts",
    repository_url="https://github.example/octo/parser",
    pull_request=7,
    date="2026-03-02",
)


def check(name: str, text: str) -> None:
    path = FOLDER / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_every_conclusion_has_a_golden_comment() -> None:
    assert {report.conclusion for report in REPORTS.values()} == set(Conclusion)


@pytest.mark.parametrize("name", REPORTS)
def test_comment(name: str) -> None:
    check(f"{name}.md", render_markdown(REPORTS[name], options=OPTIONS))


@pytest.mark.parametrize("name", REPORTS)
def test_terminal(name: str) -> None:
    check(f"{name}.txt", render_text(REPORTS[name], colour=False, width=120))


def test_no_golden_file_is_left_over() -> None:
    expected = {f"{name}{ending}" for name in REPORTS for ending in (".md", ".txt")}
    assert {path.name for path in FOLDER.iterdir()} == expected


def test_summary_of_a_small_report_is_the_comment() -> None:
    report = REPORTS["regression-fails"]
    assert render_summary(report, options=OPTIONS) == render_markdown(report, options=OPTIONS)
