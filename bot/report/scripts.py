"""Scripts of a page that nothing else can run in: data that cannot end its element, and scripts by their hash."""

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from bot.report.inert import Safe
from bot.report.templating import fill


def inline_data(data: Mapping[str, Any]) -> Safe:
    """JSON for a script element of type application/json, which no character of a name can end."""
    return Safe(json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"))


def inline(template: str) -> tuple[Safe, Safe]:
    """A script or style sheet, and its hash for the page's content security policy."""
    text = fill(template)
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Safe(text), Safe(f"'sha256-{digest}'")
