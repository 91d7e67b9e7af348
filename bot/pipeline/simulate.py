"""simulate -> detect -> report: a model of a design, by itself or against an older one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

from bot import simulate
from bot.codec.run import encode_run
from bot.collect import collect
from bot.config import Config, Design, load_design
from bot.errors import UsageError
from bot.model.baseline import BaselineSource
from bot.model.metric import MetricKey
from bot.model.report import Report
from bot.model.simulation import Reference, Replication, SimulationReport
from bot.pipeline.compare import compare_runs

# Of each of a sweep's configurations: enough for an interval, and the sweep's time is this times as long.
SWEEP_REPLICATIONS: Final = 2
# The fewest rounds in which one change among twenty outputs can be proven: 2 / 2^12 is below 0.01 / 20.
COMPARED_REPLICATIONS: Final = 12


@dataclass(frozen=True, kw_only=True, slots=True)
class SimulationPlan:
    """`parameters` replace the model file's own. `tell` hears of the progress."""

    model: Path
    scenario: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    replications: int | None = None
    tell: Callable[[str], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class SimulatedDesign:
    """A design with its replications."""

    design: Design
    scenario: str
    seed: int
    done: tuple[Replication, ...]

    @property
    def report(self) -> SimulationReport:
        simulated = simulate.simulation(self.design, self.scenario, self.done, seed=self.seed)
        return SimulationReport(configurations=(simulate.configuration(self.design.score, simulated),))


def simulate_design(plan: SimulationPlan) -> SimulatedDesign:
    design = load_design(plan.model, plan.parameters)
    scenario = _scenario(design, plan)
    done = simulate.replications(design, scenario, seed=plan.seed, tell=plan.tell, exactly=plan.replications)
    return SimulatedDesign(design=design, scenario=scenario, seed=plan.seed, done=tuple(done))


def compare_designs(plan: SimulationPlan, against: Path, *, config: Config) -> Report:
    """The plan's model judged against an older one."""
    new, old = (load_design(path, plan.parameters) for path in (plan.model, against))
    scenario = _scenario(new, plan)
    _scenario(old, replace(plan, model=against, scenario=scenario))
    return judge_designs(
        old, new, scenario, seed=plan.seed, replications=plan.replications, config=config, tell=plan.tell
    )


def judge_designs(
    old: Design,
    new: Design,
    scenario: str,
    *,
    seed: int,
    replications: int | None,
    config: Config,
    tell: Callable[[str], None],
) -> Report:
    """By the detector of benchmarks: replications are samples, and those of one number share their random numbers."""
    one = partial(simulate.replications, seed=seed, tell=tell, fewest=COMPARED_REPLICATIONS)
    after = one(new, scenario, exactly=replications)
    before = one(old, scenario, exactly=len(after))
    return compare_runs(
        simulate.sampled_run(new, scenario, after, seed=seed),
        baseline=(simulate.sampled_run(old, scenario, before, seed=seed),),
        source=BaselineSource.PAIRED,
        config=config,
    )


def samples_json(simulated: SimulatedDesign) -> bytes:
    return encode_run(simulate.sampled_run(simulated.design, simulated.scenario, simulated.done, seed=simulated.seed))


def counters_json(simulated: SimulatedDesign) -> bytes:
    return encode_run(simulate.counter_run(simulated.design, simulated.scenario, simulated.done, seed=simulated.seed))


def sweep_design(plan: SimulationPlan) -> SimulationReport:
    """Every combination of the values under `sweep`."""
    design = load_design(plan.model, plan.parameters)
    if not design.sweep:
        raise UsageError("has no sweep", place=str(plan.model), next_step="list values of parameters under sweep")
    designs = [load_design(plan.model, {**plan.parameters, **values}) for values in simulate.combinations(design)]
    configurations = simulate.sweep(
        designs,
        _scenario(design, plan),
        seed=plan.seed,
        replications=plan.replications or SWEEP_REPLICATIONS,
        tell=plan.tell,
    )
    references = tuple(
        Reference(
            output=MetricKey(reference.of, output),
            value=value,
            parameters={name: str(setting) for name, setting in reference.parameters.items()},
        )
        for reference in design.references
        for output, value in reference.outputs.items()
    )
    return SimulationReport(configurations=configurations, swept=tuple(design.sweep), references=references)


def saturate_design(plan: SimulationPlan) -> SimulationReport:
    design = load_design(plan.model, plan.parameters)
    saturation = simulate.saturation(design, _scenario(design, plan), seed=plan.seed, tell=plan.tell)
    return SimulationReport(saturation=saturation)


def calibrate_design(plan: SimulationPlan, files: Sequence[str]) -> SimulationReport:
    """What the counters in `files` say of the demands that the model lists under `calibration`."""
    design = load_design(plan.model, plan.parameters)
    if not design.calibration:
        raise UsageError(
            "names no counters", place=str(plan.model), next_step="name measured counters under calibration"
        )
    return SimulationReport(demands=simulate.calibrate(design, _scenario(design, plan), collect(files)))


def _scenario(design: Design, plan: SimulationPlan) -> str:
    if plan.scenario is None:
        return next(iter(design.scenario))
    if plan.scenario not in design.scenario:
        raise UsageError(
            f"the model has no scenario {plan.scenario!r}",
            place=str(plan.model),
            next_step=f"use one of: {', '.join(design.scenario)}",
        )
    return plan.scenario
