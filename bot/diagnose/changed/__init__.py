"""The functions that a change touched, and the methods of a profile among them (docs/changed-code.md)."""

from bot.diagnose.changed.change import touched_by_commit, touched_code
from bot.diagnose.changed.matching import match_caller, match_method
from bot.diagnose.changed.paths import changes_build, is_document_or_test

__all__ = ["changes_build", "is_document_or_test", "match_caller", "match_method", "touched_by_commit", "touched_code"]
