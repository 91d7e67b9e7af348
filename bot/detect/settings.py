"""The decision rule's numbers, and the user's exceptions for single metrics."""

from dataclasses import dataclass, field

from bot.config.model import CATEGORIES, BenchmarkConfig, CategoryConfig, ControlChartConfig, LevelsConfig
from bot.detect.rules.options import RuleOptions
from bot.model.count import MINIMUM_EFFECT, is_exact
from bot.model.metric import Direction, MetricKey


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnOptions:
    control_chart: ControlChartConfig = field(default_factory=ControlChartConfig)
    rule_ensemble: RuleOptions = field(default_factory=RuleOptions)


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicySettings:
    """Rates and effects are fractions. Without `levels` any regression of the minimum effect fails.

    `categories`, fastest first, apply to metrics of time where less is better. The first of `rules` that matches a
    metric is the only one that does. `ignore_environment` judges although the hardware differs. `ruler` is the fixed
    workload that tells how fast the machine was. `own` are single detectors' options. `general` holds for metrics
    without a rule, `counted` for counts: their own minimum effect is smaller.
    """

    alpha: float = 0.01
    false_discovery_rate: float = 0.01
    minimum_effect: float = 0.05
    minimum_samples: int = 4
    levels: LevelsConfig = field(default_factory=LevelsConfig)
    categories: tuple[CategoryConfig, ...] = CATEGORIES
    rules: tuple[BenchmarkConfig, ...] = ()
    ignore_environment: bool = False
    ruler: MetricKey | None = None
    own: OwnOptions = field(default_factory=OwnOptions)
    general: "MetricSettings" = field(init=False)
    counted: "MetricSettings" = field(init=False)

    def __post_init__(self) -> None:
        # Asked for each of thousands of metrics, of which few have a rule.
        every = BenchmarkConfig(match="*")
        object.__setattr__(self, "general", self._resolved(every, self.minimum_effect))
        object.__setattr__(self, "counted", self._resolved(every, min(self.minimum_effect, MINIMUM_EFFECT)))

    def of(self, key: MetricKey) -> "MetricSettings":
        rule = next((rule for rule in self.rules if rule.matches(key)), None)
        unruled = self.counted if is_exact(key.metric) else self.general
        return unruled if rule is None else self._resolved(rule, unruled.minimum_effect)

    def _resolved(self, rule: BenchmarkConfig, minimum: float) -> "MetricSettings":
        minimum = minimum if rule.minimum_effect is None else rule.minimum_effect
        return MetricSettings(
            minimum_effect=minimum,
            warn=_first(rule.levels.warn, self.levels.warn, minimum),
            # Without a level of its own, what warns also fails.
            fail=_first(rule.levels.fail, rule.levels.warn, self.levels.fail, self.levels.warn, minimum),
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
    categories: tuple[CategoryConfig, ...]
    category: str | None
    direction: Direction | None
    ignore: bool


def _first(*values: float | None) -> float:
    return next(value for value in values if value is not None)
