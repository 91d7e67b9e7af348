"""Pagination as GitHub does it: `per_page` up to 100, `page` from 1, and a Link header."""

import urllib.parse
from dataclasses import dataclass
from typing import Any

DEFAULT_PER_PAGE = 30
MAXIMUM_PER_PAGE = 100


@dataclass(frozen=True, slots=True)
class Listing:
    """All items of a listing; if GitHub answers an object, they are under `key` next to `total_count`."""

    items: list[Any]
    key: str | None = None


def cut_page(listing: Listing, *, url: str, query: dict[str, str]) -> tuple[Any, dict[str, str]]:
    """The page that `query` asks for, and its headers."""
    per_page = min(int(query.get("per_page", DEFAULT_PER_PAGE)), MAXIMUM_PER_PAGE)
    page = int(query.get("page", 1))
    last = max(1, -(-len(listing.items) // per_page))
    items = listing.items[(page - 1) * per_page : page * per_page]
    neighbours = {"next": page + 1, "last": last} if page < last else {}
    neighbours |= {"first": 1, "prev": page - 1} if page > 1 else {}
    links = [
        f'<{url}?{urllib.parse.urlencode({**query, "per_page": per_page, "page": number})}>; rel="{relation}"'
        for relation, number in neighbours.items()
    ]
    body = items if listing.key is None else {"total_count": len(listing.items), listing.key: items}
    return body, {"link": ", ".join(links)} if links else {}
