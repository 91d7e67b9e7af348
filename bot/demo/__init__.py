"""`perf-culprit demo`: everything for real on this machine, in under a minute."""

from typing import TYPE_CHECKING

from bot.lazy import front_door

if TYPE_CHECKING:
    from bot.demo.run import run_demo as run_demo
else:
    __getattr__ = front_door(__name__)
