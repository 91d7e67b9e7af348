"""Commands in comments: `/perf-bisect`, `/perf-retry`, `/perf-accept`, `/perf-help` (docs/commands.md)."""
