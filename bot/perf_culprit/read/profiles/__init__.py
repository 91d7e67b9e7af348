"""Profiles and traces of other tools: one registry of readers, one reading (docs/profiles.md)."""
