"""Our own profiles, as the tracer writes them: one JSON object per line."""

import re
from typing import Final

from perf_culprit.errors import DataError
from perf_culprit.model.call_tree import Profile, decode_profile
from perf_culprit.model.json_files import WRITE_AGAIN, format_of
from perf_culprit.read.profiles.profile_file import ProfileFile

_KNOWN: Final = re.compile(r'\{\s*+"format"\s*+:\s*+"' + format_of(Profile)[0] + '"')


def matches(file: ProfileFile, /) -> bool:
    return _KNOWN.match(file.beginning) is not None


def read(file: ProfileFile, /) -> tuple[Profile, ...]:
    """Of a file of ours every line has to be right: it was written whole or not at all."""
    profiles = []
    for number, line in enumerate(file.content().split(b"\n"), 1):
        if line.strip():
            profile = decode_profile(line, place=f"{file.place}:{number}")
            file.intake.records += len(profile.nodes) * profile.repetitions
            profiles.append(profile)
    if not profiles:
        raise DataError("holds no profile", place=file.place, next_step=WRITE_AGAIN)
    return tuple(profiles)
