import pytest

from perf_culprit.say.inert import fill


def test_a_template_refuses_text_that_was_not_made_inert() -> None:
    with pytest.raises(TypeError, match="Safe text only, not str"):
        fill("document.md.j2", sections=[(None, ("a benchmark's name",))])


def test_a_template_refuses_what_is_missing() -> None:
    with pytest.raises(TypeError, match="not StrictUndefined"):
        fill("page.html.j2")
