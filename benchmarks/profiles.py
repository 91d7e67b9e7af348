"""What a looser false discovery rate costs and buys, and whether a change is seen that "would have been seen".

python benchmarks/profiles.py             the table of docs/decision-rule.md, "A looser profile"; some minutes
python benchmarks/profiles.py --visible   how often a change of the size that an unchanged run names is then found

`--trials N` for fewer than 400. Seeded, so that each prints the same numbers each time.
"""

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from msgspec.structs import replace

from perf_culprit.config.settings import Config
from perf_culprit.flows.compare import judge_run
from perf_culprit.model.finding import Baseline, BaselineSource, Verdict
from perf_culprit.model.report import Conclusion, Report
from perf_culprit.model.run import Benchmark, Direction, Metric, Run

SEED: Final = 20_260_301
TIME: Final = Metric(name="time", unit="ms", direction=Direction.LOWER_IS_BETTER)
PROFILES: Final = {
    "default, 1%": Config(),
    "loose, 5%": Config(alpha="5%", false_discovery_rate="5%"),
}
EFFECTS: Final = (1.1, 1.15, 1.2)
CHANGES: Final = {Verdict.REGRESSION, Verdict.IMPROVEMENT}


@dataclass(frozen=True, kw_only=True, slots=True)
class Way:
    """`runs` baseline runs; each run's level is off by `between_runs`, each execution's by `between_executions`.

    All spreads are standard deviations of the logarithm: about fractions.
    """

    name: str
    source: BaselineSource
    runs: int
    between_runs: float
    between_executions: float
    executions: int
    samples: int
    within: float = 0.03


WAYS: Final = (
    Way(
        name="`measure`, 12 executions a side",
        source=BaselineSource.PAIRED,
        runs=1,
        between_runs=0.0,
        between_executions=0.05,
        executions=12,
        samples=5,
    ),
    Way(
        name="history, 10 runs",
        source=BaselineSource.HISTORY,
        runs=10,
        between_runs=0.03,
        between_executions=0.0,
        executions=1,
        samples=30,
    ),
)
SUITES: Final = (5, 20)


def run_of(rng: np.random.Generator, way: Way, levels: np.ndarray) -> Run:
    """One run of benchmarks with these levels, shape (m,)."""
    count = len(levels)
    of_run = rng.normal(0, way.between_runs, (count, 1, 1))
    of_execution = rng.normal(0, way.between_executions, (count, way.executions, 1))
    noise = rng.normal(0, way.within, (count, way.executions, way.samples))
    values = levels[:, None] * np.exp(of_run + of_execution + noise).reshape(count, -1)
    # Rounds of A B B A: two executions of a side each.
    rounds = tuple(number // 2 + 1 for number in range(way.executions)) if way.executions > 1 else ()
    return Run(
        benchmarks=tuple(
            Benchmark.of(
                name=f"bench_{index:03}",
                metric=TIME,
                samples=tuple(row.tolist()),
                group_sizes=(way.samples,) * way.executions,
                rounds=rounds,
            )
            for index, row in enumerate(values)
        ),
        job="one" if way.source is BaselineSource.PAIRED else None,
    )


def trial(rng: np.random.Generator, way: Way, count: int, effect: float, configs: Sequence[Config]) -> list[Report]:
    """The same numbers judged by each profile; the first benchmark is slower by the factor `effect`."""
    levels = np.full(count, 5.0)
    changed = levels * np.where(np.arange(count) == 0, effect, 1.0)
    baseline = Baseline(runs=tuple(run_of(rng, way, levels) for _ in range(way.runs)), source=way.source)
    target = run_of(rng, way, changed)
    return [judge_run(baseline, replace(target), config=config) for config in configs]


def row(way: Way, count: int, trials: int) -> list[str]:
    rng = np.random.default_rng(SEED)
    configs = list(PROFILES.values())
    unchanged = [trial(rng, way, count, 1.0, configs) for _ in range(trials)]
    results = {effect: [trial(rng, way, count, effect, configs) for _ in range(trials)] for effect in EFFECTS}
    lines = []
    for index, name in enumerate(PROFILES):
        reports = [judged[index] for judged in unchanged]
        regressions = _share(report.conclusion is Conclusion.REGRESSION for report in reports)
        changes = _share(any(finding.verdict in CHANGES for finding in report.findings) for report in reports)
        undecided = _share(report.conclusion is Conclusion.INCONCLUSIVE for report in reports)
        power = [_share(_is_found(judged[index]) for judged in results[effect]) for effect in EFFECTS]
        cells = (way.name, str(count), name, regressions, changes, undecided, *power)
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def visible(way: Way, count: int, trials: int) -> str:
    """Independent runs, in which the first benchmark is worse by what an unchanged run said of it."""
    rng = np.random.default_rng(SEED)
    config = PROFILES["default, 1%"]
    text, result = [], 0
    for _ in range(trials):
        (unchanged,) = trial(rng, way, count, 1.0, [config])
        first = next(finding for finding in unchanged.findings if finding.key.benchmark == "bench_000")
        if first.detectable_effect is not None:
            text.append(first.detectable_effect)
            result += _is_found(trial(rng, way, count, 1 + text[-1], [config])[0])
    return f"| {way.name} | {count} | {100 * float(np.median(text)):.1f}% | {result} of {len(text)} |"


def _is_found(report: Report) -> bool:
    return any(
        finding.verdict is Verdict.REGRESSION and finding.key.benchmark == "bench_000" for finding in report.findings
    )


def _share(outcomes: Iterable[bool]) -> str:
    numbers = list(outcomes)
    return f"{100 * sum(numbers) / len(numbers):.1f}%"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=400)
    parser.add_argument("--visible", action="store_true")
    arguments = parser.parse_args()
    trials: int = arguments.trials
    if arguments.visible:
        print("| way | benchmarks | said, median | found |\n|---|--:|--:|--:|")
        for way in WAYS:
            for count in SUITES:
                print(visible(way, count, trials), flush=True)
        return
    powers = " | ".join(f"finds +{100 * (effect - 1):.0f}%" for effect in EFFECTS)
    print(f"| way | benchmarks | profile | false regression | any false change | undecided | {powers} |")
    print(f"|---|--:|---|{'--:|' * (3 + len(EFFECTS))}")
    for way in WAYS:
        for count in SUITES:
            print("\n".join(row(way, count, trials)), flush=True)


if __name__ == "__main__":
    main()
