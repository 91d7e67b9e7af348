"""Execution logs become call trees (docs/diagnosis.md)."""
