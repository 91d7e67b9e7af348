"""The argument parser: what is wrong on the command line is a UsageError like any other, with a next step."""

import argparse
import re
from collections.abc import Sequence
from typing import Any, Final, NoReturn

from bot.errors import UsageError, did_you_mean

_MISTYPED: Final = re.compile(r"unrecognized arguments: (-\S+)|invalid choice: '([^']+)'")


class Parser(argparse.ArgumentParser):
    """argparse's, whose errors name the closest option and the command's own help."""

    _options: Sequence[str] = ()

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> tuple[Any, list[str]]:  # type: ignore[override]  # the stubs' overloads
        """All of them are known: a command answers for its own arguments, and not its parent."""
        self._options = [word.partition("=")[0] for word in args or () if word.startswith("--")]
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return parsed, []

    def error(self, message: str) -> NoReturn:
        names = [name for action in self._actions for name in (*action.option_strings, *(action.choices or ()))]
        # A misspelt option that is required is missing first of all.
        strange = [option for option in self._options if not any(name.startswith(option) for name in names)]
        if "are required" in message and strange:
            message = f"unrecognized arguments: {strange[0]}"
        mistyped = _MISTYPED.search(message)
        hint = did_you_mean(mistyped[1] or mistyped[2], names) if mistyped else ""
        help_text = f"`{self.prog} --help` lists what there is"
        raise UsageError(message, place=self.prog, next_step=f"{hint} {help_text}".strip())
