"""A page that shows Markdown as GitHub would, and flame graphs: a preview before anything is posted."""

import re
from html import escape
from typing import Final

from bot.errors import UsageError
from bot.model.tree_comparison import TreeComparison
from bot.report.flame import flame_script, flame_section
from bot.report.inert import Safe
from bot.report.templating import fill
from bot.report.tree_comparison import headline

_MERMAID: Final = re.compile(r'<pre lang="mermaid">.*?</pre>', re.DOTALL)


def render_html(markdown: str, comparison: TreeComparison | None = None) -> str:
    """One file without outside resources. For our own renderings: raw HTML in `markdown` is kept.

    The call tree's picture, which GitHub draws from Mermaid's text, is the flame graph of `comparison` here.
    """
    try:
        import cmarkgfm
        from cmarkgfm.cmark import Options
    except ImportError:
        raise UsageError(
            "the HTML preview needs GitHub's Markdown parser, which is not installed",
            next_step='install it: pip install "perf-culprit[preview]"',
        ) from None
    body = cmarkgfm.github_flavored_markdown_to_html(markdown, Options.CMARK_OPT_UNSAFE)
    if comparison is None:
        return _page(Safe(body), script=False)
    section = flame_section(comparison)
    drawn, count = _MERMAID.subn(lambda _: section, body, count=1)
    return _page(Safe(drawn if count else body + section), script=True)


def flame_page(comparison: TreeComparison) -> str:
    title = Safe(f"<h3>{escape(headline(comparison))}</h3>\n")
    return _page(Safe(title + flame_section(comparison)), script=True)


def _page(body: Safe, *, script: bool) -> str:
    text, allowed = flame_script() if script else (Safe(""), Safe("'none'"))
    return fill(
        "page.html.j2", body=body, script=text, allowed=allowed, is_wide=Safe(' class="wide"' if script else "")
    )
