"""How sure one can be of a share that was counted."""

from scipy import special


def share_interval(count: int, trials: int) -> tuple[float, float]:
    """95% bounds of the true share, two-sided, never too narrow [Clopper & Pearson 1934]; (0, 1) without trials.

    Assumes independent trials.
    """
    tail = 0.025
    low = float(special.betaincinv(count, trials - count + 1, tail)) if count else 0.0
    high = float(special.betaincinv(count + 1, trials - count, 1 - tail)) if count < trials else 1.0
    return low, high
