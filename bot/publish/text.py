"""Text within GitHub's limits, and text that Markdown leaves alone."""

import re


def cut_at_line(text: str, *, limit: int, pointer: str) -> str:
    """`text`, or as many whole lines of it as fit into `limit` characters together with `pointer`."""
    if len(text) <= limit:
        return text
    kept = text[: limit - len(pointer)]
    end = kept.rfind("\n")
    return (kept[:end] if end > 0 else kept) + pointer


def fenced(text: str) -> str:
    """A code block that `text` cannot leave."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"
