"""What every detector is: a module with an identity and one function."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bot.detect.pairs import MetricPair
from bot.model.finding import Evidence


@dataclass(frozen=True, kw_only=True, slots=True)
class DetectorOptions:
    """`alpha` gives the intervals' confidence; `minimum_effect` is the change that sample counts are planned for.

    `paired`: all runs were measured interleaved on one machine, so a run is no unit of its own.
    """

    alpha: float = 0.01
    minimum_effect: float = 0.05
    paired: bool = False


class Detector(Protocol):
    """A module of `bot/detect/`: it describes what was measured, the policy judges.

    `detect` gives one evidence per pair, in order. A metric about which it can say nothing has no p-value and a reason.
    """

    # Lower-case, as the user writes it in the configuration.
    ID: str
    # One line for lists of detectors.
    DESCRIPTION: str
    # Its page below docs/.
    DOCS: str

    def detect(self, pairs: Sequence[MetricPair], options: DetectorOptions) -> list[Evidence]: ...
