"""Kieker's monitoring logs: operation executions, or events before and after operations; with their kieker.map."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from perf_culprit.errors import DataError, UsageError
from perf_culprit.model.call_tree import Profile, RecordFault
from perf_culprit.model.reason import ProfileNote, because
from perf_culprit.read.logs.log_chunks import STDIN_NAME
from perf_culprit.read.profiles.kieker_trees import EntryTrees, Event, EventTraces, Execution, ExecutionTraces
from perf_culprit.read.profiles.profile_file import Intake, ProfileFile, opened
from perf_culprit.read.profiles.profile_tree import Frame, frame

MAP_NAME: Final = "kieker.map"
MAX_MAP_BYTES: Final = 1 << 20
MAX_TIME: Final = 1e19
MS_PER_UNIT: Final = {"NANOSECONDS": 1e-6, "MICROSECONDS": 1e-3, "MILLISECONDS": 1.0, "SECONDS": 1e3}
DEFAULT_UNIT: Final = "NANOSECONDS"
_RECORD: Final = re.compile(r"\$[0-9]++;-?+[0-9]++;")
_METADATA: Final = "KiekerMetadataRecord"
_EXECUTION: Final = "OperationExecutionRecord"


@dataclass(kw_only=True, slots=True)
class _Log:
    kinds: dict[str, str]
    executions: ExecutionTraces
    events: EventTraces
    unit: str = DEFAULT_UNIT
    frames: dict[str, Frame] = field(default_factory=dict)


def matches(file: ProfileFile, /) -> bool:
    return _RECORD.match(file.beginning) is not None


def read(file: ProfileFile, /) -> tuple[Profile, ...]:
    """A profile per operation that traces begin with: those are what users wait for."""
    if file.name == STDIN_NAME:
        raise UsageError(
            "needs its kieker.map beside it", place=file.place, next_step="give the file or its folder by name"
        )
    log = _new_log(Path(file.name).parent, file.place, file.intake)
    _take(log, file)
    return _profiles(log, file.intake)


def read_folder(folder: Path, intake: Intake) -> tuple[Profile, ...]:
    """All .dat files of the folder, packed or not, as one log."""
    names = sorted(str(path) for path in folder.iterdir() if ".dat" in path.suffixes and path.is_file())
    if not names:
        raise DataError(
            "holds no .dat file of Kieker", place=str(folder), next_step="give files, or the folder of one Kieker log"
        )
    log = _new_log(folder, str(folder), intake)
    for name in names:
        with opened(name, intake=intake) as file:
            _take(log, file)
    return _profiles(log, intake)


def _new_log(folder: Path, place: str, intake: Intake) -> _Log:
    reject = partial(intake.reject, place=place)
    return _Log(
        kinds=_kinds(folder, place), executions=ExecutionTraces(reject=reject), events=EventTraces(reject=reject)
    )


def _kinds(folder: Path, place: str) -> dict[str, str]:
    """What each line's number means: the record's class without its package."""
    path = folder / MAP_NAME
    try:
        with path.open("rb") as stream:
            text = stream.read(MAX_MAP_BYTES).decode("utf-8", "replace")
    except OSError:
        raise DataError(
            "has no kieker.map beside it, which says what its records are",
            place=place,
            next_step="give the whole folder that Kieker wrote",
        ) from None
    pairs = (line.strip().partition("=") for line in text.splitlines())
    return {key: name.rpartition(".")[2] for key, equals, name in pairs if equals}


def _take(log: _Log, file: ProfileFile) -> None:
    for number, line in file.lines():
        if not line:
            continue
        file.intake.records += 1
        fields = line.split(";")
        kind = log.kinds.get(fields[0], "")
        try:
            fault = _take_record(log, kind, fields)
        except (IndexError, ValueError):
            fault = RecordFault.MALFORMED
        if fault is not None:
            file.reject(fault, line, at=f":{number}")


def _take_record(log: _Log, kind: str, fields: Sequence[str]) -> RecordFault | None:
    """Raises: IndexError, ValueError for fields that are missing or no numbers."""
    fault = None
    if kind == _EXECUTION:
        fault = _take_execution(log, fields)
    elif kind.startswith(("Before", "After")) and kind.endswith("Event"):
        fault = _take_event(log, fields, begins=kind.startswith("Before"))
    elif kind == _METADATA:
        log.unit = fields[8] if fields[8] in MS_PER_UNIT else DEFAULT_UNIT
    elif kind.endswith("Event") and len(fields) > 4:
        # Calls, splits and joins: they have a number in their trace, and no duration.
        log.events.skip(fields[3], int(fields[4]), kind)
    elif kind != "TraceMetadata":
        fault = RecordFault.NO_EXECUTION if kind else RecordFault.MALFORMED
    return fault


def _take_execution(log: _Log, fields: Sequence[str]) -> RecordFault | None:
    elapsed = int(fields[6]) - int(fields[5])
    order, depth = int(fields[8]), int(fields[9])
    if not 0 <= elapsed <= MAX_TIME or order < 0 or depth < 0:
        return RecordFault.NUMBER
    log.executions.add(
        fields[4], Execution(order=order, depth=depth, frame=_operation(log, fields[2]), elapsed=float(elapsed))
    )
    return None


def _take_event(log: _Log, fields: Sequence[str], *, begins: bool) -> RecordFault | None:
    time, order = int(fields[2]), int(fields[4])
    if not 0 <= time <= MAX_TIME or order < 0:
        return RecordFault.NUMBER
    log.events.add(fields[3], Event(order=order, begins=begins, frame=_operation(log, fields[5]), time=time))
    return None


def _operation(log: _Log, signature: str) -> Frame:
    """`public static int shop.Dao.find(int)` -> `shop.Dao.find(int)`."""
    operation = log.frames.get(signature)
    if operation is None:
        head, parenthesis, arguments = signature.partition("(")
        operation = log.frames[signature] = frame(head.strip().rpartition(" ")[2] + parenthesis + arguments)
    return operation


def _profiles(log: _Log, intake: Intake) -> tuple[Profile, ...]:
    log.executions.finish()
    log.events.finish()
    families = [log.executions.entries, log.events.entries]
    families.sort(key=lambda entries: -entries.executions)
    larger, smaller = families
    if _mostly_within(smaller, larger):
        intake.note(because(ProfileNote.COUNTED_TWICE))
        families = [larger]
    scale = MS_PER_UNIT[log.unit]
    return tuple(tree.profile(service, scale=scale) for entries in families for service, tree in entries.trees.items())


def _mostly_within(smaller: EntryTrees, larger: EntryTrees) -> bool:
    methods = smaller.methods()
    return bool(methods) and 2 * len(methods & larger.methods()) >= len(methods)
