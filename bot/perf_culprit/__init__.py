"""Perf Culprit: finds performance regressions, the commit that introduced them and the code behind them."""

__version__ = "0.1.0"
