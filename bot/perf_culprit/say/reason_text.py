"""A reason's sentence, as a text in which foreign arguments are spans.

In a sentence `{name}` is foreign text shown unchanged, or several names by commas (`{names:and}`: by "and").
`{changed:→}` is parts of the environment with their values before and after, three texts for each. `{why:prose}` is
foreign words. `{effect:%}` and `{change:+%}` are percentages, `{rate:%g}` one of three digits. `{count:# run}` is a
number with its noun. All other formats are Python's. A part in `[...]` is omitted if one of its arguments is missing.
"""

import math
import re
from collections.abc import Mapping
from string import Formatter
from typing import Final

from perf_culprit.model.reason import Argument, Reason
from perf_culprit.model.run import PACKAGE_SEPARATOR, is_package
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.say.document import Name, Prose, Text, as_spans, join_texts
from perf_culprit.say.inert import Safe, clean
from perf_culprit.say.numbers import count_of, percent, percent_digits, significant
from perf_culprit.say.phrases import SENTENCES

_BRACKETS: Final = re.compile(r"\[([^\]]*\{[^\]]*)\]")


def sentence(reason: Reason) -> str:
    """Return one line of text, without the control characters of foreign names, but still active in Markdown."""
    return "".join(
        clean(span.text, limit=span.limit) if isinstance(span, Name | Prose) else str(span)
        for span in as_spans(worded(reason))
    )


def worded(reason: Reason) -> Text:
    parts: list[Text] = []
    # Every second part is one in brackets.
    for position, part in enumerate(_BRACKETS.split(SENTENCES[reason.code])):
        filled = _fill(part, reason.arguments)
        if filled is None and position % 2 == 0:
            # A file may hold a code without its arguments; our own reports never do.
            return Safe(reason.code.value.replace("_", " "))
        parts.append(filled or Safe(""))
    return join_texts("", parts)


def _fill(part: str, arguments: Mapping[str, Argument]) -> Text | None:
    """Fill in the arguments. None if one is missing or of a different kind than the sentence needs."""
    parts: list[Text] = []
    for words, name, how, _ in Formatter().parse(part):
        parts.append(Safe(words))
        if name is None:
            continue
        text = _argument_text(arguments[name], how or "") if name in arguments else None
        if text is None:
            return None
        parts.append(text)
    return join_texts("", parts)


def _argument_text(value: Argument, how: str) -> Text | None:
    if isinstance(value, str):
        return Prose(value) if how == "prose" else Name(value) if not how else None
    if isinstance(value, tuple) and how == "→":
        return _argument_text(tuple(map(change_words, value[::3], value[1::3], value[2::3])), "")
    if isinstance(value, tuple):
        if how not in {"", "and"} or not value:
            return None
        more = len(value) - TEXT_LIMITS.reason_names
        names: list[Text] = [Name(name) for name in value[: TEXT_LIMITS.reason_names]]
        return join_texts(" and " if how == "and" else ", ", [*names, *([Safe(f"{more:,} more")] if more > 0 else [])])
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
        return count_of(int(value), how.removeprefix("#").strip())
    return significant(value) if abs(value) > 1e15 and how != "," else format(value, how)


_NAMES: Final = {"runner_image": "image", "os_release": "kernel"}


def change_words(name: str, before: str, after: str) -> str:
    """Return text like "numpy 2.4.5 → 2.4.6"."""
    return f"{component(name)} {before} → {after}"


def component(name: str) -> str:
    return name.partition(PACKAGE_SEPARATOR)[2] if is_package(name) else _NAMES.get(name, name)
