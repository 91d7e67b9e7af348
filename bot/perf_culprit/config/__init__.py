"""`.github/perf-culprit.yml` and action inputs -> one frozen `Config`."""
