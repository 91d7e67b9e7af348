"""Diagnoses, profiles, releases and simulations as JSON."""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType
from pydantic.dataclasses import dataclass

from perf_culprit.errors import DataError
from perf_culprit.model.call_tree import (
    CallTree,
    Diagnosis,
    LogReading,
    MethodCosts,
    MethodSuspect,
    Profile,
    ProfileNode,
    ServiceStatistics,
    SlowCall,
)
from perf_culprit.model.report import TreeComparison
from perf_culprit.model.series import DeviationMatrix
from perf_culprit.model.simulation import SimulationReport
from perf_culprit.wire.checked_json import WIRE_CONFIG, decode, decode_large, encode, same_fields

# The diagnosis of one revision's execution log as JSON (diagnosis v1): what `diagnose --log … --json` writes.

DIAGNOSIS_FORMAT: Final = "perf-culprit-diagnosis"
DIAGNOSIS_SCHEMA: Final = "diagnosis-v1"
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
    file = decode(DiagnosisFile, data, place=place, what=DIAGNOSIS_SCHEMA)
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


# Two revisions' call trees compared, as JSON (tree-comparison v1): what `diagnose --baseline … --json` writes.
#
# The same object stands in a report as its `diagnosis`.

TREE_COMPARISON_SCHEMA: Final = "tree-comparison-v1"


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class TreeComparisonFile(TreeComparison):
    """The whole file. `format` and `version` make it known by content."""

    format: Literal["perf-culprit-tree-comparison"]
    version: Literal[1]


def encode_tree_comparison(comparison: TreeComparison) -> bytes:
    """Fields that say nothing are left out: a tree has thousands of nodes."""
    return encode(tree_comparison_entry(comparison), indent=1, exclude_defaults=True)


def decode_tree_comparison(data: bytes, *, place: str) -> TreeComparison:
    """The comparison in `data`; a DataError with file and place where it is none."""
    return tree_comparison(decode(TreeComparisonFile, data, place=place, what=TREE_COMPARISON_SCHEMA), place=place)


def tree_comparison_entry(comparison: TreeComparison) -> TreeComparisonFile:
    return same_fields(TreeComparisonFile, comparison, format="perf-culprit-tree-comparison", version=1)


def tree_comparison(file: TreeComparisonFile, *, place: str) -> TreeComparison:
    require_callers_first(file, place=place)
    return same_fields(TreeComparison, file)


def require_callers_first(comparison: TreeComparison, *, place: str) -> None:
    """A DataError where a node stands before the one that calls it."""
    for i, service in enumerate(comparison.services):
        for j, node in enumerate(service.nodes):
            if node.parent is not None and not 0 <= node.parent < j:
                raise DataError(
                    f"its parent {node.parent} does not come before it",
                    place=f"{place}: services.{i}.nodes.{j}.parent",
                    next_step="write the file again with this version of perf-culprit",
                )


# Profiles as JSON (perf-culprit-trace v1): what the tracer writes, one profile per line.

PROFILE_FORMAT: Final = "perf-culprit-trace"
TRACE_SCHEMA: Final = "trace-v1"
MAX_NODES: Final = 1_000_000
MAX_REPETITIONS: Final = 10_000
MAX_NAME_CHARACTERS: Final = 10_000
NEXT_STEP: Final = "write the file again with this version of perf-culprit"

# Some decades of milliseconds and more instructions than those hold: above is no measurement, and sums stay finite.
Amount = Annotated[float, Meta(ge=0, le=1e24)]
Name = Annotated[str, Meta(max_length=MAX_NAME_CHARACTERS)]


class ProfileNodeEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`elapsed` and `self`: one number per repetition, in the profile's unit. A root has no `parent`."""

    method: Name
    parent: Annotated[int, Meta(ge=0)] | UnsetType | None = UNSET
    elapsed: tuple[Amount, ...]
    self_: tuple[Amount, ...] = msgspec.field(name="self")
    calls: Amount | UnsetType | None = UNSET
    file: Name | UnsetType | None = UNSET
    line: Annotated[int, Meta(ge=0, le=2**31)] | UnsetType | None = UNSET


class ProfileLine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of the file. `format` and `version` make it known by content."""

    format: Literal["perf-culprit-trace"]
    version: Literal[1]
    service: Name
    unit: Annotated[str, Meta(max_length=100)] = "ms"
    repetitions: Annotated[int, Meta(ge=1, le=MAX_REPETITIONS)]
    nodes: Annotated[tuple[ProfileNodeEntry, ...], Meta(max_length=MAX_NODES)]


def decode_profile(data: bytes, *, place: str) -> Profile:
    """The profile in `data` (one line of a file); a DataError with place where it is none."""
    line = decode_large(ProfileLine, data, place=place, what=TRACE_SCHEMA)
    nodes = tuple(_node(entry, i, line.repetitions, place) for i, entry in enumerate(line.nodes))
    return Profile(service=line.service, nodes=nodes, repetitions=line.repetitions, unit=line.unit)


def _node(entry: ProfileNodeEntry, i: int, repetitions: int, place: str) -> ProfileNode:
    parent = None if entry.parent is UNSET else entry.parent
    if parent is not None and parent >= i:
        raise DataError(
            f"its parent {parent} does not come before it", place=f"{place}: nodes.{i}.parent", next_step=NEXT_STEP
        )
    for name, times in (("elapsed", entry.elapsed), ("self", entry.self_)):
        if len(times) != repetitions:
            raise DataError(
                f"has {len(times)} values for {repetitions} repetitions",
                place=f"{place}: nodes.{i}.{name}",
                next_step=NEXT_STEP,
            )
    return ProfileNode(
        method=entry.method,
        parent=parent,
        elapsed_ms=entry.elapsed,
        self_ms=entry.self_,
        calls=None if entry.calls is UNSET else entry.calls,
        file=None if entry.file is UNSET else entry.file,
        line=None if entry.line is UNSET else entry.line,
    )


# The deviation matrix as JSON (releases v1): what `changes --releases --json` writes.

RELEASES_SCHEMA: Final = "releases-v1"


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class ReleasesFile(DeviationMatrix):
    """The whole file. `format` and `version` make it known by content."""

    format: Literal["perf-culprit-releases"]
    version: Literal[1]


def encode_releases(matrix: DeviationMatrix) -> bytes:
    file = same_fields(ReleasesFile, matrix, format="perf-culprit-releases", version=1)
    return encode(file, indent=1)


# What a simulation found out as JSON (simulation v1): what `simulate --json` writes.

SIMULATION_SCHEMA: Final = "simulation-v1"


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class SimulationFile(SimulationReport):
    """The whole file. `format` and `version` make it known by content."""

    format: Literal["perf-culprit-simulation"]
    version: Literal[1]


def encode_simulation(report: SimulationReport) -> bytes:
    file = same_fields(SimulationFile, report, format="perf-culprit-simulation", version=1)
    return encode(file, indent=1)
