"""judge: what measuring in turn would have cost and shown, from executions that were stored anyway."""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import ceil
from statistics import median

from msgspec.structs import replace

from perf_culprit.commands.measure_requests import ROUNDS_UNTIL_DECIDED
from perf_culprit.config.settings import Config
from perf_culprit.flows.compare import judge_run
from perf_culprit.flows.measured_side import paired
from perf_culprit.judge.paired_executions import LOOKS, minutes_in_turn, planned_looks
from perf_culprit.judge.planting import with_rounds
from perf_culprit.model.finding import Baseline
from perf_culprit.model.reason import Reason, Remark, because
from perf_culprit.model.run import Benchmark, Run
from perf_culprit.model.work_limits import WORK_LIMITS

_Values = tuple[float, ...]


def seen_in_turn(baseline: Baseline, run: Run, *, config: Config) -> tuple[Reason, ...]:
    """Say what the first look in turn would have cost and suspected; empty where the executions do not tell.

    The stored executions are judged as if they were such a look. A typical benchmark is the one of the median.
    """
    if not run.cost or len(run.benchmarks) > WORK_LIMITS.trial_benchmarks:
        return ()
    rounds = planned_looks(ROUNDS_UNTIL_DECIDED, proven=config.proven)[0]
    first, second = _as_in_turn([*baseline.runs, run], rounds)
    findings = judge_run(paired(first), second, config=config).findings if first.benchmarks else ()
    effects = [benchmark.detectable_effect for benchmark in findings if benchmark.detectable_effect is not None]
    if not effects:
        return ()
    minutes = ceil(minutes_in_turn(rounds, execution_s=run.cost.seconds / run.cost.executions))
    return (because(Remark.SEEN_IN_TURN, minutes=minutes, seen=median(effects)),)


def _as_in_turn(runs: Sequence[Run], rounds: int) -> tuple[Run, Run]:
    """Return two sides with this number of rounds A B B A, each of four successive executions of one run.

    They are of one commit and machine, so the sides do not differ. Benchmarks with fewer rounds are left out.
    """
    made: tuple[list[Benchmark], list[Benchmark]] = ([], [])
    by_run = [{benchmark.key: benchmark for benchmark in run.benchmarks if benchmark.rounds} for run in reversed(runs)]
    for newest in by_run[0].values():
        same = [one for by_key in by_run if (one := by_key.get(newest.key)) and one.unit == newest.unit]
        fours = [four for run in same for four in _fours(run)][:rounds]
        if len(fours) == rounds:
            made[0].append(with_rounds(newest, [(four[0], four[3]) for four in fours]))
            made[1].append(with_rounds(newest, [(four[1], four[2]) for four in fours]))
    first, second = (replace(runs[-1], benchmarks=tuple(side), counters=(), analyses=LOOKS) for side in made)
    return first, second


def _fours(benchmark: Benchmark) -> list[list[_Values]]:
    executions = [benchmark.samples[a:b] for a, b in pairwise(accumulate(benchmark.group_sizes, initial=0))]
    return [executions[start : start + 4] for start in range(0, len(executions) - 3, 4)]
