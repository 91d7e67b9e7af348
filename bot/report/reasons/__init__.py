"""Reasons in words. A sentence is written once, here; what it says is decided elsewhere, by the reason's code.

A field of a sentence names an argument: `{count:# run}` counts a noun, `{share:%}` and `{change:+%}` are percentages,
`{rate:%g}` one of three digits however small, `{run:d}` is a number that counts nothing, `{names:and}` joins several,
`{text:prose}` is text that may be words, `{name}` is shown as it is; other formats are Python's. A part in [brackets]
is left out where the reason lacks its arguments.
"""

from bot.report.reasons.sentence import sentence, sentence_markdown
from bot.report.reasons.sentences import SENTENCES

__all__ = ["SENTENCES", "sentence", "sentence_markdown"]
