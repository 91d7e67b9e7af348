"""Untrusted text in a report: GitHub's parser returns only our own structure."""

import re
from html.parser import HTMLParser

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from hypothesis import given

from perf_culprit.model.report import Report
from perf_culprit.say.comment import COMMENT_LIMIT_CHARACTERS, render_markdown
from perf_culprit.say.comparison import PageOptions, render_text
from perf_culprit.say.report_parts import outputs
from tests.support.hostile import reports

# The one address that a comment may link to.
ORIGIN = "https://github.example/o/r"
GLOSSARY = "https://github.com/perf-culprit/perf-culprit/blob/main/docs/glossary.md"
# Whole reports of nasty strings take some 50 ms each to make and render.
pytestmark = pytest.mark.slow

OPTIONS = PageOptions(marker="<!-- m:v1:x -->", run_url=f"{ORIGIN}/runs/1", repository_url=ORIGIN)
TAGS = frozenset(
    "a code details em h3 li p strong sub summary table tbody td th thead tr ul".split()  # noqa: SIM905 - one line
)
# Text outside code that GitHub would turn into links, mentions and emoji after parsing.
ACTIVE_TEXT = re.compile(r"@|#\d|GH-\d|https?:|www\.|:[a-z_]+:|\$|\b[0-9a-f]{7,}\b", re.IGNORECASE)


class Page(HTMLParser):
    """A parser that collects what a browser would see: tags, addresses, comments and the text outside code."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.addresses: set[str] = set()
        self.comments: list[str] = []
        self.text_outside_code: list[str] = []
        self._code_depth = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.addresses |= {value or "" for name, value in attrs if name == "href"}
        self._code_depth += tag == "code"

    def handle_endtag(self, tag: str) -> None:
        self._code_depth -= tag == "code"

    def handle_data(self, data: str) -> None:
        if not self._code_depth:
            self.text_outside_code.append(data)

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)


@given(report=reports())
def test_only_our_own_structure_comes_out(report: Report) -> None:
    html = cmarkgfm.github_flavored_markdown_to_html(render_markdown(report, options=OPTIONS), Options.CMARK_OPT_UNSAFE)
    page = Page(html)
    assert page.tags <= TAGS
    assert page.attributes <= {"href", "align"}
    assert all(address.startswith((ORIGIN, GLOSSARY)) for address in page.addresses)
    assert page.comments == [" m:v1:x "]
    assert not [text for text in page.text_outside_code if ACTIVE_TEXT.search(text)]
    assert html.count("<details>") == html.count("</details>") == html.count("<summary>")
    rows = re.findall(r"<tr>(.*?)</tr>", html, re.DOTALL)
    assert all(len(re.findall(r"<t[dh]", row)) in (3, 4, 5, 6) for row in rows)


@given(report=reports())
def test_length_and_determinism(report: Report) -> None:
    text = render_markdown(report, options=OPTIONS)
    assert len(text.encode("utf-16-le")) // 2 <= COMMENT_LIMIT_CHARACTERS
    assert text == render_markdown(report, options=OPTIONS)


@given(report=reports())
def test_the_terminal_and_the_runner_get_no_commands(report: Report) -> None:
    text = render_text(report, colour=False, width=100)
    assert all(character.isprintable() or character in "\n\N{NO-BREAK SPACE}\u3000" for character in text)
    assert not [line for line in text.split("\n") if line.lstrip().startswith("::") or "##[" in line]
    assert not set("".join(outputs(report).values())) & set("$`\n;&|<>'\"\\")
