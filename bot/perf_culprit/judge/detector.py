"""A detector is a value of its module. It has a function per kind of measurement that it judges."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import NoReturn

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge.counter_pairs import TablePair
from perf_culprit.judge.metric_pairs import MetricPair
from perf_culprit.model.finding import Evidence, SuiteChange
from perf_culprit.model.reason import Reason
from perf_culprit.stats.unit_table import Tiers


@dataclass(frozen=True, kw_only=True, slots=True)
class DetectorOptions:
    """`paired`: the executions of both sides alternated on one machine, in rounds."""

    settings: PolicySettings = field(default_factory=PolicySettings)
    paired: bool = False

    @property
    def tiers(self) -> Tiers:
        return Tiers(proven=self.settings.proven, suspected=self.settings.suspected)


@dataclass(frozen=True, slots=True)
class Assessed:
    """`evidence` per pair, in order; `suite`: how far all benchmarks moved together, if the detector computes it.

    `notes` apply to the runs.
    """

    evidence: Sequence[Evidence]
    suite: SuiteChange | None = None
    notes: tuple[Reason, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class LimitRule:
    """How the policy treats a detector's scores of counters, which have a limit instead of a rate.

    `is_set`: the operator set the limit, and exceeding it suffices. `is_published`: so it does for the published
    method, which knows no minimum effect and calls a share of unchanged metrics between those of `alarms`.
    """

    is_set: Callable[[PolicySettings], bool] = lambda _: False
    is_published: Callable[[PolicySettings], bool] = lambda _: False
    alarms: tuple[float, float] = (0.0, 0.0)


def _not_judged(data: object, options: DetectorOptions) -> NoReturn:
    raise TypeError(f"the detector does not judge {data!r:.100} with {options!r:.100}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Sweep:
    """The values of a detector's `option` that an audit compares; `is_limit`: it only limits the score.

    None leaves the option out.
    """

    option: str
    values: tuple[float | None, ...]
    is_limit: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Detector:
    """A detector describes the measurements; the policy judges.

    `detect` returns one evidence per pair, `detect_counters` one per counter of each table, in order. A metric that
    cannot be judged has neither rate nor score, but a reason. `remarks` tell the reader how it judged counters.
    """

    detect: Callable[[Sequence[MetricPair], DetectorOptions], Assessed] = _not_judged
    detect_counters: Callable[[Sequence[TablePair], DetectorOptions], list[Evidence]] = _not_judged
    remarks: Callable[[Sequence[TablePair], DetectorOptions], Sequence[Reason]] = lambda _tables, _options: ()
    limit: LimitRule = field(default_factory=LimitRule)
    sweep: Sweep | None = None


@cache
def detector_of(name: str) -> Detector:
    """Return a declared detector. Its module is loaded only where it is used."""
    detector: Detector = import_module(f"perf_culprit.judge.{name}").DETECTOR
    return detector
