"""Evidence per metric from a detector, and the policy that judges it.

A detector is a module of this package that fits `Detector`; it is in use once it is in `DETECTORS`.
"""

from typing import Final

from bot.detect import anova
from bot.detect.detector import Detector

DETECTORS: Final[dict[str, Detector]] = {
    anova.ID: anova,
}
