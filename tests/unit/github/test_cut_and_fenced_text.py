import cmarkgfm
import pytest

from perf_culprit.github.bot_texts import cut_at_line, fenced


def test_text_within_the_limit_stays() -> None:
    assert cut_at_line("abc", limit=3, pointer="…") == "abc"


def test_longer_text_is_cut_at_a_line() -> None:
    assert cut_at_line("one\ntwo\nthree", limit=10, pointer="\n(cut)") == "one\n(cut)"


def test_one_long_line_is_cut_inside() -> None:
    assert cut_at_line("x" * 50, limit=10, pointer="(cut)") == "xxxxx(cut)"


@pytest.mark.parametrize("text", ["plain", "```\n@octocat\n```", "`" * 9, "a\n````\n<img src=x>", "~~~"])
def test_nothing_leaves_the_code_block(text: str) -> None:
    html = cmarkgfm.github_flavored_markdown_to_html(f"{fenced(text)}\n\nafter")
    assert html.startswith('<pre lang="text"><code>')
    assert html.count("<pre") == 1
    assert html.endswith("</code></pre>\n<p>after</p>\n")
