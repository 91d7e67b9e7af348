"""The search for culprits between two commits: pure decisions, no input or output (docs/bisection.md)."""

from bot.bisect.search import Search

__all__ = ["Search"]
