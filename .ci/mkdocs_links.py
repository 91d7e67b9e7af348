"""Links of the documentation to files that are no part of the site lead to the repository."""

import posixpath
import re
from typing import Any, Final

LINK: Final = re.compile(r"(\]\()(\.\./[^)\s#]+)")


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: object) -> str:
    """What mkdocs calls for each page before it is rendered."""
    folder = posixpath.dirname(f"docs/{page.file.src_uri}")

    def whole(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, link[2]))
        return link[0] if target.startswith("docs/") else f"{link[1]}{config['repo_url']}/blob/main/{target}"

    return LINK.sub(whole, markdown)
