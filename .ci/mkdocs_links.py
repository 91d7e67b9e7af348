"""Hooks for the site: links to other files lead to the repository, and a search ranks the evidence last."""

import posixpath
import re
from typing import Any, Final

LINK: Final = re.compile(r"(\]\()(\.\./[^)\s#]+)")


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: object) -> str:
    """Rewrite links and rank evidence; mkdocs calls this for each page before it is rendered."""
    if page.file.src_uri.startswith("evidence/"):
        page.meta["search"] = {"boost": 0.1}
    folder = posixpath.dirname(f"docs/{page.file.src_uri}")

    def whole(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, link[2]))
        return link[0] if target.startswith("docs/") else f"{link[1]}{config['repo_url']}/blob/main/{target}"

    return LINK.sub(whole, markdown)
