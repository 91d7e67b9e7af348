"""The baseline that would have been chosen when a stored run was new: by the same walk, from what was stored before."""

from collections.abc import Sequence

from bot.history.ancestry import TARGET_COMMIT, Ancestry
from bot.history.baseline import DEFAULT_WINDOW, select_runs
from bot.history.protocol import StoredRun
from bot.history.restart import Restarts
from bot.model.acceptance import Acceptance
from bot.model.baseline import Baseline, BaselineSource
from bot.model.run import Run


def baseline_then(
    earlier: Sequence[Run], target: Run, *, window: int = DEFAULT_WINDOW, accepted: Sequence[Acceptance] = ()
) -> Baseline:
    """As `choose_baseline` for a push, where `earlier` (oldest first) are one line of commits, the target's the next.

    Of the accepted changes those count that were accepted by then, and whenever it was said those of the target itself.
    """
    names = [run.commit or f"run {index}" for index, run in enumerate(earlier)]
    stored = [
        StoredRun(id=f"run {index}", commit=name, run=run)
        for index, (name, run) in enumerate(zip(names, earlier, strict=True))
        if target.commit is None or name != target.commit
    ]
    ancestry = Ancestry(
        commits=tuple(dict.fromkeys(entry.commit for entry in reversed(stored))),
        base_commit=stored[-1].commit if stored else None,
        anchor=TARGET_COMMIT,
    )
    in_force = tuple(entry for entry in accepted if entry.commit == target.commit or _is_said(entry, target))
    positions = {commit: position for position, commit in enumerate(ancestry.commits)}
    selection = select_runs(
        reversed(stored),
        target=target,
        ancestry=ancestry,
        window=window,
        restarts=Restarts(accepted=in_force, positions=positions, head=target.commit),
    )
    return Baseline(
        runs=tuple(reversed(selection.runs)),
        source=BaselineSource.HISTORY,
        base_commit=ancestry.base_commit,
        left_out_for_hardware=selection.left_out_for_hardware,
        accepted=selection.restarts.pending,
    )


def _is_said(entry: Acceptance, target: Run) -> bool:
    return target.time is None or entry.time <= target.time
