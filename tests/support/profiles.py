"""Profiles as files: what the tracer, which only knows its own tree, cannot be asked to write."""

import msgspec
from msgspec import UNSET

from perf_culprit.model.call_tree import Profile
from perf_culprit.wire.analysis_json import PROFILE_FORMAT, ProfileLine, ProfileNodeEntry


def encode_profile(profile: Profile) -> bytes:
    """The profile as one line of JSON; None is left out, floats round-trip exactly."""
    line = ProfileLine(
        format=PROFILE_FORMAT,
        version=1,
        service=profile.service,
        unit=profile.unit,
        repetitions=profile.repetitions,
        nodes=tuple(
            ProfileNodeEntry(
                method=node.method,
                parent=UNSET if node.parent is None else node.parent,
                elapsed=node.elapsed_ms,
                self_=node.self_ms,
                calls=UNSET if node.calls is None else node.calls,
                file=UNSET if node.file is None else node.file,
                line=UNSET if node.line is None else node.line,
            )
            for node in profile.nodes
        ),
    )
    return msgspec.json.encode(line) + b"\n"
