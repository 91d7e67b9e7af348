"""Readers that turn artifacts in any known format into a run."""
