"""Stored runs, accepted changes and bisections, and the choice of a baseline."""

from typing import TYPE_CHECKING

from bot.lazy import front_door

if TYPE_CHECKING:
    from bot.history.accepted import GitBranchAcceptances, checked, open_acceptances
    from bot.history.baseline import choose_baseline
    from bot.history.bisections import BisectionConflictError, BisectionStore, LoadedBisection, open_bisections
    from bot.history.git_branch import DEFAULT_BRANCH, GitBranchHistory, open_git_branch
    from bot.history.protocol import History, StoredRun, UnreadableRun
    from bot.history.remote import code_remote, history_remote
    from bot.history.retention import Retention
    from bot.history.then import baseline_then
else:
    __getattr__ = front_door(__name__)
