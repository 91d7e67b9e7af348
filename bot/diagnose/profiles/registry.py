"""Every format of profiles and traces by its id, from the most specific content to the least."""

from typing import Final

from bot.diagnose.profiles import (
    callgrind,
    chrome_trace,
    collapsed,
    cprofile,
    kieker,
    otlp,
    perf_culprit_trace,
    speedscope,
)
from bot.diagnose.profiles.file import ProfileFile
from bot.diagnose.profiles.reader import ProfileReader
from bot.errors import DataError, UsageError

AUTO: Final = "auto"

PROFILE_READERS: Final[dict[str, ProfileReader]] = {
    "perf_culprit_trace": perf_culprit_trace,
    "speedscope": speedscope,
    "otlp": otlp,
    "chrome_trace": chrome_trace,
    "cprofile": cprofile,
    "kieker": kieker,
    "callgrind": callgrind,
    "collapsed": collapsed,
}


def check_format(name: str) -> None:
    if name != AUTO and name not in PROFILE_READERS:
        raise UsageError(
            f"`{name}` is no known format of profiles",
            place="--format",
            next_step=f"use {AUTO} or one of: {', '.join(PROFILE_READERS)}",
        )


def reader_of(file: ProfileFile, name: str) -> ProfileReader:
    """The named one, or the first that knows the content."""
    if not file.head.strip():
        raise DataError("is empty", place=file.place, next_step="check that the profiler ran and wrote its result")
    if name != AUTO:
        return PROFILE_READERS[name]
    for reader in PROFILE_READERS.values():
        if reader.matches(file):
            return reader
    raise DataError(
        "holds no profile or trace of a known format",
        place=file.place,
        next_step=f"name its format with --format ({', '.join(PROFILE_READERS)}), or see docs/profiles.md",
    )
