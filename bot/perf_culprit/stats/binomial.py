"""How sure one can be of a share that was counted."""


def share_interval(count: int, trials: int) -> tuple[float, float]:
    """95% bounds of the true share, two-sided, never too narrow [Clopper & Pearson 1934]; (0, 1) without trials.

    Assumes independent trials.
    """
    if not trials:
        return 0.0, 1.0
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(count, trials, method="beta")
    return float(low), float(high)
