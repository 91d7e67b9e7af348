"""Profiles as files: what the tracer, which only knows its own tree, cannot be asked to write."""

from perf_culprit.model.call_tree import Profile
from perf_culprit.model.json_files import encode


def encode_profile(profile: Profile) -> bytes:
    """The profile as one line of JSON; None is left out, floats round-trip exactly."""
    return encode(profile)
