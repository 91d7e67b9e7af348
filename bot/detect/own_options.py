"""What single detectors offer to choose; each field is one detector's."""

from dataclasses import dataclass, field

from bot.detect.rules.options import RuleOptions
from bot.stats.control_chart import DEFAULT_LIMITS


@dataclass(frozen=True, kw_only=True, slots=True)
class ChartOptions:
    """`limits` is one of `bot.stats.control_chart.LIMITS`, `single_run_margin` what a lone baseline run may be off.

    `drop_idle_time`: the lower of a counter's two modes is left out.
    """

    limits: str = DEFAULT_LIMITS
    single_run_margin: float = 0.05
    drop_idle_time: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnOptions:
    control_chart: ChartOptions = field(default_factory=ChartOptions)
    rule_ensemble: RuleOptions = field(default_factory=RuleOptions)
