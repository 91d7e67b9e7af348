"""Stored runs and the choice of a baseline."""
