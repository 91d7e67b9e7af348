"""A method that takes longer is called more often, or a call of it takes longer: told apart by the calls."""

import math
from typing import Final

from bot.diagnose.comparison.align import AlignedNode
from bot.model.tree_comparison import ChangeCause

# Of the logarithm of the slowdown: what explains less than that is no cause of its own.
NEGLIGIBLE: Final = 0.1


def cause_of(node: AlignedNode) -> ChangeCause | None:
    """Elapsed time is calls x time per call, so the logarithms of the two ratios add up.

    None where calls are not counted.
    """
    before, after = node.baseline, node.target
    if before is None or after is None or not before.calls or not after.calls:
        return None
    if before.elapsed.mean <= 0 or after.elapsed.mean <= before.elapsed.mean:
        return None
    by_calls = math.log(after.calls / before.calls) / math.log(after.elapsed.mean / before.elapsed.mean)
    if by_calls >= 1 - NEGLIGIBLE:
        return ChangeCause.MORE_CALLS
    return ChangeCause.TIME_PER_CALL if by_calls <= NEGLIGIBLE else ChangeCause.BOTH


def called_more_often(caller: AlignedNode, callee: AlignedNode) -> bool:
    """Whether one call of the caller makes more calls of the callee: then the reason is in the caller's code."""
    sides = (caller.baseline, caller.target, callee.baseline, callee.target)
    calls = [side.calls for side in sides if side is not None and side.calls]
    if len(calls) < len(sides) or callee.gain <= 0:
        return False
    before, after, callee_before, callee_after = calls
    slowdown = caller.gain
    more = callee_after / after - callee_before / before
    if more <= 0 or callee.baseline is None or slowdown <= 0:
        return False
    # What the additional calls would have cost at the former time per call, as part of the caller's slowdown.
    return more * after * callee.baseline.elapsed.mean / callee_before >= NEGLIGIBLE * slowdown
