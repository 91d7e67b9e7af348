"""Every format of profiles and traces, from the most specific content to the least."""

import shlex
from typing import Final

from perf_culprit.errors import DataError, UsageError
from perf_culprit.read.format_reader import by_id, first_match
from perf_culprit.read.profiles import (
    browser_profiles,
    call_graph_formats,
    kieker,
    protobuf_formats,
    span_formats,
    stack_formats,
    timed_calls,
)
from perf_culprit.read.profiles.profile_file import ProfileFile, ProfileReader

AUTO: Final = "auto"

# If two match, the earlier one reads the file.
PROFILE_READERS: Final[dict[str, ProfileReader]] = by_id(
    (
        timed_calls.PERF_CULPRIT_TRACE,
        timed_calls.SPEEDSCOPE,
        span_formats.OTLP,
        span_formats.JAEGER,
        span_formats.ZIPKIN,
        timed_calls.CHROME_TRACE,
        browser_profiles.CPUPROFILE,
        browser_profiles.FIREFOX,
        stack_formats.JFR,
        stack_formats.GPROF2DOT,
        stack_formats.PYINSTRUMENT,
        stack_formats.SCALENE,
        protobuf_formats.PPROF,
        protobuf_formats.OTLP_PROTOBUF,
        call_graph_formats.CPROFILE,
        kieker.KIEKER,
        call_graph_formats.CALLGRIND,
        stack_formats.PERF_SCRIPT,
        stack_formats.COLLAPSED,
    )
)

MEMRAY: Final = "convert it: memray transform gprof2dot -o allocations.json FILE"
LZ4: Final = b"\x04\x22\x4d\x18"

# Unsupported formats: first bytes, description, and a way to a supported format.
_OTHERS: Final[tuple[tuple[bytes, str, str], ...]] = (
    (
        b"FLR\x00",
        "a recording of Java's Flight Recorder",
        f"print its samples: {shlex.join(stack_formats.JFR_PRINT)} FILE > stacks.json",
    ),
    (b"memray\x00", "memray's own file", MEMRAY),
    (b"PERFILE2", "perf's own data", "convert it: perf script -i FILE > stacks.txt"),
    (b"MOJ", "Austin's binary form", "convert it: mojo2austin FILE stacks.txt"),
    (b"PeriodType:", "pprof's text form", "give the profile itself, or convert it: go tool pprof -proto FILE"),
)
_SCALENE: Final = ("Scalene's profile, which knows no calls", "record it with py-spy record -f raw -o stacks.txt")


def check_format(name: str) -> None:
    if name.startswith(span_formats.TABLE_PREFIX):
        span_formats.span_table(name)
    elif name != AUTO and name not in PROFILE_READERS:
        step = f"use {AUTO} or one of: {', '.join(PROFILE_READERS)}"
        raise UsageError(f"`{name}` is not a known format of profiles", place="--format", next_step=step)


def reader_of(file: ProfileFile, name: str) -> ProfileReader:
    """Return the named reader, or the first that matches the content."""
    is_damaged = file.name in file.intake.truncated_files
    if not file.head.strip() and not is_damaged:
        raise DataError("is empty", place=file.place, next_step="check that the profiler ran and wrote its result")
    if name.startswith(span_formats.TABLE_PREFIX):
        return span_formats.span_table(name)
    if name != AUTO and file.head.strip():
        return PROFILE_READERS[name]
    others = [(what, how) for magic, what, how in _OTHERS if file.head.startswith(magic)]
    if not others and (reader := first_match(file, PROFILE_READERS.values())) is not None:
        return reader
    if file.head.startswith(LZ4) and b"memray" in file.head[:64]:
        raise DataError("is memray's own file, which is not read", place=file.place, next_step=MEMRAY)
    others += [_SCALENE] if file.begins("{", '"elapsed_time_sec"') else []
    for what, how in others:
        raise DataError(f"is {what}, which is not read", place=file.place, next_step=how)
    if is_damaged:
        step = "copy it again from where it was recorded, as binary; `gzip -t` or `zstd -t` checks it"
        raise DataError("is damaged: what can be unpacked is not a profile", place=file.place, next_step=step)
    step = f"name its format with --format ({', '.join(PROFILE_READERS)}), or see docs/profiles.md"
    raise DataError("holds no profile or trace of a known format", place=file.place, next_step=step)
