"""The diagnosis of one revision's execution log as JSON (diagnosis v1): what `diagnose --log … --json` writes."""

from functools import cache
from typing import Final, Literal

from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass

from bot.codec.wire import WIRE_CONFIG, decode
from bot.model.call_tree import (
    CallTree,
    Diagnosis,
    ImpactedService,
    LogReading,
    MethodCosts,
    MethodSuspect,
    ServiceStatistics,
)

DIAGNOSIS_FORMAT: Final = "perf-culprit-diagnosis"
SCHEMA_NAME: Final = "diagnosis-v1"
# A report shows the first ones; the whole list stays in its own file.
MAX_COSTS: Final = 100


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class ImpactEntry:
    """Shares of the service's time, without and in what the method calls."""

    service: str
    self_share: float
    children_share: float
    self_ms_per_call: float


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class SuspectEntry:
    """`calls`: executions. `tiny`: too little time in any service to matter."""

    method: str
    score: float
    self_ms: float
    self_ms_per_execution: float
    calls: int
    longest_ms: float
    tiny: bool
    services: tuple[ImpactEntry, ...]


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class SlowCallEntry:
    """`time_s`: seconds since 1970."""

    call: str
    elapsed_ms: float
    time_s: float | None


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
    slowest: tuple[SlowCallEntry, ...]
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


@cache
def diagnosis_adapter() -> TypeAdapter[DiagnosisFile]:
    return TypeAdapter(DiagnosisFile)


def encode_diagnosis(diagnosis: Diagnosis) -> bytes:
    """Every suspect in order with its services, and every service with its statistics; times in milliseconds."""
    trees = {tree.service: tree for tree in diagnosis.trees}
    file = DiagnosisFile(
        format="perf-culprit-diagnosis",
        version=1,
        fluctuation_weight=diagnosis.fluctuation_weight,
        minimum_self_ms=diagnosis.minimum_self_ms,
        suspects=tuple(map(_suspect_entry, diagnosis.suspects)),
        services=tuple(_service_entry(service, trees[service.service]) for service in diagnosis.services),
        log=_log_entry(diagnosis.reading),
        unit=_writable(diagnosis.unit),
    )
    return diagnosis_adapter().dump_json(file, indent=1) + b"\n"


def decode_costs(data: bytes, *, place: str) -> MethodCosts:
    """Of what `diagnose --log … --json` or `diagnose --profile … --json` wrote; a DataError where it is none."""
    file = decode(diagnosis_adapter(), data, place=place, what=SCHEMA_NAME)
    return MethodCosts(
        suspects=tuple(map(_suspect, file.suspects[:MAX_COSTS])),
        methods=len(file.suspects),
        services=len(file.services),
        unit=file.unit,
    )


def costs_entry(costs: MethodCosts) -> CostsEntry:
    return CostsEntry(
        suspects=tuple(map(_suspect_entry, costs.suspects)),
        methods=costs.methods,
        services=costs.services,
        unit=_writable(costs.unit),
    )


def costs(entry: CostsEntry) -> MethodCosts:
    return MethodCosts(
        suspects=tuple(map(_suspect, entry.suspects)),
        methods=entry.methods,
        services=entry.services,
        unit=entry.unit,
    )


def _suspect(entry: SuspectEntry) -> MethodSuspect:
    return MethodSuspect(
        method=entry.method,
        score=entry.score,
        self_ms=entry.self_ms,
        calls=entry.calls,
        longest_ms=entry.longest_ms,
        tiny=entry.tiny,
        services=tuple(
            ImpactedService(
                service=one.service,
                self_share=one.self_share,
                children_share=one.children_share,
                self_ms_per_call=one.self_ms_per_call,
            )
            for one in entry.services[:MAX_COSTS]
        ),
    )


def _suspect_entry(suspect: MethodSuspect) -> SuspectEntry:
    return SuspectEntry(
        method=_writable(suspect.method),
        score=suspect.score,
        self_ms=suspect.self_ms,
        self_ms_per_execution=suspect.self_ms / max(1, suspect.calls),
        calls=suspect.calls,
        longest_ms=suspect.longest_ms,
        tiny=suspect.tiny,
        services=tuple(
            ImpactEntry(
                service=_writable(impact.service),
                self_share=impact.self_share,
                children_share=impact.children_share,
                self_ms_per_call=impact.self_ms_per_call,
            )
            for impact in suspect.services
        ),
    )


def _service_entry(service: ServiceStatistics, tree: CallTree) -> ServiceEntry:
    return ServiceEntry(
        service=_writable(service.service),
        calls=service.calls,
        min_ms=service.min_ms,
        max_ms=service.max_ms,
        mean_ms=service.mean_ms,
        standard_deviation_ms=service.standard_deviation_ms,
        slowest=tuple(
            SlowCallEntry(call=_writable(slow.call), elapsed_ms=slow.elapsed_ms, time_s=slow.time_s)
            for slow in service.slowest
        ),
        windows=tuple(
            WindowEntry(
                start_s=window.start_s,
                width_s=window.width_s,
                calls=window.calls,
                calls_per_s=window.calls_per_s,
                mean_ms=window.mean_ms,
                longest_ms=window.longest_ms,
            )
            for window in service.windows
        ),
        all_calls=tree.calls,
        variants=tree.variants,
    )


def _log_entry(reading: LogReading) -> LogEntry:
    return LogEntry(
        lines=reading.lines,
        executions=reading.executions,
        unused={fault.name.lower(): count for fault, count in reading.unused},
        unused_examples=tuple(
            UnusedLineEntry(fault=example.fault.name.lower(), line=example.line, text=_writable(example.text))
            for example in reading.examples
        ),
        headless_calls=reading.headless_calls,
        cut_calls=reading.cut_calls,
        truncated_files=tuple(map(_writable, reading.truncated_files)),
    )


def _writable(text: str) -> str:
    """Names of files may hold bytes that were no UTF-8; JSON cannot."""
    return text.encode("utf-8", "replace").decode("utf-8")
