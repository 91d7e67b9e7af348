"""The search for culprits between two commits: pure decisions, no input or output (docs/bisection.md)."""
