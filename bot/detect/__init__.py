"""Evidence per metric from a detector, and the policy that judges it.

A detector is a module of this package that fits one or both protocols of `bot.detect.detector`; it is in use once it
is in `registry`, under what it judges.
"""

from typing import TYPE_CHECKING

from bot.lazy import front_door

if TYPE_CHECKING:
    from bot.detect.registry import COUNTER_DETECTORS, COUNTER_REMARKS, DETECTORS, REMARKS
else:
    __getattr__ = front_door(__name__)
