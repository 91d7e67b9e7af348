"""Stored runs, accepted changes and bisections, and the choice of a baseline."""
