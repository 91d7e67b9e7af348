"""The templates' environment: it refuses every value that was not made inert."""

from functools import cache
from typing import TYPE_CHECKING, Any

from bot.report.inert import Safe

if TYPE_CHECKING:
    from jinja2 import Environment
import base64
import hashlib
import json
from collections.abc import Mapping


def fill(template: str, **values: Any) -> str:
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("bot.report"),
        # Autoescape is for HTML; Markdown is guarded by `_only_safe`, which has no way around it.
        autoescape=False,  # noqa: S701 - see above
        finalize=_only_safe,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _only_safe(value: object) -> Safe:
    if not isinstance(value, Safe):
        raise TypeError(f"a template may show Safe text only, not {type(value).__name__}")
    return value


def inline_data(data: Mapping[str, Any]) -> Safe:
    """JSON for a script element of type application/json, which no character of a name can end."""
    return Safe(json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"))


def inline(template: str) -> tuple[Safe, Safe]:
    """A script or style sheet, and its hash for the page's content security policy."""
    text = fill(template)
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Safe(text), Safe(f"'sha256-{digest}'")
