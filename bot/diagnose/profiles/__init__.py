"""Profiles and traces of other tools: one registry of readers, one reading (docs/profiles.md)."""

from bot.diagnose.profiles.combine import combine
from bot.diagnose.profiles.read import read_profiles
from bot.diagnose.profiles.registry import AUTO, PROFILE_READERS

__all__ = ["AUTO", "PROFILE_READERS", "combine", "read_profiles"]
