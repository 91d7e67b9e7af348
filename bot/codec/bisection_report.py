"""A bisection's answer as JSON (bisection v1): what `bisect --json` writes."""

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Final, Literal, TypeVar

from pydantic.dataclasses import dataclass

from bot.codec.fields import same_fields
from bot.codec.reason import Sentence
from bot.codec.wire import WIRE_CONFIG, encode
from bot.model.bisection import Culprit, DecayPart, Engine, Noise, OutcomeKind, Suspect
from bot.model.bisection_report import BisectionReport, CulpritDiagnosis, MeasuredCommit
from bot.model.environment import EnvironmentChange
from bot.model.finding import Interval
from bot.model.metric import Direction
from bot.model.reason import Reason

SCHEMA_NAME: Final = "bisection-v1"


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class CulpritEntry(Culprit):
    """`updates`: the packages to which this commit gave another version."""

    subject: str | None
    updates: tuple[EnvironmentChange, ...] = ()


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class SuspectEntry(Suspect):
    subject: str | None


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class MeasuredEntry(MeasuredCommit):
    subject: str | None


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class BisectionFile:
    """The whole file. `definite` says whether the exit code was 0."""

    format: Literal["perf-culprit-bisection"]
    version: Literal[1]
    outcome: OutcomeKind
    definite: bool
    reason: str
    needed: int | None = None
    good: str
    bad: str
    benchmark: str
    metric: str
    unit: str
    direction: Direction
    culprits: tuple[CulpritEntry, ...] = ()
    suspects: tuple[SuspectEntry, ...] = ()
    decay: tuple[DecayPart, ...] = ()
    relative_change: float | None = None
    confidence_interval: Interval | None = None
    visible_effect: float | None = None
    further_probability: float | None = None
    unresolved: float | None = None
    unresolved_part: tuple[str, str] | None = None
    noise: Noise | None = None
    executions: int = 0
    rounds: int = 0
    candidates: int = 0
    measured: tuple[MeasuredEntry, ...] = ()
    skipped: dict[str, str] = field(default_factory=dict)
    notes: tuple[Reason, ...] = ()
    engine: Engine = Engine.BAYES
    seed: int = 0
    command: str = ""
    runner_seconds: float = 0.0
    diagnosis: CulpritDiagnosis | None = None


def encode_bisection(
    report: BisectionReport, *, headline: Callable[[BisectionReport], str], sentence: Sentence
) -> bytes:
    """`headline` words why the search ended, `sentence` a reason: JSON is read by people as well."""
    outcome = report.outcome
    file = same_fields(
        BisectionFile,
        outcome,
        format="perf-culprit-bisection",
        version=1,
        outcome=outcome.kind,
        definite=report.is_definite,
        reason=headline(report),
        good=report.commit_range.good,
        bad=report.commit_range.bad,
        benchmark=report.key.benchmark,
        metric=report.key.metric,
        unit=report.metric.unit,
        direction=report.metric.direction,
        culprits=tuple(
            replace(entry, updates=report.updates.get(entry.commit, ()))
            for entry in _with_subjects(CulpritEntry, outcome.culprits, report)
        ),
        suspects=_with_subjects(SuspectEntry, outcome.suspects, report),
        measured=_with_subjects(MeasuredEntry, report.measured, report),
        candidates=len(report.commit_range.commits),
        skipped=dict(outcome.skipped),
        engine=report.settings.engine,
        seed=report.settings.seed,
        command=report.command,
        runner_seconds=report.runner_seconds,
        diagnosis=report.diagnosis,
    )
    return encode(file, indent=2, context={"sentence": sentence})


Entry = TypeVar("Entry", CulpritEntry, SuspectEntry, MeasuredEntry)


def _with_subjects(
    kind: type[Entry], parts: Sequence[Culprit | Suspect | MeasuredCommit], report: BisectionReport
) -> tuple[Entry, ...]:
    return tuple(same_fields(kind, part, subject=report.subjects.get(part.commit)) for part in parts)
