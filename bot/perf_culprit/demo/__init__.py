"""`perf-culprit demo`: every step, run for real on this machine in under a minute."""
