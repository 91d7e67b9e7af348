"""`unit: sample`: the published test of a detector decides, on samples as if they were independent."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from perf_culprit.judge.detector import Assessed, DetectorOptions
from perf_culprit.judge.evidence_columns import EXACT, untested
from perf_culprit.judge.metric_pairs import MetricPair
from perf_culprit.judge.statistic import MEAN
from perf_culprit.judge.unit_evidence import Describe, assess
from perf_culprit.model.finding import BY_SAMPLE, Evidence, Interval, Side
from perf_culprit.model.reason import Remark, Untested, because
from perf_culprit.stats.conventions import LEVEL


@dataclass(frozen=True, kw_only=True, slots=True)
class SampleTest:
    """A published test: `low` and `high` bound the difference, in the metric's unit. `differs`: it calls a change."""

    p_value: float
    low: float
    high: float
    differs: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Published:
    """A detector's published test of the samples of two sides, by their `statistic`.

    The false alarms on unchanged code, one file a side, are those that benchmarks/accuracy/by_sample.py measured: in
    `of_benchmarks`, and in `of_runs` some.
    """

    name: str
    describe: Describe
    statistic: str
    of_benchmarks: float
    of_runs: float
    test: Callable[[Evidence, Side, Side, DetectorOptions], SampleTest | None]

    def detect(self, pairs: Sequence[MetricPair], options: DetectorOptions) -> Assessed:
        """Return one evidence per pair, in order. If asked to, the test decides, except on exact numbers."""
        assessed = assess(pairs, options, test=self.name, describe=self.describe)
        if options.settings.unit != "sample":
            return assessed
        note = because(Remark.BY_SAMPLE, of_benchmarks=self.of_benchmarks, of_runs=self.of_runs)
        evidence = [one if one.test == EXACT else self._decided(one, options) for one in assessed.evidence]
        return Assessed(evidence, notes=(*assessed.notes, note))

    def _decided(self, evidence: Evidence, options: DetectorOptions) -> Evidence:
        before, after = self._side(evidence.baseline), self._side(evidence.target)
        tested = None if before is None or after is None else self.test(evidence, before, after, options)
        if before is None or after is None or tested is None or not before.value:
            reason = evidence.evidence_reason or because(Untested.NEEDS_SAMPLES)
            return untested(evidence.key, evidence.metric, reason, baseline=evidence.baseline, target=evidence.target)
        usual = abs(before.value)
        return Evidence.of(
            key=evidence.key,
            metric=evidence.metric,
            test=f"{evidence.test}{BY_SAMPLE}",
            baseline=before,
            target=after,
            relative_change=(after.value - before.value) / usual,
            confidence_interval=Interval(low=tested.low / usual, high=tested.high / usual, level=LEVEL),
            p_value=tested.p_value,
            differs=tested.differs,
            details=evidence.details,
            notes=evidence.notes,
        )

    def _side(self, side: Side | None) -> Side | None:
        value = None if side is None else side.mean if self.statistic == MEAN else side.median
        return None if side is None or value is None else replace(side, value=value, statistic=self.statistic)
