from dataclasses import replace

import pytest

from perf_culprit.say.inert import fill
from perf_culprit.say.markdown_report import MarkdownOptions, build_view
from tests.support.reports import every_conclusion


def test_a_template_refuses_text_that_was_not_made_inert() -> None:
    view = build_view(every_conclusion()["no-change"], options=MarkdownOptions(), most_rows=10)
    foreign = replace(view, footer="a benchmark's name")  # type: ignore[arg-type]  # that is the mistake under test
    with pytest.raises(TypeError, match="Safe text only, not str"):
        fill("comment.md.j2", view=foreign)


def test_a_template_refuses_what_is_missing() -> None:
    with pytest.raises(TypeError, match="not StrictUndefined"):
        fill("page.html.j2")
