"""One metric's judgement, its baseline runs, and the rules between counters behind it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType, structs

from perf_culprit.errors import DataError
from perf_culprit.model.json_files import decode, encode, written
from perf_culprit.model.reason import Reason, Untested
from perf_culprit.model.run import (
    FULL_HASH_PATTERN,
    Direction,
    Metric,
    MetricKey,
    Run,
    TimeSeries,
    shared_metric,
)

# Rules between counters and their result for one counter: the data of a report's votes, rules and shaded spans.


class ModelVote(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rule model: `run` names the baseline run that trained it (commit, else time or number)."""

    run: str
    weight: float
    flagged: bool


class ViolatedRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule that held in the baseline and not in the target; an empty `premise` held always.

    Premise and consequent are in words ("cpu is high"). Confidences are shares of the instants with the premise;
    `change` is the cosine distance between them [F11].
    """

    premise: tuple[str, ...]
    consequent: str
    old_confidence: float
    new_confidence: float
    change: float


class RuleEvidence(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`rules` by falling change, at most a few. `violations` are spans of the target, in seconds of its table's clock.

    `lower_boundary` and `upper_boundary` bound the medium level (or all levels) in the nearest model: chart data.
    """

    votes: tuple[ModelVote, ...]
    rules: tuple[ViolatedRule, ...]
    violations: tuple[tuple[float, float], ...]
    lower_boundary: float
    upper_boundary: float


# One metric's judgement.


MAX_BYTES: Final = 16 * 1024
REASON_LIMIT: Final = 300
AUTHOR_LIMIT: Final = 100
BENCHMARK_LIMIT: Final = 500


class Accepted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who accepted this regression, why, when (UTC), and the `commit` where the new level begins."""

    commit: str
    author: str
    reason: str
    time: Annotated[datetime, msgspec.Meta(tz=True)]


MOST_TRADED: Final = 20


class TradedChange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One metric's values, in its unit, around an accepted commit: what it cost, or, `is_better`, what it gained."""

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
    """`commit` is where the new level begins. `benchmark` None: every benchmark that got worse there.

    `benchmark` may also be a table of counters, or the full name of one counter or metric ("server cpu").

    `author` is who accepted it, `time` when (UTC). `pull_request`: where it was said of a pull request's head, which a
    squash leaves out of the default branch. `changes` are what was measured there, both sides, where it was.
    """

    version: Literal[1] = written(1)
    suite: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
    benchmark: Annotated[str, msgspec.Meta(min_length=1, max_length=BENCHMARK_LIMIT)] | None
    commit: Annotated[str, msgspec.Meta(pattern=f"^{FULL_HASH_PATTERN}$")]
    reason: Annotated[str, msgspec.Meta(min_length=1, max_length=REASON_LIMIT)]
    author: Annotated[str, msgspec.Meta(min_length=1, max_length=AUTHOR_LIMIT)]
    time: Annotated[datetime, msgspec.Meta(tz=True)]
    pull_request: Annotated[int, msgspec.Meta(ge=1)] | None = None
    changes: Annotated[tuple[TradedChange, ...], msgspec.Meta(max_length=2 * MOST_TRADED)] | UnsetType = UNSET

    @property
    def by(self) -> Accepted:
        """The part of the acceptance that a report shows."""
        return Accepted(commit=self.commit, author=self.author, reason=self.reason, time=self.time)

    def covers(self, key: MetricKey) -> bool:
        return self.benchmark in (None, key.benchmark, key.full_name)


def encode_acceptance(acceptance: Acceptance) -> bytes:
    return encode(acceptance, indent=1)


def decode_acceptance(data: bytes, *, place: str) -> Acceptance:
    if len(data) > MAX_BYTES:
        raise DataError(f"more than {MAX_BYTES:,} bytes", place=place, next_step="write it with `perf-culprit accept`")
    return decode(Acceptance, data, place=place)


class Verdict(StrEnum):
    """What the policy says about one metric.

    Proven: a regression or an improvement. `suspected`: a change in either direction, as its sign says. `unchanged`:
    one of the minimum effect is excluded; `not_seen`: it is not. `untested`: nothing can be told, and a reason why.
    """

    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    SUSPECTED = "suspected"
    UNCHANGED = "unchanged"
    NOT_SEEN = "not_seen"
    UNTESTED = "untested"


QUIET: Final = frozenset({Verdict.UNCHANGED, Verdict.NOT_SEEN})
PROVEN: Final = frozenset({Verdict.REGRESSION, Verdict.IMPROVEMENT})
CALLED: Final = PROVEN | {Verdict.SUSPECTED}


class Severity(StrEnum):
    """[H13]: `major` where the requirement of the assigned category is no longer met, else `minor`."""

    MAJOR = "major"
    MINOR = "minor"


class Level(StrEnum):
    """How loudly a regression is said; only `fail` gives exit code 1."""

    NOTE = "note"
    WARN = "warn"
    FAIL = "fail"


class Interval(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A two-sided confidence interval; `level` such as 0.99."""

    low: float
    high: float
    level: float


class Side(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The target or the baseline of one metric, described in the metric's unit.

    `value` is what is compared and shown, `statistic` what it is: "mean", "median", "paired" (the
    baseline's, moved by the change found within rounds), or what a tool states. `mean` and
    `median` are those of the `count` samples, where known. `runs` counts the runs behind it; `relative_half_width` is
    that of the value's 95% confidence interval.
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
    """`visible_change`: a worsening of this fraction would have been suspected in 90% of cases; None beyond four times.

    `rounds`: of a paired measurement. `rounds_to_prove`: as many as prove a change like this in 90% of cases.
    """

    visible_change: float | None = None
    rounds: int | None = None
    rounds_to_prove: int | None = None


class SuiteChange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The change that all benchmarks have in common, as a fraction of their times.

    `is_suspected`: larger than between runs of the baseline. `is_left_in`: it is part of each benchmark's change;
    otherwise it is removed from the changes.
    """

    change: float
    is_suspected: bool = False
    is_left_in: bool = False


class Excess(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a detector that judges by a limit knows in addition to its score.

    `chance`: how often such an excess comes without a change; `level_chance`: such a median among the runs' medians.
    `above`, `below`: which limit is violated more than usual. `detectable_effect` would have been seen.
    """

    chance: float | None = None
    level_chance: float | None = None
    above: bool = False
    below: bool = False
    detectable_effect: float | None = None
    time_in_violation: float = 0.0


class Evidence(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A detector's result for one metric, before the policy judges.

    `test` names the detector, or `exact`. `rate`: the share of unchanged runs in which any metric looks this different.
    The tiers depend on it. It is None if nothing could be tested; then `evidence_reason` gives the reason. Next to a
    rate or a score above its threshold, that reason is another explanation. `p_value` is of this metric alone.
    `relative_change` = (target - baseline) / baseline, with its interval: 0.1 is 10% more.
    `score` and `threshold`: for detectors that judge by a limit instead of a p-value (violation ratio, share of votes);
    out of control above the threshold. `details` holds the detector's own numbers by name (F, control limits, …), only
    for people: no decision uses them. `rules`: a rule ensemble's further results, for counters out of control.
    """

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


class Drawn(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Chart data: samples by size, and some of many; of a counter what it did over time."""

    baseline_samples: tuple[float, ...] = ()
    target_samples: tuple[float, ...] = ()
    time_series: TimeSeries | None = None


class Finding(Evidence, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The policy's judgement of one metric, with everything a renderer needs.

    `detectable_effect` is the smallest change, as a fraction, that would have been suspected in a metric in which none
    was seen; None where that is not known. `category` is the assigned one with its upper bound `category_limit` in the
    metric's unit, `category_now` the target's. `series` are the values of the baseline runs from oldest to newest and,
    last, the target's. `drawn` is for the command that measured only, and in no file that it writes. `accepted`:
    somebody accepted this regression; its verdict then is `not_seen`.
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
    def looks_worse(self) -> bool:
        """Whether a suspected change would be a regression."""
        sign, change = self.direction.worse_sign, self.relative_change
        return self.verdict is Verdict.SUSPECTED and (change is None or not sign or change * sign > 0)


def traded(findings: Iterable[Finding], *, benchmark: str | None) -> tuple[TradedChange, ...]:
    """The regressions of `benchmark` (None: of all), and every improvement at the same commit; the largest first."""
    sides: dict[bool, list[TradedChange]] = {False: [], True: []}
    for one in findings:
        is_better = one.verdict is Verdict.IMPROVEMENT
        is_worse = one.verdict is Verdict.REGRESSION or one.looks_worse or one.accepted is not None
        covered = benchmark in (None, one.key.benchmark, one.key.full_name)
        if one.baseline and one.target and (is_better or (is_worse and covered)):
            change = TradedChange(
                benchmark=one.key.benchmark,
                metric=one.key.metric,
                unit=one.unit,
                before=one.baseline.value,
                after=one.target.value,
                is_better=is_better,
            )
            sides[is_better].append(change)
    return (*sides[False][:MOST_TRADED], *sides[True][:MOST_TRADED])


# The runs that a target is judged against, and why each was chosen or rejected.


class BaselineSource(StrEnum):
    """Where the baseline came from; decides which doubts are raised about it."""

    FILES = "files"  # given on the command line
    PAIRED = "paired"  # measured in the same job as the target, interleaved
    HISTORY = "history"  # stored runs of earlier commits


class RunChoice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One stored run that was looked at: whether it is baseline, and why or why not."""

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
