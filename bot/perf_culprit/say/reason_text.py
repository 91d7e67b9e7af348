"""A reason's sentence: for a terminal, or as Markdown in which foreign text is inert."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Final

from perf_culprit.model.reason import Argument, Reason
from perf_culprit.say.inert import SENTENCE_LIMIT, Safe, clean, code, join, prose
from perf_culprit.say.numbers import percent, percent_digits, significant
from perf_culprit.say.phrases import SENTENCES
from perf_culprit.say.sections import counted

_BRACKETS: Final = re.compile(r"\[([^\]]*)\]")
# As many names of a list are shown.
SHOWN_NAMES: Final = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class _Form:
    """How both kinds of foreign text become part of a sentence."""

    name: Callable[[str], Safe]
    prose: Callable[[str], Safe]


_PLAIN = _Form(name=lambda text: Safe(clean(text)), prose=lambda text: Safe(clean(text, limit=SENTENCE_LIMIT)))
_MARKDOWN = _Form(name=code, prose=prose)


def sentence(reason: Reason) -> str:
    """One line of text, without the control characters of foreign names, though still active in Markdown."""
    return str(_said(reason, _PLAIN))


def sentence_markdown(reason: Reason) -> Safe:
    """The same as Markdown: names are code spans."""
    return _said(reason, _MARKDOWN)


def _said(reason: Reason, form: _Form) -> Safe:
    parts = []
    # Every second part is one in brackets.
    for position, part in enumerate(_BRACKETS.split(SENTENCES[reason.code])):
        filled = _filled(part, reason.arguments, form)
        if filled is None and position % 2 == 0:
            # A file may hold a code without its arguments; a report of ours never does.
            return Safe(reason.code.value.replace("_", " "))
        parts.append(filled or Safe(""))
    return join("", parts)


def _filled(part: str, arguments: Mapping[str, Argument], form: _Form) -> Safe | None:
    """None where an argument is missing or of another kind than the sentence needs."""
    parts = []
    for words, name, how, _ in Formatter().parse(part):
        parts.append(Safe(words))
        if name is None:
            continue
        shown = _shown(arguments[name], how or "", form) if name in arguments else None
        if shown is None:
            return None
        parts.append(shown)
    return join("", parts)


def _shown(value: Argument, how: str, form: _Form) -> Safe | None:
    if isinstance(value, str):
        return form.prose(value) if how == "prose" else form.name(value) if not how else None
    if isinstance(value, tuple):
        separator = Safe(" and ") if how == "and" else Safe(", ")
        if how not in {"", "and"} or not value:
            return None
        more = len(value) - SHOWN_NAMES
        names = [form.name(name) for name in value[:SHOWN_NAMES]]
        return join(separator, [*names, *([Safe(f"{more:,} more")] if more > 0 else [])])
    return Safe(_number(value, how)) if _fits(value, how) else None


def _fits(value: float, how: str) -> bool:
    counts = how.startswith("#") or how in {",", "d"}
    return math.isfinite(value) and bool(how) and how != "prose" and (not counts or isinstance(value, int))


def _number(value: float, how: str) -> str:
    if how == "%g":
        return percent_digits(value)
    if how in {"%", "+%"}:
        return percent(value, signed=how == "+%")
    if how.startswith("#"):
        return counted(int(value), how.removeprefix("#").strip())
    return significant(value) if abs(value) > 1e15 and how != "," else format(value, how)
