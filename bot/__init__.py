"""Perf Culprit: finds performance regressions, the commit that brought them and the code behind them."""

__version__ = "0.1.0"
