"""The decision rule's numbers, and the user's exceptions for single metrics."""

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final

from bot.detect.own_options import OwnOptions
from bot.model.count import MINIMUM_EFFECT, NAMES
from bot.model.metric import Direction, MetricKey

Categories = tuple[tuple[str, float | None], ...]

# [H13, figure 3] names the three; the bounds are METHODS 1's.
CATEGORIES: Final[Categories] = (("fast", 10.0), ("medium", 100.0), ("slow", None))


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricRule:
    """An exception for the metrics whose benchmark and metric name match (shell patterns, case-sensitive).

    None keeps the general setting. `category` assigns one by hand; `ignore` takes the metric out of the judgement.
    """

    match: str = "*"
    metric: str = "*"
    minimum_effect: float | None = None
    warn: float | None = None
    fail: float | None = None
    categories: Categories | None = None
    category: str | None = None
    direction: Direction | None = None
    ignore: bool = False

    def matches(self, key: MetricKey) -> bool:
        return fnmatchcase(key.benchmark, self.match) and fnmatchcase(key.metric, self.metric)


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicySettings:
    """Rates and effects are fractions. `warn` and `fail` default to the minimum effect: any regression fails.

    `categories` are names with their upper bounds in milliseconds, fastest first, the last without a bound; they
    apply to metrics of time where less is better. The first of `rules` that matches a metric is the only one that does.
    `ignore_environment` judges although the hardware differs. `ruler` is the fixed workload that tells how fast the
    machine was. `own` are single detectors' options. `general` holds for metrics without a rule,
    `counted` for counts: their own minimum effect is smaller.
    """

    alpha: float = 0.01
    false_discovery_rate: float = 0.01
    minimum_effect: float = 0.05
    minimum_samples: int = 4
    warn: float | None = None
    fail: float | None = None
    categories: Categories = CATEGORIES
    rules: tuple[MetricRule, ...] = ()
    ignore_environment: bool = False
    ruler: MetricKey | None = None
    own: OwnOptions = field(default_factory=OwnOptions)
    general: "MetricSettings" = field(init=False)
    counted: "MetricSettings" = field(init=False)

    def __post_init__(self) -> None:
        # Asked for each of thousands of metrics, of which few have a rule.
        object.__setattr__(self, "general", self._resolved(MetricRule(), self.minimum_effect))
        object.__setattr__(self, "counted", self._resolved(MetricRule(), min(self.minimum_effect, MINIMUM_EFFECT)))

    def of(self, key: MetricKey) -> "MetricSettings":
        rule = next((rule for rule in self.rules if rule.matches(key)), None)
        unruled = self.counted if key.metric in NAMES else self.general
        return unruled if rule is None else self._resolved(rule, unruled.minimum_effect)

    def _resolved(self, rule: MetricRule, minimum: float) -> "MetricSettings":
        minimum = minimum if rule.minimum_effect is None else rule.minimum_effect
        return MetricSettings(
            minimum_effect=minimum,
            warn=_first(rule.warn, self.warn, minimum),
            fail=_first(rule.fail, self.fail, minimum),
            categories=rule.categories or self.categories,
            category=rule.category,
            direction=rule.direction,
            ignore=rule.ignore,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricSettings:
    """What holds for one metric, all defaults resolved."""

    minimum_effect: float
    warn: float
    fail: float
    categories: Categories
    category: str | None
    direction: Direction | None
    ignore: bool


def _first(*values: float | None) -> float:
    return next(value for value in values if value is not None)
