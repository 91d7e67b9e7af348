"""One metric's judgement, its baseline runs, and the rules between counters behind it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType, structs

from perf_culprit.errors import DataError
from perf_culprit.model.artifact_limits import ARTIFACT_LIMITS
from perf_culprit.model.detectors import SCALES, Scale
from perf_culprit.model.json_files import decode, encode, explicit_default
from perf_culprit.model.reason import Reason, Untested, VerdictReason
from perf_culprit.model.run import FULL_HASH_PATTERN, Direction, Metric, MetricKey, Run, TimeSeries, shared_metric


class ModelVote(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rule model's vote. `run` names the baseline run that trained it, by commit, else by time or number."""

    run: str
    weight: float
    flagged: bool


class ViolatedRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule that held in the baseline but not in the target. A rule with an empty `premise` always applies.

    Premise and consequent are in words ("cpu is high"). Confidences are shares of the instants with the premise;
    `change` is the cosine distance between them [F11].
    """

    premise: tuple[str, ...]
    consequent: str
    old_confidence: float
    new_confidence: float
    change: float


class RuleEvidence(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rule ensemble's evidence for one counter: at most a few `rules`, by falling change.

    `violations` are spans of the target, in seconds of its table's clock. Chart data: `lower_boundary` and
    `upper_boundary` bound the medium level, or all levels, in the nearest model.
    """

    votes: tuple[ModelVote, ...]
    rules: tuple[ViolatedRule, ...]
    violations: tuple[tuple[float, float], ...]
    lower_boundary: float
    upper_boundary: float


class Accepted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The acceptance of this regression, with its UTC `time`. The new level begins at `commit`."""

    commit: str
    author: str
    reason: str
    time: Annotated[datetime, msgspec.Meta(tz=True)]


class TradedChange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One metric before and after an accepted commit, in its unit: a cost of the commit, or a gain if `is_better`."""

    benchmark: str
    metric: str
    unit: str
    before: float
    after: float
    is_better: bool


class Acceptance(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    tag_field="format",
    tag="perf-culprit-acceptance",
):
    """An accepted regression. The new level begins at `commit`; `author` accepted it at `time` (UTC).

    A null `benchmark` accepts every benchmark that got worse there. It may also be a table of counters, or the full
    name of one counter or metric ("server cpu"). `pull_request` is set if its head was accepted: after a squash merge,
    that commit is not on the default branch. `changes` are the differences measured at the commit, if there are any.
    """

    version: Literal[1] = explicit_default(1)
    suite: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
    benchmark: Annotated[str, msgspec.Meta(min_length=1, max_length=ARTIFACT_LIMITS.benchmark_characters)] | None
    commit: Annotated[str, msgspec.Meta(pattern=f"^{FULL_HASH_PATTERN}$")]
    reason: Annotated[str, msgspec.Meta(min_length=1, max_length=ARTIFACT_LIMITS.reason_characters)]
    author: Annotated[str, msgspec.Meta(min_length=1, max_length=ARTIFACT_LIMITS.author_characters)]
    time: Annotated[datetime, msgspec.Meta(tz=True)]
    pull_request: Annotated[int, msgspec.Meta(ge=1)] | None = None
    changes: (
        Annotated[tuple[TradedChange, ...], msgspec.Meta(max_length=2 * ARTIFACT_LIMITS.traded_changes)] | UnsetType
    ) = UNSET

    @property
    def by(self) -> Accepted:
        """The part of the acceptance that a report shows."""
        return Accepted(commit=self.commit, author=self.author, reason=self.reason, time=self.time)

    def covers(self, key: MetricKey) -> bool:
        return self.benchmark in (None, key.benchmark, key.full_name)


def encode_acceptance(acceptance: Acceptance) -> bytes:
    return encode(acceptance, indent=1)


def decode_acceptance(data: bytes, *, place: str) -> Acceptance:
    if len(data) > ARTIFACT_LIMITS.acceptance_bytes:
        raise DataError(
            f"more than {ARTIFACT_LIMITS.acceptance_bytes:,} bytes",
            place=place,
            next_step="write it with `perf-culprit accept`",
        )
    return decode(Acceptance, data, place=place)


class Verdict(StrEnum):
    """The policy's judgement of one metric.

    `regression` and `improvement` are proven. `suspected` is a possible change; its sign is the direction. `differs`:
    the numbers of both sides differ, but with one run a side nothing tells the code from the machine. `unchanged`
    excludes a change of the minimum effect, `not_seen` does not. `untested`: nothing can be judged, for a stated
    reason.
    """

    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    SUSPECTED = "suspected"
    DIFFERS = "differs"
    UNCHANGED = "unchanged"
    NOT_SEEN = "not_seen"
    UNTESTED = "untested"


QUIET_VERDICTS: Final = frozenset({Verdict.UNCHANGED, Verdict.NOT_SEEN})
PROVEN: Final = frozenset({Verdict.REGRESSION, Verdict.IMPROVEMENT})
CALLED_VERDICTS: Final = PROVEN | {Verdict.SUSPECTED}


class Severity(StrEnum):
    """`major` if the benchmark no longer meets its assigned response-time category, else `minor` [H13]."""

    MAJOR = "major"
    MINOR = "minor"


class Level(StrEnum):
    """How prominently a regression is reported. Only `fail` gives exit code 1."""

    NOTE = "note"
    WARN = "warn"
    FAIL = "fail"


class Interval(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A two-sided confidence interval at the confidence `level`, such as 0.99."""

    low: float
    high: float
    level: float


class Side(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The target or the baseline of one metric, in the metric's unit.

    `value` is compared and displayed. `statistic` names it: "mean", "median", a tool's own, or "paired". A paired
    target's value is the baseline's, moved by the change within rounds. `mean` and `median` are of the `count` samples,
    if known. `runs` is the number of runs behind the value. `relative_half_width` is that of its 95% confidence
    interval.
    """

    value: float
    statistic: str = "mean"
    count: int
    mean: float | None = None
    median: float | None = None
    runs: int = 1
    standard_deviation: float | None = None
    relative_half_width: float | None = None


class Precision(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The precision of one metric's comparison. `rounds` is the number of rounds of a paired measurement.

    A worsening of `visible_change`, a fraction, would be suspected in 90% of cases; null above a factor of four.
    `rounds_to_prove` rounds would prove a change of the measured size in 90% of cases.
    """

    visible_change: float | None = None
    rounds: int | None = None
    rounds_to_prove: int | None = None


class SuiteChange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The change that all benchmarks have in common, as a fraction of their times.

    `is_suspected`: larger than between runs of the baseline. `is_left_in`: it is part of each benchmark's change;
    otherwise it is removed from the changes. `is_open`: nothing tells whether the machine or the code caused it.
    """

    change: float
    is_suspected: bool = False
    is_left_in: bool = False
    is_open: bool = False


class Excess(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Further results of a detector that judges by a limit.

    `chance` is the probability of such an excess without a change, `level_chance` that of such a median. `above`,
    `below`: the limit that is violated more than usual. A change of `detectable_effect` would have been detected.
    `time_in_violation` is a share of the target's time.
    """

    chance: float | None = None
    level_chance: float | None = None
    above: bool = False
    below: bool = False
    detectable_effect: float | None = None
    time_in_violation: float = 0.0


# The end of the test's name where a detector's published test of samples decided.
BY_SAMPLE: Final = "_by_sample"


class Evidence(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A detector's result for one metric, before the policy judges. `Finding` describes the members."""

    benchmark: str
    metric_name: str = msgspec.field(name="metric")
    unit: str
    direction: Direction
    test: str
    baseline: Side | None = None
    target: Side | None = None
    relative_change: float | None = None
    confidence_interval: Interval | None = None
    p_value: float | None = None
    rate: float | None = None
    differs: bool = False
    score: float | None = None
    threshold: float | None = None
    evidence_reason: Reason | None = None
    precision: Precision = Precision()
    excess: Excess = Excess()
    details: Mapping[str, float] = {}
    notes: tuple[Reason, ...] = ()
    rules: RuleEvidence | None = None

    @classmethod
    def of(cls, *, key: MetricKey, metric: Metric, **others: Any) -> "Evidence":
        return cls(
            benchmark=key.benchmark, metric_name=key.metric, unit=metric.unit, direction=metric.direction, **others
        )

    @property
    def key(self) -> MetricKey:
        return MetricKey(self.benchmark, self.metric_name)

    @property
    def metric(self) -> Metric:
        return shared_metric(self.metric_name, self.unit, self.direction)

    @property
    def scale(self) -> Scale | None:
        return SCALES.get(self.test)

    @property
    def is_by_limit(self) -> bool:
        """Whether a score and its limit decide, as for counters, and no rate."""
        return self.rate is None and self.score is not None and self.threshold is not None

    @property
    def is_by_sample(self) -> bool:
        """Whether a published test decided, on samples as if they were independent."""
        return self.test.endswith(BY_SAMPLE)

    @property
    def violation(self) -> float:
        """The score as a multiple of the threshold, which determines the order of presentation [N12, section 5.3.1]."""
        if not self.score or self.threshold is None:
            return 0.0
        return self.score / self.threshold if self.threshold else float("inf")


class Drawn(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Chart data: the sorted samples, or a selection if there are many, and a counter's values over time."""

    baseline_samples: tuple[float, ...] = ()
    target_samples: tuple[float, ...] = ()
    time_series: TimeSeries | None = None


class Finding(Evidence, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The judgement of one metric, with everything to display it.

    `test` names the detector, or `exact`. `rate` is the share of unchanged runs in which any metric looks this
    different; the verdict depends on it. It is null if nothing could be tested, and `evidence_reason` gives the reason.
    `differs`: the samples of the two sides differ beyond their scatter, and there is one run a side, or a published
    test of samples decides. Next to a rate or a score above its threshold, that reason is another explanation.
    `p_value` is of this metric alone. `relative_change` is (target - baseline) / baseline: 0.1 is 10% more. A detector
    that judges by a limit has a `score` (violation ratio, share of votes), which is out of control above `threshold`.
    `details` are the detector's own numbers by name (F, control limits, …), only for display. `rules` has the rule
    ensemble's results for counters out of control.

    `detectable_effect` is the smallest change, a fraction, that would have been suspected; null if a change was seen or
    it is unknown. `category` was assigned, with its upper bound `category_limit` in the metric's unit; `category_now`
    is the target's. `series` are the values of the baseline runs, oldest first, and then the target's. `drawn` is for
    the command that measured, and never in a file. `accepted`: somebody accepted this regression, so that its verdict
    is `not_seen`.
    """

    verdict: Verdict
    reason: Reason
    severity: Severity | None = None
    level: Level = Level.NOTE
    detectable_effect: float | None = None
    minimum_effect: float = 0.0
    category: str | None = None
    category_now: str | None = None
    category_limit: float | None = None
    series: tuple[float, ...] = ()
    drawn: Drawn | UnsetType = UNSET
    accepted: Accepted | None = None

    @classmethod
    def judged(cls, evidence: Evidence, **judgement: Any) -> "Finding":
        return cls(**structs.asdict(evidence), **judgement)

    @property
    def chart(self) -> Drawn:
        return self.drawn or Drawn()

    @property
    def is_decided(self) -> bool:
        """Whether a change is proven, or one of the minimum effect excluded: more measuring is not worthwhile."""
        return self.verdict in PROVEN | {Verdict.UNCHANGED} or self.is_of_other_benchmark

    @property
    def is_of_other_benchmark(self) -> bool:
        """Whether the sides measured two versions of the benchmark, so that they are not comparable."""
        return self.reason.code is Untested.BENCHMARK_CHANGED

    @property
    def is_other_load(self) -> bool:
        """Whether this is the load itself, and differs so much that its counters are not comparable."""
        return self.reason.code is Untested.OTHER_LOAD

    @property
    def is_watched(self) -> bool:
        """Whether it got or looks worse, and the configuration only watches it."""
        return self.reason.code is VerdictReason.WATCHED

    @property
    def is_set_aside(self) -> bool:
        """Whether it got or looks worse and fails nothing."""
        return self.accepted is not None or self.is_watched

    @property
    def looks_worse(self) -> bool:
        """Whether a suspected change would be a regression."""
        sign, change = self.direction.worse_sign, self.relative_change
        return self.verdict is Verdict.SUSPECTED and (change is None or not sign or change * sign > 0)


def traded(findings: Iterable[Finding], *, benchmark: str | None) -> tuple[TradedChange, ...]:
    """Return the regressions of `benchmark` (None: of all) and the improvements at the same commit, largest first."""
    sides: dict[bool, list[TradedChange]] = {False: [], True: []}
    for finding in findings:
        is_better = finding.verdict is Verdict.IMPROVEMENT
        is_worse = finding.verdict is Verdict.REGRESSION or finding.looks_worse or finding.accepted is not None
        covered = benchmark in (None, finding.key.benchmark, finding.key.full_name)
        if finding.baseline and finding.target and (is_better or (is_worse and covered)):
            change = TradedChange(
                benchmark=finding.key.benchmark,
                metric=finding.key.metric,
                unit=finding.unit,
                before=finding.baseline.value,
                after=finding.target.value,
                is_better=is_better,
            )
            sides[is_better].append(change)
    return (*sides[False][: ARTIFACT_LIMITS.traded_changes], *sides[True][: ARTIFACT_LIMITS.traded_changes])


class BaselineSource(StrEnum):
    """The origin of the baseline, which decides which doubts about it apply."""

    FILES = "files"  # given on the command line
    PAIRED = "paired"  # measured in the same job as the target, interleaved
    HISTORY = "history"  # stored runs of earlier commits


class RunChoice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One stored run that was considered, whether it belongs to the baseline, and why."""

    commit: str | None
    time: str | None
    chosen: bool
    reason: Reason


@dataclass(frozen=True, kw_only=True, slots=True)
class Baseline:
    """`runs` from oldest to newest. `base_commit` is the commit that they represent (the merge base).

    `is_branched`: the target left the runs' branch, so it did not cause earlier regressions there.
    `left_out_for_hardware` counts runs that only their different hardware excludes.
    `accepted` are the accepted regressions between these runs and the target. `unsettled` metrics were judged
    regressions by runs that may have started a new level: no later run exists yet.
    """

    runs: tuple[Run, ...]
    source: BaselineSource
    base_commit: str | None = None
    is_branched: bool = False
    choices: tuple[RunChoice, ...] = ()
    notes: tuple[Reason, ...] = ()
    left_out_for_hardware: int = 0
    accepted: tuple[Acceptance, ...] = ()
    unsettled: frozenset[MetricKey] = frozenset()

    @property
    def only_other_hardware(self) -> bool:
        """Whether there are runs to compare with, but all of them on other hardware."""
        return not self.runs and self.left_out_for_hardware > 0
