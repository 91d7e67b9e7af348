"""Two revisions' call trees compared: where the time went, who is suspect, what to test again (docs/diagnosis.md)."""

from bot.diagnose.comparison.compare import compare_logs, compare_profiles
from bot.diagnose.settings import ComparisonSettings

__all__ = ["ComparisonSettings", "compare_logs", "compare_profiles"]
