import re

import pytest
from msgspec.structs import replace

from perf_culprit.model.finding import Drawn, Verdict
from perf_culprit.model.reason import VerdictReason, because, remark
from perf_culprit.model.report import Conclusion
from perf_culprit.model.run import MetricKey
from perf_culprit.say.certainty_words import NOT_PROVEN
from perf_culprit.say.comment import render_markdown
from perf_culprit.say.comparison import render_text
from perf_culprit.say.render_terminal import LISTED_ROWS
from tests.support.reports import SLOWER, UNCHANGED, every_conclusion, finding, report, withdrawn

REPORT = every_conclusion()["regression-fails"]


def test_verdict_comes_first() -> None:
    assert render_text(REPORT, colour=False, width=120).splitlines()[0] == (
        f"2 of 10 benchmarks got slower, 1 faster; 2 look slower, {NOT_PROVEN}; 1 missing"
    )


def test_colour_only_where_asked() -> None:
    assert "\x1b" not in render_text(REPORT, colour=False, width=120)
    assert render_text(REPORT, colour=True, width=120).startswith("\x1b[1m\x1b[31m2 of 10 benchmarks got slower")


def test_a_name_that_has_no_room_beside_its_figures_stands_whole_on_a_line_of_its_own() -> None:
    name = "benchmarks/test_documents.py::test_parse[" + "n" * 100 + "]"
    changed = report(Conclusion.REGRESSION, finding(name, 1.0, 2.0, verdict=Verdict.REGRESSION))
    lines = render_text(changed, colour=False, width=80).splitlines()
    row = lines.index(f"• {name}")
    assert "slower" in lines[row + 1]
    assert len(lines[row + 1]) <= 80
    assert [
        line for line in render_text(changed, colour=False, width=300).splitlines() if name in line and "slower" in line
    ]


NEEDED = ["benchmark", "change", "before → after", "certainty"]


@pytest.mark.parametrize(
    ("width", "columns"),
    [
        (66, NEEDED[1:]),
        (85, NEEDED),
        (100, [*NEEDED[:2], "interval", *NEEDED[2:]]),
        (117, [*NEEDED[:2], "interval", *NEEDED[2:], "trend"]),
        (170, [*NEEDED[:2], "interval", *NEEDED[2:], "trend", "rate"]),
    ],
)
def test_a_table_fits_and_a_wider_one_has_more_columns(width: int, columns: list[str]) -> None:
    text = render_text(REPORT, colour=False, width=width)
    rows = [line for line in text.splitlines() if line.startswith(("• ", "  "))]
    assert rows
    assert max(map(len, rows)) <= width
    assert re.split(r"\s{2,}", rows[0].strip()) == columns


def test_rows_have_the_colour_of_their_verdict() -> None:
    text = render_text(REPORT, colour=True, width=120)
    assert [line for line in text.splitlines() if line.startswith("\x1b[31m• ")]
    assert [line for line in text.splitlines() if line.startswith("\x1b[36m• ")]


def test_a_reason_of_several_benchmarks_is_stated_once() -> None:
    undecided = [
        finding(name, 1.0, after, verdict=Verdict.UNTESTED, reason=because(VerdictReason.BLIND))
        for name, after in (("first", 2.0), ("second", 3.0), ("third", 1.0))
    ]
    alone = finding("alone", 1.0, 1.1, verdict=Verdict.UNTESTED, reason=because(VerdictReason.NOTHING_TESTED))
    subject = report(Conclusion.INCONCLUSIVE, *undecided, alone)
    told = "the runs are too few or too noisy to tell a change in one metric from chance"
    lines = render_text(subject, colour=False, width=80).splitlines()
    assert [line for line in lines if told in line] == [f"3 not tested: {told}:"]
    assert [line for line in lines if line.startswith("- third (1.00 ms → 1.00 ms")]
    assert "- alone (1.00 ms → 1.10 ms, +10.0%): nothing could be tested" in lines
    assert render_markdown(subject).count(told) == 1


def test_foreign_text_controls_neither_terminal_nor_runner() -> None:
    hostile = "::error::x\x1b[2J\r\n::add-mask::y ##[command]z \u202e"
    changed = [
        finding(hostile, 1.0, 2.0, verdict=verdict, reason=hostile)
        for verdict in (Verdict.REGRESSION, Verdict.UNTESTED)
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
    assert "2 not judged:\n" in text
    assert "slower" not in text


def test_long_lists_are_cut_with_a_count() -> None:
    many = replace(REPORT, missing=tuple(MetricKey(f"gone{i}", "time") for i in range(LISTED_ROWS + 7)))
    assert "and 7 more: see report.json" in render_text(many, colour=False, width=120)


def test_both_sides_samples_are_drawn_below_the_table_where_they_are_known() -> None:
    changed = finding("parse", 1.0, 2.0, verdict=Verdict.REGRESSION)
    drawn = replace(changed, drawn=Drawn(baseline_samples=(1.0,) * 9 + (1.2,), target_samples=(1.9,) * 9 + (2.2,)))
    text = render_text(report(Conclusion.REGRESSION, drawn), colour=False, width=80)
    before, after = (line for line in text.splitlines() if "▕" in line)
    assert before.startswith("  before ▕█")
    assert before.endswith("▏ 1.00 … 1.20 ms")
    assert after.endswith("▏ 1.90 … 2.20 ms")
    assert "▕" not in render_text(report(Conclusion.REGRESSION, changed), colour=False, width=80)


def test_a_few_samples_far_away_leave_the_others_their_room() -> None:
    changed = finding("parse", 1.0, 2.0, verdict=Verdict.REGRESSION)
    before = tuple(1 + i / 100 for i in range(25))
    drawn = replace(
        changed, drawn=Drawn(baseline_samples=before, target_samples=(*(x + 0.1 for x in before[1:]), 90.0))
    )
    text = render_text(report(Conclusion.REGRESSION, drawn), colour=False, width=80)
    shown = [line.split("▏ ")[1] for line in text.splitlines() if "▕" in line]
    assert shown == ["1.01 … 1.23 ms, 8% beyond", "1.12 … 1.34 ms, 8% beyond"]


def test_one_commit_on_both_sides_is_told() -> None:
    one = replace(REPORT, base_commit="a" * 40, target_commit="a" * 40)
    told = "base and head are one commit, aaaaaaa: what differs is the machine's"
    assert told in render_text(one, colour=False, width=120)
    assert told not in render_text(replace(one, target_commit="b" * 40), colour=False, width=120)
