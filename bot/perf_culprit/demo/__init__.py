"""`perf-culprit demo`: everything for real on this machine, in under a minute."""
