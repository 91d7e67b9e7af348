"""Response-time categories: which requirement a benchmark was assigned, and whether it still meets it [H13]."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.config.model import CategoryConfig
from bot.detect.pairs import MetricPair
from bot.detect.settings import MetricSettings
from bot.detect.units import milliseconds_per
from bot.model.count import Count
from bot.model.metric import Direction


@dataclass(frozen=True, kw_only=True, slots=True)
class CategoryChange:
    """`violated`: the target no longer meets the requirement of the assigned category."""

    assigned: str | None = None
    now: str | None = None
    violated: bool = False


def category_change(pair: MetricPair, *, target_mean: float, settings: MetricSettings) -> CategoryChange:
    """The category assigned by hand, stored with the baseline or of its oldest run, and the target's.

    Only response times have categories. A stored name that is no longer configured is as good as none.
    """
    milliseconds = milliseconds_per(pair.metric.unit)
    if (
        pair.metric.name == Count.BUILD_TIME
        or milliseconds is None
        or pair.metric.direction is not Direction.LOWER_IS_BETTER
        or pair.obstacle is not None
    ):
        return CategoryChange()
    names = [category.name for category in settings.categories]
    stored = (settings.category, *(run.category for run in pair.baseline))
    candidates = (name for name in stored if name in names)
    assigned = next(candidates, None) or category_of(pair.baseline[0].value * milliseconds, settings.categories)
    now = category_of(target_mean * milliseconds, settings.categories)
    return CategoryChange(assigned=assigned, now=now, violated=names.index(now) > names.index(assigned))


def category_of(time_ms: float, categories: Sequence[CategoryConfig]) -> str:
    """The first category whose upper bound is above `time_ms`; the last one if there is none."""
    return next((one.name for one in categories if one.below is None or time_ms < one.below), categories[-1].name)
