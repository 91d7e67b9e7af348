"""Stored executions tell what measuring in turn would have cost and shown."""

import numpy as np
import pytest
from msgspec.structs import replace

from perf_culprit.config.settings import Config
from perf_culprit.flows.seen_in_turn import seen_in_turn
from perf_culprit.model.finding import Baseline, BaselineSource
from perf_culprit.model.reason import Remark
from perf_culprit.model.report import Conclusion
from perf_culprit.model.run import NO_COST, Benchmark, Cost, Run
from perf_culprit.say.comparison import render_text
from tests.support.reports import UNCHANGED, report


def run(number: int, *, noise: float, executions: int = 10) -> Run:
    """Two benchmarks on a machine of its own speed, in executions of 20 seconds."""
    rng = np.random.default_rng(number)
    speed = 1 + 0.2 * rng.standard_normal()
    rounds = tuple(1 + place // 2 for place in range(executions))
    benchmarks = [
        Benchmark(
            name=name,
            unit="ms",
            samples=tuple((speed * (1 + noise * rng.standard_normal(executions))).tolist()),
            group_sizes=(1,) * executions,
            rounds=rounds,
        )
        for name in ("parse", "render")
    ]
    return Run(benchmarks=tuple(benchmarks), cost=Cost(executions, 20.0 * executions), commit=f"{number:040x}")


def seen(*stored: Run, target: Run) -> dict[str, float]:
    told = seen_in_turn(Baseline(runs=stored, source=BaselineSource.HISTORY), target, config=Config())
    return {name: float(str(value)) for one in told for name, value in one.arguments.items()}


def test_the_noise_within_runs_tells_what_measuring_in_turn_would_have_seen() -> None:
    """Machines differ by 20%, but the executions of one do not."""
    small, large = (
        seen(run(1, noise=noise), run(2, noise=noise), target=run(3, noise=noise)) for noise in (0.002, 0.05)
    )
    assert small["minutes"] == large["minutes"] == 6  # a warm-up a side and four rounds: 18 executions of 20 seconds
    assert 0.05 <= small["seen"] < 0.06  # the minimum effect is 5%
    assert 0.09 < large["seen"] < 0.25


@pytest.mark.parametrize(
    "target",
    [
        replace(run(3, noise=0.002), cost=NO_COST),
        run(3, noise=0.002, executions=3),
        replace(run(3, noise=0.002), benchmarks=()),
    ],
    ids=["no cost", "too few executions", "nothing measured"],
)
def test_it_is_silent_where_the_executions_do_not_tell(target: Run) -> None:
    assert not seen(target=target)


def test_the_footer_says_it_after_the_cost() -> None:
    stored = Baseline(runs=(run(1, noise=0.002), run(2, noise=0.002)), source=BaselineSource.HISTORY)
    notes = seen_in_turn(stored, run(3, noise=0.002), config=Config())
    told = replace(report(Conclusion.NO_CHANGE, *UNCHANGED), notes=notes, cost=Cost(10, 180.0))
    text = render_text(told, colour=False, width=200)
    assert (
        f"10 executions in 3 runner minutes; in turn 6 would have seen +{float(str(notes[0].arguments['seen'])):.1%}"
        in text
    )
    assert notes[0].code is Remark.SEEN_IN_TURN
    assert "Notes" not in text
