"""The functions that a change touched, and the methods of a profile among them (docs/changed-code.md)."""

from bot.diagnose.changed.matching import match_caller, match_method

__all__ = ["match_caller", "match_method"]
