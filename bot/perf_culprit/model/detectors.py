"""The detectors, declared once: configuration, judge, words and charts take from here what they need to know of one."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Scale(StrEnum):
    """A score is the share of samples outside limits, the share of models that vote, or the strength of a change."""

    OUTSIDE = "outside"
    VOTES = "votes"
    STRENGTH = "strength"


@dataclass(frozen=True, kw_only=True, slots=True)
class DeclaredDetector:
    """A detector of benchmarks, of counters or of both; `judge/<name>.py` computes it, `docs/detectors` describes it.

    `scale`: that of its score, where that has a limit instead of a rate. `by_sample`: its published test of samples
    can decide alone.
    """

    name: str
    of_benchmarks: bool = False
    of_counters: bool = False
    scale: Scale | None = None
    by_sample: bool = False


DECLARED: Final = (
    DeclaredDetector(name="anova", of_benchmarks=True, by_sample=True),
    DeclaredDetector(name="median_interval", of_benchmarks=True, by_sample=True),
    DeclaredDetector(name="control_chart", of_benchmarks=True, of_counters=True, scale=Scale.OUTSIDE),
    DeclaredDetector(name="change_point", of_benchmarks=True, scale=Scale.STRENGTH),
    DeclaredDetector(name="rule_ensemble", of_counters=True, scale=Scale.VOTES),
)
BENCHMARK_DETECTORS: Final = tuple(detector.name for detector in DECLARED if detector.of_benchmarks)
COUNTER_DETECTORS: Final = tuple(detector.name for detector in DECLARED if detector.of_counters)
# These stand for themselves: the small print does not name them.
DEFAULT_DETECTOR: Final = BENCHMARK_DETECTORS[0]
DEFAULT_COUNTER_DETECTOR: Final = COUNTER_DETECTORS[0]
BY_SAMPLE_DETECTORS: Final = tuple(detector.name for detector in DECLARED if detector.by_sample)
SCALES: Final[Mapping[str, Scale]] = {
    detector.name: detector.scale for detector in DECLARED if detector.scale is not None
}


def detector_page(name: str) -> str:
    """Return the page of a detector below `docs`."""
    return f"detectors/{name.replace('_', '-')}.md"
