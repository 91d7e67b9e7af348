"""Every format of profiles and traces by its id, from the most specific content to the least; and what a reader is."""

from typing import Final, Protocol

from perf_culprit.errors import DataError, UsageError
from perf_culprit.model.call_tree import Profile
from perf_culprit.read.profiles import (
    callgrind,
    chrome_trace,
    collapsed,
    cprofile,
    cpuprofile,
    firefox,
    gprof2dot,
    jaeger,
    jfr,
    kieker,
    otlp,
    otlp_protobuf,
    perf_culprit_trace,
    perf_script,
    pprof,
    pyinstrument,
    scalene,
    span_table,
    speedscope,
    zipkin,
)
from perf_culprit.read.profiles.profile_file import ProfileFile

AUTO: Final = "auto"


class ProfileReader(Protocol):
    """One format. A module that has these names is one (PEP 544: no `self` in a module); its id is in the registry.

    `matches` looks at the beginning of the content only, is cheap and never raises. `read` gives one profile per
    service, with one repetition unless the format holds more; it tells the file of whatever it cannot use, and raises
    DataError only where nothing sensible can follow.
    """

    def matches(self, file: ProfileFile, /) -> bool: ...
    def read(self, file: ProfileFile, /) -> tuple[Profile, ...]: ...


PROFILE_READERS: Final[dict[str, ProfileReader]] = {
    "perf_culprit_trace": perf_culprit_trace,
    "speedscope": speedscope,
    "otlp": otlp,
    "jaeger": jaeger,
    "zipkin": zipkin,
    "chrome_trace": chrome_trace,
    "cpuprofile": cpuprofile,
    "firefox": firefox,
    "jfr": jfr,
    "gprof2dot": gprof2dot,
    "pyinstrument": pyinstrument,
    "scalene": scalene,
    "pprof": pprof,
    "otlp_protobuf": otlp_protobuf,
    "cprofile": cprofile,
    "kieker": kieker,
    "callgrind": callgrind,
    "perf_script": perf_script,
    "collapsed": collapsed,
}


MEMRAY: Final = "convert it: memray transform gprof2dot -o allocations.json FILE"
LZ4: Final = b"\x04\x22\x4d\x18"

# What is not read, by its first bytes, and what gives something that is.
_OTHERS: Final[tuple[tuple[bytes, str, str], ...]] = (
    (b"FLR\x00", "a recording of Java's Flight Recorder", f"print its samples: {jfr.PRINT}"),
    (b"memray\x00", "memray's own file", MEMRAY),
    (b"PERFILE2", "perf's own data", "convert it: perf script -i FILE > stacks.txt"),
    (b"MOJ", "Austin's binary form", "convert it: mojo2austin FILE stacks.txt"),
)
_SCALENE: Final = ("Scalene's profile, which knows no calls", "record it with py-spy record -f raw -o stacks.txt")


def check_format(name: str) -> None:
    if name.startswith(span_table.PREFIX):
        span_table.span_table(name)
    elif name != AUTO and name not in PROFILE_READERS:
        step = f"use {AUTO} or one of: {', '.join(PROFILE_READERS)}"
        raise UsageError(f"`{name}` is no known format of profiles", place="--format", next_step=step)


def reader_of(file: ProfileFile, name: str) -> ProfileReader:
    """The named one, or the first that knows the content."""
    is_damaged = file.name in file.intake.truncated_files
    if not file.head.strip() and not is_damaged:
        raise DataError("is empty", place=file.place, next_step="check that the profiler ran and wrote its result")
    if name.startswith(span_table.PREFIX):
        return span_table.span_table(name)
    if name != AUTO and file.head.strip():
        return PROFILE_READERS[name]
    for reader in PROFILE_READERS.values():
        if reader.matches(file):
            return reader
    if file.head.startswith(LZ4) and b"memray" in file.head[:64]:
        raise DataError("is memray's own file, which is not read", place=file.place, next_step=MEMRAY)
    others = [(what, how) for magic, what, how in _OTHERS if file.head.startswith(magic)]
    others += [_SCALENE] if file.begins("{", '"elapsed_time_sec"') else []
    for what, how in others:
        raise DataError(f"is {what}, which is not read", place=file.place, next_step=how)
    if is_damaged:
        step = "copy it again from where it was recorded, as binary; `gzip -t` or `zstd -t` checks it"
        raise DataError("is damaged: what can be unpacked is no profile", place=file.place, next_step=step)
    step = f"name its format with --format ({', '.join(PROFILE_READERS)}), or see docs/profiles.md"
    raise DataError("holds no profile or trace of a known format", place=file.place, next_step=step)
