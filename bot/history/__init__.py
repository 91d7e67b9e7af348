"""Stored runs and the choice of a baseline."""

from bot.history.baseline import choose_baseline
from bot.history.git_branch import DEFAULT_BRANCH, GitBranchHistory, open_git_branch
from bot.history.protocol import History, StoredRun, UnreadableRun
from bot.history.retention import Retention

__all__ = [
    "DEFAULT_BRANCH",
    "GitBranchHistory",
    "History",
    "Retention",
    "StoredRun",
    "UnreadableRun",
    "choose_baseline",
    "open_git_branch",
]
