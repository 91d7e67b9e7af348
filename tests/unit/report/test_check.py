from bot.report.check import check_texts
from bot.report.markdown import render_markdown
from tests.support.reports import every_conclusion

REPORTS = every_conclusion()


def test_no_change_says_how_small_a_slowdown_would_show() -> None:
    title, _ = check_texts(REPORTS["no-change"])
    assert title == "Nothing found in 5 benchmarks; a slowdown of 5% or more would have been seen"


def test_title_is_the_verdict_and_summary_the_comment() -> None:
    title, summary = check_texts(REPORTS["regression-fails"])
    assert title == "2 of 10 benchmarks got slower, 1 faster"
    assert summary == render_markdown(REPORTS["regression-fails"])
