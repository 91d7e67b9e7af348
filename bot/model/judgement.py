"""What the policy says about a whole run; the report stage turns it into a `Report`."""

from dataclasses import dataclass

from bot.model.finding import Finding
from bot.model.metric import MetricKey
from bot.model.reason import Reason
from bot.model.report import Conclusion


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """`findings` are ordered for reading: loudest verdict first, then by size.

    `detectable_effect`: a change for the worse of at least this fraction would have been seen, with the policy's power,
    in every metric judged `no_change`; None where there is none. `failed`: some regression reached the fail threshold.
    """

    conclusion: Conclusion
    findings: tuple[Finding, ...] = ()
    missing: tuple[MetricKey, ...] = ()
    new: tuple[MetricKey, ...] = ()
    detectable_effect: float | None = None
    notes: tuple[Reason, ...] = ()
    failed: bool = False
