"""simulate -> judge -> say: models of a design, alone or against an older one."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from perf_culprit.commands.analysis_requests import Simulate
from perf_culprit.config.settings import Config
from perf_culprit.errors import UsageError
from perf_culprit.flows.compare import compare_runs
from perf_culprit.model.finding import BaselineSource
from perf_culprit.model.report import Report
from perf_culprit.model.run import MetricKey
from perf_culprit.model.run_file import encode_run
from perf_culprit.model.simulation import Reference, Replication, SimulationReport
from perf_culprit.progress import Say
from perf_culprit.read.results.collect import collect
from perf_culprit.simulate import replication, studies
from perf_culprit.simulate.design import Design
from perf_culprit.simulate.design_file import load_design
from perf_culprit.simulate.replication import counter_run, sampled_run, simulation
from perf_culprit.simulate.studies import calibrate, combinations, configuration, sweep

# For each configuration of a sweep: enough for an interval. The sweep takes this many times as long.
SWEEP_REPLICATIONS: Final = 2
# The fewest rounds in which one change among twenty outputs can be proven: 2 / 2^12 is below 0.01 / 20.
COMPARED_REPLICATIONS: Final = 12


@dataclass(frozen=True, kw_only=True, slots=True)
class SimulatedDesign:
    """A design with its replications."""

    design: Design
    scenario: str
    seed: int
    done: tuple[Replication, ...]

    @property
    def report(self) -> SimulationReport:
        simulated = simulation(self.design, self.scenario, self.done, seed=self.seed)
        return SimulationReport(configurations=(configuration(self.design.score, simulated),))


def simulate_design(options: Simulate, *, tell: Say) -> SimulatedDesign:
    design = load_design(options.model, _parameters(options))
    scenario = _scenario(design, options)
    done = replication.replications(design, scenario, seed=options.seed, tell=tell, exactly=options.replications)
    return SimulatedDesign(design=design, scenario=scenario, seed=options.seed, done=tuple(done))


def compare_designs(options: Simulate, against: Path, *, config: Config, tell: Say) -> Report:
    """Judge the model against an older one."""
    parameters = _parameters(options)
    new, old = (load_design(path, parameters) for path in (options.model, against))
    scenario = _scenario(new, options)
    _scenario(old, options.replaced(model=against, scenario=scenario))
    return judge_designs(
        old, new, scenario, seed=options.seed, replications=options.replications, config=config, tell=tell
    )


def judge_designs(
    old: Design, new: Design, scenario: str, *, seed: int, replications: int | None, config: Config, tell: Say
) -> Report:
    """Judge by the detector of benchmarks: replications are samples, and those of one number share random numbers."""
    one = partial(replication.replications, seed=seed, tell=tell, fewest=COMPARED_REPLICATIONS)
    after = one(new, scenario, exactly=replications)
    before = one(old, scenario, exactly=len(after))
    return compare_runs(
        sampled_run(new, scenario, after, seed=seed),
        baseline=(sampled_run(old, scenario, before, seed=seed),),
        source=BaselineSource.PAIRED,
        config=config,
    )


def _parameters(options: Simulate) -> dict[str, str]:
    """The values, by name, that replace the model file's own parameters."""
    for setting in options.set:
        if not setting.partition("=")[0] or "=" not in setting:
            raise UsageError(f"{setting!r} is not NAME=VALUE", place="--set", next_step="such as: --set rate=17/s")
    return dict(setting.split("=", 1) for setting in options.set)


def samples_json(simulated: SimulatedDesign) -> bytes:
    return encode_run(sampled_run(simulated.design, simulated.scenario, simulated.done, seed=simulated.seed))


def counters_json(simulated: SimulatedDesign) -> bytes:
    return encode_run(counter_run(simulated.design, simulated.scenario, simulated.done, seed=simulated.seed))


def sweep_design(options: Simulate, *, tell: Say) -> SimulationReport:
    """Simulate every combination of the values under `sweep`."""
    design = load_design(options.model, _parameters(options))
    if not design.sweep:
        raise UsageError("has no sweep", place=str(options.model), next_step="list values of parameters under sweep")
    designs = [load_design(options.model, {**_parameters(options), **values}) for values in combinations(design)]
    configurations = sweep(
        designs,
        _scenario(design, options),
        seed=options.seed,
        replications=options.replications or SWEEP_REPLICATIONS,
        tell=tell,
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


def saturate_design(options: Simulate, *, tell: Say) -> SimulationReport:
    design = load_design(options.model, _parameters(options))
    saturation = studies.saturation(design, _scenario(design, options), seed=options.seed, tell=tell)
    return SimulationReport(saturation=saturation)


def calibrate_design(options: Simulate) -> SimulationReport:
    """Estimate the demands that the model lists under `calibration` from measured counters."""
    design = load_design(options.model, _parameters(options))
    if not design.calibration:
        raise UsageError(
            "names no counters", place=str(options.model), next_step="name measured counters under calibration"
        )
    return SimulationReport(demands=calibrate(design, _scenario(design, options), collect(options.calibrate)))


def _scenario(design: Design, options: Simulate) -> str:
    if options.scenario is None:
        return next(iter(design.scenario))
    if options.scenario not in design.scenario:
        raise UsageError(
            f"the model has no scenario {options.scenario!r}",
            place=str(options.model),
            next_step=f"use one of: {', '.join(design.scenario)}",
        )
    return options.scenario
