"""Layered models of a design, simulated: what would it do, before it is built [F11, chapter 4]."""

from typing import TYPE_CHECKING

from bot.lazy import front_door

if TYPE_CHECKING:
    from bot.simulate.calibration import calibrate
    from bot.simulate.configurations import combinations, configuration, level, sweep
    from bot.simulate.replication import replicate, replications, simulation
    from bot.simulate.runs import counter_run, sampled_run
    from bot.simulate.saturate import saturation
else:
    __getattr__ = front_door(__name__)
