"""Readers of load tests and of sampled counters, one module per format."""
