"""The templates' environment: it refuses every value that was not made inert."""

from functools import cache
from typing import TYPE_CHECKING, Any

from bot.report.inert import Safe

if TYPE_CHECKING:
    from jinja2 import Environment


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
