"""Confidence intervals of counted shares."""


def share_interval(count: int, trials: int) -> tuple[float, float]:
    """Two-sided 95% interval of the true share, never too narrow [Clopper & Pearson 1934]; (0, 1) without trials.

    Assumes independent trials.
    """
    if not trials:
        return 0.0, 1.0
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(count, trials, method="beta")
    return float(low), float(high)
