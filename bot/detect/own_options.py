"""What single detectors offer to choose; each field is one detector's."""

from dataclasses import dataclass, field

from bot.config.model import ControlChartConfig
from bot.detect.rules.options import RuleOptions


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnOptions:
    control_chart: ControlChartConfig = field(default_factory=ControlChartConfig)
    rule_ensemble: RuleOptions = field(default_factory=RuleOptions)
