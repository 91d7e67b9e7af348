"""Readers that turn execution logs into call trees (docs/diagnosis.md)."""
