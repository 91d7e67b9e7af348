"""The user's build and benchmark commands, run on commits of a repository on this machine (docs/measure.md)."""
