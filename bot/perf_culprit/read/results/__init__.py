"""Artifacts in any known format become a run."""
