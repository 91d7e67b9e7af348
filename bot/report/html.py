"""Pages of one file, without outside resources: the report, flame graphs, and the deviation matrix of releases."""

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

from bot.model.change import ChangePoint
from bot.model.deviation import DeviationMatrix
from bot.model.metric import MetricKey
from bot.model.report import Report
from bot.model.tree_comparison import ComparedNode, NodeState, ServiceComparison, TreeComparison
from bot.report.call_trees import pictured
from bot.report.explorer import explorer_section
from bot.report.flame import flame_section
from bot.report.inert import Safe
from bot.report.markdown import check_texts
from bot.report.mermaid import chosen, node_words, touched_methods
from bot.report.releases import releases_section
from bot.report.templating import fill, inline
from bot.report.tree_comparison import headline, shown_suspects

_MERMAID: Final = re.compile(r'<pre lang="mermaid">.*?</pre>', re.DOTALL)
# What a comment folds for its length.
_UNFOLDED: Final = re.compile(r"<details>(<summary>(?:Why|Impact):)")


def render_html(markdown: str, report: Report, history: Mapping[MetricKey, Sequence[ChangePoint]] | None = None) -> str:
    """The comment as GitHub shows it, and below it every benchmark. For our own `markdown`: its HTML is kept.

    The call tree's picture, which GitHub draws from Mermaid's text, is a nested list and a flame graph here. Without
    GitHub's Markdown parser (the extra `preview`) there is the verdict in the comment's place.
    """
    try:
        import cmarkgfm
        from cmarkgfm.cmark import Options
    except ImportError:
        body = f"<h1>{escape(check_texts(report)[0])}</h1>\n"
    else:
        body = cmarkgfm.github_flavored_markdown_to_html(markdown, Options.CMARK_OPT_UNSAFE)
        # A comment's place is below a page's heading; here it is the page. And a column of verdicts has a name.
        body = body.replace("<h3>", "<h1>").replace("</h3>", "</h1>").replace("></th>", ">verdict</th>")
    scripts = []
    if report.diagnosis is not None:
        suspects = shown_suspects(report.diagnosis)
        service = pictured(report.diagnosis, suspects[0] if suspects else None)
        tree = "" if service is None else tree_list(report.diagnosis, service)
        section = tree + flame_section(report.diagnosis)
        drawn, count = _MERMAID.subn(lambda _: section, body, count=1)
        body = _UNFOLDED.sub(r"<details open>\1", drawn) if count else body + section
        scripts.append("flame.js.j2")
    if report.findings:
        body += explorer_section(report, history or {})
        scripts.append("explorer.js.j2")
    return page(Safe(body), title="report", scripts=scripts)


def flame_page(comparison: TreeComparison) -> str:
    title = Safe(f"<h1>{escape(headline(comparison))}</h1>\n")
    return page(Safe(title + flame_section(comparison)), title="call trees", scripts=["flame.js.j2"])


def releases_page(matrix: DeviationMatrix) -> str:
    return page(releases_section(matrix), title="releases")


def page(body: Safe, *, title: str, scripts: Sequence[str] = ()) -> str:
    made = [inline(name) for name in scripts]
    style, style_digest = inline("page.css.j2")
    return fill(
        "page.html.j2",
        body=body,
        title=Safe(title),
        scripts=[text for text, _ in made],
        style=style,
        allowed_style=style_digest,
        allowed=Safe(" ".join(digest for _, digest in made) or "'none'"),
    )


def tree_list(comparison: TreeComparison, service: ServiceComparison) -> Safe:
    """HTML: callers above their callees; suspects and slower methods marked."""
    touched = touched_methods(comparison)
    callees: dict[int | None, list[int]] = {}
    shown = frozenset(places := chosen(service))
    for i in places:
        parent = service.nodes[i].parent
        callees.setdefault(parent if parent in shown else None, []).append(i)

    def listed(caller: int | None) -> str:
        items = "".join(map(item, callees.get(caller, ())))
        return f"<ul>{items}</ul>" if items else ""

    def item(i: int) -> str:
        node = service.nodes[i]
        name, words = node_words(node, is_touched=node.method in touched)
        return f"<li{_shade(node)}><code>{escape(name)}</code> {escape(words)}{listed(i)}</li>"

    return Safe(f'<div class="tree">{listed(None)}</div>\n')


def _shade(node: ComparedNode) -> str:
    if node.reasons:
        return ' class="tree-suspect"'
    return ' class="tree-slower"' if node.state is NodeState.SLOWER else ""
