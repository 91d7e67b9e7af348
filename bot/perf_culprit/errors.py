"""The expected errors: each message tells what happened, where, and what to do next.

`perf_culprit.cli` is the only place that prints these and turns them into exit codes (docs/exit-codes.md). Exit code 1
(a regression over the fail threshold) is a result, not an error, so it has no class here.
"""

import difflib
import errno
import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar, Final

EXIT_FINE = 0
EXIT_REGRESSION = 1
EXIT_USAGE = 2
EXIT_NO_DATA = 3
EXIT_INFRASTRUCTURE = 4
EXIT_INTERRUPTED = 130

FREE_SPACE: Final = "free disk space on this machine, then run again"


def did_you_mean(word: str, choices: Iterable[str], *, otherwise: str = "") -> str:
    """Return a question that names the closest choice, or `otherwise` if none is close."""
    close = difflib.get_close_matches(word, list(choices), n=1)
    return f"did you mean {close[0]}?" if close else otherwise


def list_names(names: Sequence[str], *, most: int) -> str:
    """Join the first `most` names, and state how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


# Control and format characters (bidi, zero width), surrogates, private use, unassigned.
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_LINE_BREAKS: Final = frozenset("\t\n\v\f\r\x1c\x1d\x1e\x1f\x85\u2028\u2029")
# Characters of other categories that show nothing either: fillers, joiners and selectors of a variant.
_UNSEEN: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
# Selects the coloured form of a symbol, as in "\u26a0\ufe0f".
EMOJI_SELECTOR: Final = "\ufe0f"


def visible(text: str, *, harmless: str = "") -> str:
    """Return one line without invisible or direction-changing characters. The characters of `kept` stay unchanged."""
    if text.isprintable() and _UNSEEN.search(text) is None:
        return text
    return "".join(c if c in harmless else _shown(c, before) for before, c in zip(f" {text}", text, strict=False))


def _shown(character: str, before: str) -> str:
    category = unicodedata.category(character)
    if character in _LINE_BREAKS or category == "Zs":
        return " "
    if character == EMOJI_SELECTOR and unicodedata.category(before) == "So":
        return character
    is_hidden = category in _INVISIBLE or _UNSEEN.match(character)
    return "\N{REPLACEMENT CHARACTER}" if is_hidden else character


class BotError(Exception):
    """An expected failure, shown as one message without a traceback.

    `place` is the location (a file, a file with its line, an input's name). `next_step` tells the user what to do.
    """

    exit_code: ClassVar[int] = EXIT_INFRASTRUCTURE

    def __init__(self, message: str, *, place: str | None = None, next_step: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.next_step = next_step

    def __str__(self) -> str:
        located = f"{self.place}: {self.message}" if self.place else self.message
        return f"{located}\nNext: {self.next_step}" if self.next_step else located


class UsageError(BotError):
    """The command line or an action input is wrong."""

    exit_code = EXIT_USAGE


class ConfigError(BotError):
    """The configuration file is wrong; `place` holds its line."""

    exit_code = EXIT_USAGE


class DataError(BotError):
    """An input holds no usable data: broken, hostile or empty. Never a pass, never a regression."""

    exit_code = EXIT_NO_DATA


class TooLargeError(DataError):
    """An input exceeds a limit. An option of the tool that wrote it may help."""


class NewerVersionError(DataError):
    """A file was written by a later version of this program. It is intact, so it must not be skipped or replaced."""


class InfrastructureError(BotError):
    """Git, GitHub, the network or the machine failed; the same input may work later."""

    exit_code = EXIT_INFRASTRUCTURE


def of_full_disk(error: Exception) -> InfrastructureError | None:
    """Return an InfrastructureError for a full or broken disk, which is not a bug here. None for any other error."""
    if not isinstance(error, OSError) or error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
        return None
    place = None if error.filename is None else str(error.filename)
    return InfrastructureError(f"cannot be written: {error.strerror}", place=place, next_step=FREE_SPACE)


def unwritable(error: OSError, path: Path) -> BotError:
    """Return the error for a file that the user requested and that cannot be written."""
    error.filename = path
    message = f"cannot be written: {error.strerror}"
    return of_full_disk(error) or UsageError(message, place=str(path), next_step="give a path that can be written")
