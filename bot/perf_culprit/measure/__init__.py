"""Run the user's build and benchmark commands on commits of a repository on this machine (docs/measure.md)."""
