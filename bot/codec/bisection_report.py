"""A bisection's answer as JSON (bisection v1): what `bisect --json` writes."""

from dataclasses import field
from functools import cache
from typing import Final, Literal

from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass

from bot.codec.wire import WIRE_CONFIG
from bot.model.bisection import Engine, OutcomeKind
from bot.model.bisection_report import BisectionReport
from bot.model.finding import Interval
from bot.model.metric import Direction

BISECTION_FORMAT: Final = "perf-culprit-bisection"
SCHEMA_NAME: Final = "bisection-v1"


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class IntervalEntry:
    low: float
    high: float
    level: float


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class CulpritEntry:
    commit: str
    subject: str | None
    posterior: float | None
    relative_change: float
    confidence_interval: IntervalEntry
    log_bayes_factor: float | None
    improvement: bool


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class SuspectEntry:
    commit: str
    subject: str | None
    posterior: float
    skipped: str | None


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class DecayEntry:
    after: str
    until: str
    relative_change: float
    share: float


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class NoiseEntry:
    """Of natural logarithms of single executions."""

    standard_deviation: float
    autocorrelation: float | None
    mode_ratio: float | None
    slow_share: float | None


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class MeasuredEntry:
    """One commit that was executed; `relative_change` against the good end within the same rounds."""

    commit: str
    subject: str | None
    executions: int
    relative_change: float | None
    confidence_interval: IntervalEntry | None
    failures: tuple[str, ...]


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class BisectionFile:
    """The whole file. `definite` says whether the exit code was 0."""

    format: Literal["perf-culprit-bisection"]
    version: Literal[1]
    outcome: OutcomeKind
    definite: bool
    reason: str
    good: str
    bad: str
    benchmark: str
    metric: str
    unit: str
    direction: Direction
    culprits: tuple[CulpritEntry, ...] = ()
    suspects: tuple[SuspectEntry, ...] = ()
    decay: tuple[DecayEntry, ...] = ()
    relative_change: float | None = None
    confidence_interval: IntervalEntry | None = None
    visible_effect: float | None = None
    unresolved: float | None = None
    noise: NoiseEntry | None = None
    executions: int = 0
    rounds: int = 0
    candidates: int = 0
    measured: tuple[MeasuredEntry, ...] = ()
    skipped: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    engine: Engine = Engine.BAYES
    seed: int = 0
    command: str = ""


@cache
def bisection_adapter() -> TypeAdapter[BisectionFile]:
    return TypeAdapter(BisectionFile)


def encode_bisection(report: BisectionReport) -> bytes:
    outcome, subjects = report.outcome, report.subjects
    file = BisectionFile(
        format="perf-culprit-bisection",
        version=1,
        outcome=outcome.kind,
        definite=report.is_definite,
        reason=outcome.reason,
        good=report.commit_range.good,
        bad=report.commit_range.bad,
        benchmark=report.key.benchmark,
        metric=report.key.metric,
        unit=report.metric.unit,
        direction=report.metric.direction,
        culprits=tuple(
            CulpritEntry(
                commit=entry.commit,
                subject=subjects.get(entry.commit),
                posterior=entry.posterior,
                relative_change=entry.relative_change,
                confidence_interval=_some_interval(entry.confidence_interval),
                log_bayes_factor=entry.log_bayes_factor,
                improvement=entry.improvement,
            )
            for entry in outcome.culprits
        ),
        suspects=tuple(
            SuspectEntry(
                commit=entry.commit,
                subject=subjects.get(entry.commit),
                posterior=entry.posterior,
                skipped=entry.skipped,
            )
            for entry in outcome.suspects
        ),
        decay=tuple(
            DecayEntry(after=entry.after, until=entry.until, relative_change=entry.relative_change, share=entry.share)
            for entry in outcome.decay
        ),
        relative_change=outcome.relative_change,
        confidence_interval=_interval(outcome.confidence_interval),
        visible_effect=outcome.visible_effect,
        unresolved=outcome.unresolved,
        noise=None
        if outcome.noise is None
        else NoiseEntry(
            standard_deviation=outcome.noise.standard_deviation,
            autocorrelation=outcome.noise.autocorrelation,
            mode_ratio=outcome.noise.mode_ratio,
            slow_share=outcome.noise.slow_share,
        ),
        executions=outcome.executions,
        rounds=outcome.rounds,
        candidates=len(report.commit_range.commits),
        measured=tuple(
            MeasuredEntry(
                commit=entry.commit,
                subject=subjects.get(entry.commit),
                executions=entry.executions,
                relative_change=entry.relative_change,
                confidence_interval=_interval(entry.confidence_interval),
                failures=entry.failures,
            )
            for entry in report.measured
        ),
        skipped=dict(outcome.skipped),
        notes=outcome.notes,
        engine=report.settings.engine,
        seed=report.settings.seed,
        command=report.command,
    )
    return bisection_adapter().dump_json(file, indent=2) + b"\n"


def _some_interval(interval: Interval) -> IntervalEntry:
    return IntervalEntry(low=interval.low, high=interval.high, level=interval.level)


def _interval(interval: Interval | None) -> IntervalEntry | None:
    return None if interval is None else _some_interval(interval)
