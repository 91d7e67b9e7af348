"""The user's build and benchmark commands, run on commits of a repository on this machine (docs/measure.md)."""

from bot.measure.choice import choose_metric, require_benchmark
from bot.measure.commands import Commands
from bot.measure.counts import is_missing
from bot.measure.failure import ExecutionError
from bot.measure.interrupt import interruptible
from bot.measure.log import Log
from bot.measure.rounds import analysis_rounds, interleaved
from bot.measure.workplace import Workplace, not_taken, open_workplace
from bot.measure.worktree_executor import RoundResult, WorktreeExecutor

__all__ = [
    "Commands",
    "ExecutionError",
    "Log",
    "RoundResult",
    "Workplace",
    "WorktreeExecutor",
    "analysis_rounds",
    "choose_metric",
    "interleaved",
    "interruptible",
    "is_missing",
    "not_taken",
    "open_workplace",
    "require_benchmark",
]
