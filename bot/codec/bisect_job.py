"""What a bisect job measured, as JSON (bisect-job v1): written beside a stranger's code, so nothing in it is believed.

Numbers, texts and counts are bounded here; that they belong to what was asked for is checked where that is known.
"""

from dataclasses import field
from typing import Annotated, Final, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from bot.codec.fields import same_fields
from bot.codec.tree_comparison import require_callers_first
from bot.codec.wire import WIRE_CONFIG, decode, encode
from bot.errors import DataError
from bot.model.alarm import MOST_FOLLOWED
from bot.model.bisection import Failure, FailureKind, Result
from bot.model.bisection_report import CulpritDiagnosis
from bot.model.dispatch import BisectJobResult
from bot.model.metric import Direction, Metric

SCHEMA_NAME: Final = "bisect-job-v1"
MOST_RESULT_BYTES: Final = 1 << 20
MOST_ROUNDS: Final = 64
MOST_COMMITS: Final = 16
MOST_VALUES: Final = 10_000
MOST_COMPONENTS: Final = 50
SHOWN_CHARACTERS: Final = 400
# GitHub ends a job on a machine of one's own after five days.
LONGEST_JOB_SECONDS: Final = 5 * 86_400.0
# Any time, size or rate there is, in any unit; beyond it the search's arithmetic would be led astray.
LEAST_VALUE: Final = 1e-18
LARGEST_VALUE: Final = 1e18

Name = Annotated[str, Field(min_length=1, max_length=100)]
Text = Annotated[str, Field(max_length=SHOWN_CHARACTERS)]
Value = Annotated[float, Field(gt=LEAST_VALUE, lt=LARGEST_VALUE)]


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class FailureEntry:
    kind: FailureKind
    message: Text = ""


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class RoundEntry:
    """One round: a commit has numbers of its one execution, or a failure, or was not reached."""

    id: Name
    values: Annotated[
        dict[Name, Annotated[tuple[Value, ...], Field(min_length=1, max_length=MOST_VALUES)]],
        Field(max_length=MOST_COMMITS),
    ] = field(default_factory=dict)
    failures: Annotated[dict[Name, FailureEntry], Field(max_length=MOST_COMMITS)] = field(default_factory=dict)


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class MetricEntry:
    name: Annotated[str, Field(max_length=200)]
    unit: Annotated[str, Field(max_length=100)]
    direction: Literal[Direction.LOWER_IS_BETTER, Direction.HIGHER_IS_BETTER]


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class BisectJobFile:
    """The whole file: `bisect-job.json` in the artifact."""

    format: Literal["perf-culprit-bisect-job"]
    version: Literal[1]
    bisection: Name
    dispatch: Name
    job: Name
    rounds: Annotated[tuple[RoundEntry, ...], Field(max_length=MOST_ROUNDS)]
    metric: MetricEntry | None = None
    environment: Annotated[dict[Name, Annotated[str, Field(max_length=200)]], Field(max_length=MOST_COMPONENTS)] = (
        field(default_factory=dict)
    )
    diagnosis: CulpritDiagnosis | None = None
    elapsed_seconds: Annotated[float, Field(ge=0, le=LONGEST_JOB_SECONDS)] | None = None
    followed: Annotated[
        dict[
            Name,
            Annotated[
                dict[Name, Annotated[tuple[Value | None, ...], Field(max_length=MOST_FOLLOWED)]],
                Field(max_length=MOST_COMMITS),
            ],
        ],
        Field(max_length=MOST_ROUNDS),
    ] = field(default_factory=dict)


def encode_job_result(result: BisectJobResult) -> bytes:
    file = same_fields(
        BisectJobFile,
        result,
        format="perf-culprit-bisect-job",
        version=1,
        rounds=tuple(map(_round_entry, result.rounds)),
        metric=None if result.metric is None else same_fields(MetricEntry, result.metric),
        environment=dict(result.environment),
        followed={name: dict(values) for name, values in result.followed.items()},
    )
    return encode(file)


def _round_entry(result: Result) -> RoundEntry:
    failures = {
        commit: FailureEntry(kind=failure.kind, message=failure.message[:SHOWN_CHARACTERS])
        for commit, failure in result.failures.items()
    }
    return RoundEntry(id=result.job_id, values=dict(result.values), failures=failures)


def decode_job_result(data: bytes, *, place: str) -> BisectJobResult:
    """The result in `data`; a DataError where it is none, too large, or says a thing twice."""
    if len(data) > MOST_RESULT_BYTES:
        raise DataError(
            f"is larger than {MOST_RESULT_BYTES:,} bytes", place=place, next_step="upload what bisect-job wrote"
        )
    file = decode(BisectJobFile, data, place=place, what=SCHEMA_NAME)
    ids = [entry.id for entry in file.rounds]
    both = [commit for entry in file.rounds for commit in entry.values if commit in entry.failures]
    if both or len(set(ids)) < len(ids):
        fault = f"{both[0][:12]!r} both failed and has numbers" if both else "a round stands there twice"
        raise DataError(fault, place=place, next_step="upload what bisect-job wrote")
    if file.diagnosis is not None and file.diagnosis.comparison is not None:
        require_callers_first(file.diagnosis.comparison, place=f"{place}: diagnosis.comparison")
    return same_fields(
        BisectJobResult,
        file,
        rounds=tuple(map(_round, file.rounds)),
        metric=None if file.metric is None else same_fields(Metric, file.metric),
    )


def _round(entry: RoundEntry) -> Result:
    failures = {commit: same_fields(Failure, failure) for commit, failure in entry.failures.items()}
    return Result(job_id=entry.id, values=entry.values, failures=failures)
