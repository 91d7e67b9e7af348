"""measure -> judge: HEAD against itself, which shows what a pull request would cost here and what it would show."""

import tempfile
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from statistics import median

from msgspec.structs import replace

from perf_culprit.commands.measure_requests import ROUNDS_UNTIL_DECIDED, Measure, Qualify
from perf_culprit.config.settings import Config
from perf_culprit.errors import DataError
from perf_culprit.files import read_limited, replace_file
from perf_culprit.flows.compare import flagged, judge_run
from perf_culprit.flows.measure_plan import measure_plan
from perf_culprit.flows.measured_side import paired
from perf_culprit.flows.measurement import Tried, measure_commits, try_once
from perf_culprit.judge.detector_audit import noise_sources
from perf_culprit.judge.paired_executions import LOOKS, minutes_in_turn, planned_looks
from perf_culprit.judge.planting import Planting
from perf_culprit.model.accuracy import NoiseSources, Qualification
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.run import Run
from perf_culprit.model.run_file import decode_run, encode_run
from perf_culprit.progress import Say


def qualified(options: Qualify, *, config: Config, say: Say, tried: Tried | None = None) -> Qualification:
    """Measure HEAD against itself and plant changes into the numbers. `tried`: an execution from before.

    There are as many rounds as the second proof of `measure --until-decided` needs. They show how much more help.
    """
    proofs = planned_looks(ROUNDS_UNTIL_DECIDED, proven=config.proven)
    measure = Measure(
        repository=options.repository,
        run=options.run,
        build=options.build,
        timeout=options.timeout,
        build_timeout=options.build_timeout,
        cache=options.cache,
        environment=options.environment,
        tool=options.tool,
        commits=("HEAD", "HEAD"),
        rounds=proofs[1],
        minutes=options.minutes,
        output=Path(),
    )
    tried = tried or try_once(measure, config=config, say=say)
    with tempfile.TemporaryDirectory(prefix="perf-culprit-qualify-") as folder:
        plan = measure_plan(measure.replaced(output=Path(folder)), config=config, say=say)
        measurement = measure_commits(plan, config=config, say=say)
        if measurement.fault is not None:
            raise measurement.fault
        baseline, target = (decode_run(file.read_bytes(), place=str(file)) for file in measurement.files)
    if options.output is not None:
        replace_file(options.output, encode_run(target))
    cost = (baseline.cost + target.cost) if baseline.cost and target.cost else None
    execution_s = tried.execution_s if cost is None else (cost.seconds - tried.build_s) / cost.executions
    say(f"planting changes into {measurement.rounds} rounds")
    seconds = Tried(run=target, build_s=tried.build_s, execution_s=execution_s)
    return _qualification(baseline, seconds, options.minutes, config=config, proofs=proofs)


def between_machines(options: Qualify) -> NoiseSources:
    """Return how much machines differ that measured the same commit, one file each."""
    step = "join files that `qualify --output` wrote for one commit on two machines or more"
    runs = [
        decode_run(read_limited(Path(file), FILE_LIMITS.measured_side_bytes, next_step=step), place=file)
        for file in options.join
    ]
    if len(commits := {run.commit for run in runs}) > 1:
        raise DataError(f"the files are of {len(commits)} commits", place="--join", next_step=step)
    if (sources := noise_sources(runs)) is None:
        raise DataError("no benchmark's time is in two files", place="--join", next_step=step)
    return sources


def _qualification(
    baseline: Run, target: Tried, minutes: float, *, config: Config, proofs: Sequence[int]
) -> Qualification:
    def flagged_names(first: Run, second: Run) -> Collection[str]:
        return flagged(judge_run(paired(first), second, config=config))

    minutes_of = partial(minutes_in_turn, execution_s=target.execution_s, build_s=target.build_s)
    # A pull request's measurement is judged at each look, by a share of the rates.
    sides = replace(baseline, analyses=LOOKS), replace(target.run, analyses=LOOKS)
    planting = Planting(sides, flagged_names)
    if not (noises := planting.noises()):
        raise DataError("no benchmark has positive numbers and a direction", next_step="name the format with --tool")
    noisiest = max(noises, key=lambda key: noises[key])
    looks = [rounds for rounds in proofs if rounds <= len(planting.rounds)]
    return Qualification(
        build_s=target.build_s,
        execution_s=target.execution_s,
        rounds=len(planting.rounds),
        minutes=minutes,
        first=proofs[0],
        first_minutes=minutes_of(proofs[0]),
        metrics=len(noises),
        noise=median(noises.values()),
        noisiest=(noisiest, noises[noisiest]),
        seen=tuple(planting.seen(rounds, minutes=minutes_of(rounds)) for rounds in looks),
        unchanged=planting.unchanged(looks[-1]) if looks else None,
    )
