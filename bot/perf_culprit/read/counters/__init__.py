"""Readers of load tests and of sampled counters."""
