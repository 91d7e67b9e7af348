"""Stored runs, accepted changes and bisections, and the choice of a baseline."""

from typing import TYPE_CHECKING

from bot.lazy import front_door

if TYPE_CHECKING:
    from bot.history.accepted import checked
    from bot.history.baseline import baseline_then, choose_baseline
    from bot.history.bisections import BisectionConflictError
    from bot.history.git_branch import DEFAULT_BRANCH, GitBranchHistory
    from bot.history.opening import (
        GitBranch,
        HistoryPlace,
        code_remote,
        copy_history,
        open_git_branch,
        open_history,
        open_sql,
        prepare_database,
    )
    from bot.history.protocol import BisectionStore, History, LoadedBisection, Store, StoredRun, UnreadableRun
    from bot.history.retention import Retention
else:
    __getattr__ = front_door(__name__)
