"""Profiles as files that the tracer cannot write, because it only knows its own tree."""

from perf_culprit.model.call_tree import Profile
from perf_culprit.model.json_files import encode


def encode_profile(profile: Profile) -> bytes:
    """Return the profile as one line of JSON; None is left out, floats round-trip exactly."""
    return encode(profile)
