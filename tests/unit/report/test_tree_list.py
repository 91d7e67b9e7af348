"""The slower paths as nested lists: callees inside their callers, names as text."""

import re

from bot.report.call_trees import pictured
from bot.report.tree_comparison import shown_suspects
from bot.report.tree_list import tree_list
from tests.support.diagnosed_reports import diagnosis


def test_callees_are_inside_their_callers_and_names_are_text() -> None:
    comparison = diagnosis({"build_ast": "<b &amp;"})
    service = pictured(comparison, shown_suspects(comparison)[0])
    assert service is not None
    html = tree_list(comparison, service)
    assert html.count("<ul>") == html.count("</ul>")
    assert "<b " not in html
    assert re.search(r"parse</code>[^<]*<ul>.*Parser\.tokenize</code>[^<]*<ul>.*compile_regex</code>", html)
    assert '<li class="tree-suspect"><code>Parser.tokenize</code>' in html
    assert "changed" in html.partition("Parser.tokenize")[2].partition("<")[2].partition("<ul>")[0]
