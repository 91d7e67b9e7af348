from dataclasses import replace

from bot.model.finding import Verdict
from bot.model.metric import MetricKey
from bot.model.reason import remark
from bot.model.report import Conclusion
from bot.report.text import LISTED_NAMES, render_text
from tests.support.reports import SLOWER, UNCHANGED, every_conclusion, finding, report, withdrawn

REPORT = every_conclusion()["regression-fails"]


def test_verdict_comes_first() -> None:
    assert render_text(REPORT, colour=False, width=120).splitlines()[0] == "2 of 10 benchmarks got slower, 1 faster"


def test_colour_only_where_asked() -> None:
    assert "\x1b" not in render_text(REPORT, colour=False, width=120)
    assert render_text(REPORT, colour=True, width=120).startswith("\x1b[1m\x1b[31m2 of 10 benchmarks got slower")


def test_names_are_cut_to_the_width() -> None:
    long = finding("n" * 500, 1.0, 2.0, verdict=Verdict.REGRESSION)
    text = render_text(report(Conclusion.REGRESSION, long), colour=False, width=100)
    table = [line for line in text.splitlines() if line.startswith("slower")]
    assert [len(line) for line in table] == [100]


def test_foreign_text_controls_neither_terminal_nor_runner() -> None:
    hostile = "::error::x\x1b[2J\r\n::add-mask::y ##[command]z \u202e"
    changed = [
        finding(hostile, 1.0, 2.0, verdict=verdict, reason=hostile)
        for verdict in (Verdict.REGRESSION, Verdict.INCONCLUSIVE)
    ]
    subject = replace(
        report(Conclusion.REGRESSION, *changed, *UNCHANGED),
        suite=hostile,
        target_commit=hostile,
        missing=(MetricKey(hostile, hostile),),
        notes=(remark(hostile),),
    )
    text = render_text(subject, colour=False, width=80)
    assert not set(text) & set("\x1b\r\u202e")
    assert "##[" not in text
    assert not [line for line in text.splitlines() if line.lstrip().startswith("::")]


def test_numbers_of_other_hardware_are_not_judged() -> None:
    text = render_text(report(Conclusion.OTHER_HARDWARE, *map(withdrawn, SLOWER)), colour=False, width=120)
    assert "Not judged:\n" in text
    assert "slower" not in text


def test_long_lists_are_cut_with_a_count() -> None:
    many = replace(REPORT, missing=tuple(MetricKey(f"gone{i}", "time") for i in range(LISTED_NAMES + 7)))
    assert "and 7 more: see report.json" in render_text(many, colour=False, width=120)
