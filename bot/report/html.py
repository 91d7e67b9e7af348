"""A page that shows Markdown as GitHub would: a preview before anything is posted."""

from bot.errors import UsageError
from bot.report.inert import Safe
from bot.report.templating import fill


def render_html(markdown: str) -> str:
    """One file without scripts or outside resources. For our own renderings: raw HTML in `markdown` is kept."""
    try:
        import cmarkgfm
        from cmarkgfm.cmark import Options
    except ImportError:
        raise UsageError(
            "the HTML preview needs GitHub's Markdown parser, which is not installed",
            next_step='install it: pip install "perf-culprit[preview]"',
        ) from None
    body = cmarkgfm.github_flavored_markdown_to_html(markdown, Options.CMARK_OPT_UNSAFE)
    return fill("page.html.j2", body=Safe(body))
