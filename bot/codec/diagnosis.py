"""The diagnosis of one revision's execution log as JSON (diagnosis v1): what `diagnose --log … --json` writes."""

from typing import Final, Literal

from pydantic.dataclasses import dataclass

from bot.codec.fields import same_fields
from bot.codec.wire import WIRE_CONFIG, decode, encode
from bot.model.call_tree import CallTree, Diagnosis, LogReading, MethodCosts, MethodSuspect, ServiceStatistics, SlowCall

DIAGNOSIS_FORMAT: Final = "perf-culprit-diagnosis"
SCHEMA_NAME: Final = "diagnosis-v1"
# A report shows the first ones; the whole list stays in its own file.
MAX_COSTS: Final = 100


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class SuspectEntry(MethodSuspect):
    """`calls`: executions. `tiny`: too little time in any service to matter."""

    self_ms_per_execution: float


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class WindowEntry:
    start_s: float
    width_s: float
    calls: int
    calls_per_s: float
    mean_ms: float
    longest_ms: float


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class ServiceEntry:
    """`calls`: with a logged root. `variants`: different trees; an estimate above some thousands."""

    service: str
    calls: int
    min_ms: float
    max_ms: float
    mean_ms: float
    standard_deviation_ms: float
    slowest: tuple[SlowCall, ...]
    windows: tuple[WindowEntry, ...]
    all_calls: int
    variants: int


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class UnusedLineEntry:
    fault: str
    line: int | None
    text: str


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class LogEntry:
    """What became of the lines. `unused`: how many by reason."""

    lines: int
    executions: int
    unused: dict[str, int]
    unused_examples: tuple[UnusedLineEntry, ...]
    headless_calls: int
    cut_calls: int
    rare_paths: int = 0
    truncated_files: tuple[str, ...]


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class DiagnosisFile:
    """The whole file. `format` and `version` make it known by content. `unit`: of all that is named `_ms`."""

    format: Literal["perf-culprit-diagnosis"]
    version: Literal[1]
    fluctuation_weight: float
    minimum_self_ms: float
    suspects: tuple[SuspectEntry, ...]
    services: tuple[ServiceEntry, ...]
    log: LogEntry
    unit: str = "ms"


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class CostsEntry:
    """What stands in a report: the first suspects, of how many methods and services."""

    suspects: tuple[SuspectEntry, ...]
    methods: int
    services: int
    unit: str = "ms"


def encode_diagnosis(diagnosis: Diagnosis) -> bytes:
    """Every suspect in order with its services, and every service with its statistics; times in milliseconds."""
    trees = {tree.service: tree for tree in diagnosis.trees}
    file = same_fields(
        DiagnosisFile,
        diagnosis,
        format=DIAGNOSIS_FORMAT,
        version=1,
        suspects=tuple(map(_suspect_entry, diagnosis.suspects)),
        services=tuple(_service_entry(service, trees[service.service]) for service in diagnosis.services),
        log=_log_entry(diagnosis.reading),
    )
    return encode(file, indent=1)


def decode_costs(data: bytes, *, place: str) -> MethodCosts:
    """Of what `diagnose --log … --json` or `diagnose --profile … --json` wrote; a DataError where it is none."""
    file = decode(DiagnosisFile, data, place=place, what=SCHEMA_NAME)
    return MethodCosts(
        suspects=tuple(map(_suspect, file.suspects[:MAX_COSTS])),
        methods=len(file.suspects),
        services=len(file.services),
        unit=file.unit,
    )


def costs_entry(costs: MethodCosts) -> CostsEntry:
    return same_fields(CostsEntry, costs, suspects=tuple(map(_suspect_entry, costs.suspects)))


def costs(entry: CostsEntry) -> MethodCosts:
    return same_fields(MethodCosts, entry, suspects=tuple(map(_suspect, entry.suspects)))


def _suspect(entry: SuspectEntry) -> MethodSuspect:
    return same_fields(MethodSuspect, entry, services=entry.services[:MAX_COSTS])


def _suspect_entry(suspect: MethodSuspect) -> SuspectEntry:
    return same_fields(SuspectEntry, suspect, self_ms_per_execution=suspect.self_ms / max(1, suspect.calls))


def _service_entry(service: ServiceStatistics, tree: CallTree) -> ServiceEntry:
    windows = tuple(same_fields(WindowEntry, window, calls_per_s=window.calls_per_s) for window in service.windows)
    return same_fields(ServiceEntry, service, windows=windows, all_calls=tree.calls, variants=tree.variants)


def _log_entry(reading: LogReading) -> LogEntry:
    return same_fields(
        LogEntry,
        reading,
        unused={fault.value: count for fault, count in reading.unused},
        unused_examples=tuple(
            same_fields(UnusedLineEntry, example, fault=example.fault.value) for example in reading.examples
        ),
    )
