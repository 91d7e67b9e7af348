"""`perf-culprit demo`: everything for real on this machine, in under a minute."""

from bot.demo.run import run_demo

__all__ = ["run_demo"]
