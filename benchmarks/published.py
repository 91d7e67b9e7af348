"""The worked examples of the five sources, computed by the shipped functions: docs/evidence/sources.md names each.

python -m benchmarks.published                all of them
python -m benchmarks.published N12.limits     one
"""

import argparse
import json
import math
from collections.abc import Callable
from typing import Final

import numpy as np
from scipy import stats

from benchmarks.commons_math.study import RECORDED
from perf_culprit.arrays import Floats
from perf_culprit.explain.compare_trees import compare_profiles
from perf_culprit.explain.ranking import distance_score
from perf_culprit.model.bisection import Engine, SearchSettings
from perf_culprit.search.candidate_graph import cut_range, parse_parents
from perf_culprit.search.search import Search
from perf_culprit.simulate.studies import level_among
from perf_culprit.stats.chart_limits import Violations, control_limits, threshold, violations
from perf_culprit.stats.density import idle_boundary, shape_of
from perf_culprit.stats.discretise import equal_width_scale, three_level_scale
from perf_culprit.stats.load_scaling import fit_load, fit_quality, scaling_factors
from perf_culprit.stats.model_votes import bagging_threshold, stacking_weights, votes
from perf_culprit.stats.order_interval import MINIMUM_SAMPLES, median_deviation, median_estimate
from perf_culprit.stats.power import repetitions_for_half_width
from perf_culprit.stats.ragged import Ragged
from perf_culprit.stats.rule_change import confidence_change
from tests.support.compared_trees import Tree, slower

# H13, figure 4: "commit parents", the newest first; F introduced the regression.
GRAPH: Final = "H G\nG E F\nF C\nC A\nE D\nD B\nB A\nA\n"
CHAIN: Final = "r6 r5\nr5 r4\nr4 r3\nr3 r2\nr2 r1\nr1\n"
# H13, figure 9 a to d: times of r1 to r6; the source prints no levels.
HISTORIES: Final = {
    "a": (10, 10, 10, 10, 15, 15),
    "b": (10, 10, 5, 15, 15, 15),
    "c": (10, 10, 10, 20, 15, 15),
    "d": (10, 10, 15, 12, 15, 15),
    "with a level between": (10, 10, 5, 10, 10, 11.5),
}


def searched(parents: str, levels: dict[str, float], engine: Engine, *, noise: float) -> tuple[list[str], list[str]]:
    """Return the commits in the order of their first test, and those that the search names."""
    good, bad = min(levels), max(levels)
    rng, tested = np.random.default_rng(5), dict[str, None]()
    search = Search.start(cut_range(parse_parents(parents), good=good, bad=bad), settings=SearchSettings(engine=engine))
    while (outcome := search.outcome()) is None:
        for job in search.propose():
            tested |= dict.fromkeys(commit for commit in job.commits if commit != good)
            values = {name: [levels[name] * float(np.exp(rng.normal(0, noise)))] for name in job.commits}
            search.record(job.id, values)
    return list(tested), [culprit.commit for culprit in outcome.culprits]


def repetitions() -> str:
    needed = {spread: repetitions_for_half_width(spread, half_width=0.1, level=0.95) for spread in (0.1, 0.35, 1.0)}
    return ", ".join(f"a spread of {spread:.0%} needs {count} repetitions" for spread, count in needed.items())


def graph() -> str:
    slow = {commit: 1.5 if commit in "FGH" else 1.0 for commit in "ABCDEFGH"}
    tested, named = searched(GRAPH, slow, Engine.WEIGHTED, noise=0.0)
    return f"after H: {', '.join(tested[1:])}; named: {', '.join(named)}"


def histories() -> str:
    lines = []
    for figure, levels in HISTORIES.items():
        times = {f"r{place}": float(level) for place, level in enumerate(levels, start=1)}
        (weighted, bayes) = (
            searched(CHAIN, times, engine, noise=0.01)[1] for engine in (Engine.WEIGHTED, Engine.BAYES)
        )
        lines.append(f"{figure}: weighted {', '.join(weighted)}; bayes {', '.join(sorted(bayes))}")
    return "\n".join(lines)


def call_tree() -> str:
    before = {
        "foo": 1.0,
        "foo>bar": 5.0,
        "foo>doo": 1.0,
        "foo>doo>fem": 4.0,
        "foo>doo>other": 3.0,
        "foo>doo>fem>qux": 2.0,
        "foo>doo>fem>wug": 1.0,
    }
    rng = np.random.default_rng(1)
    sides = [Tree(own=own, calls={}, noise=0.02).profile(rng, 20) for own in (before, before | {"foo>doo>fem": 6.0})]
    return " → ".join(path.rpartition(">")[2] for path in slower(compare_profiles([sides[0]], [sides[1]])))


def limits() -> str:
    own = control_limits(np.arange(3.0, 14.0), kind="10/90")
    return f"LCL, CL, UCL: {own.lower:g}, {own.center:g}, {own.upper:g}"


def ratio() -> str:
    own = control_limits(np.arange(3.0, 14.0), kind="10/90")
    return f"outside: {violations(np.sort([4.0, 2, 6, 2, 7, 9, 11, 13, 8, 6]), own).ratio:.0%}"


def left_out() -> str:
    return f"threshold: {threshold([(Violations(1000, count, 0),) for count in (25, 42, 14, 42, 125)]):.1%}"


def scaling() -> str:
    model = fit_load(np.array([4000.0, 4100.0]), np.array([30.0, 32.0]))
    return f"slope {model.slope:.2f}, intercept {model.intercept:.0f}"


def _counter(rng: np.random.Generator, load: Floats) -> Floats:
    """Return a counter that rises by 20% if the load rises by 14% from 4,000 requests."""
    level: Floats = (0.02 * load - 24.0) * rng.normal(1.0, 0.05, len(load))
    return level


def loads() -> str:
    """Mean difference of the medians of eight periods, as in the source's figures 5 and 6."""
    rng = np.random.default_rng(1)
    before, after = rng.normal(4000, 250, 5 * 480), rng.normal(4000 * 1.14, 250, 480)
    baseline, target = _counter(rng, before), _counter(rng, after)
    model, reference = fit_load(before, baseline), float(np.median(before))

    def difference(of_target: Floats, of_baseline: Floats) -> float:
        medians = (np.median(side[:480].reshape(8, -1), axis=1) for side in (of_target, of_baseline))
        return float(np.mean(np.abs(next(medians) / next(medians) - 1)))

    target_scaled = target * scaling_factors(after, model=model, reference=reference)
    baseline_scaled = baseline * scaling_factors(before, model=model, reference=reference)
    quality = fit_quality(before, baseline, model=model)
    return (
        f"as measured {difference(target, baseline):.0%}, scaled {difference(target_scaled, baseline_scaled):.0%}\n"
        f"R² {quality.r_squared:.2f}, Spearman {quality.spearman:.2f}, mean error {quality.mean_error:.1%}"
    )


def idle() -> str:
    """Mixtures of idle time and load [N12, figures 7 and 8]: those that are normal without the lower mode."""
    shares = []
    for count in (60, 240, 1000):
        rng = np.random.default_rng(count)
        before = after = 0
        for _ in range(300):
            some = rng.binomial(count, rng.uniform(0.05, 0.5))
            low = rng.normal(rng.uniform(1, 8), rng.uniform(0.5, 2), some)
            samples = np.sort(np.append(low, rng.normal(rng.uniform(25, 60), rng.uniform(3, 6), count - some)))
            if stats.shapiro(samples).pvalue < 0.05:
                boundary = idle_boundary(samples)
                before += 1
                after += boundary is not None and stats.shapiro(samples[samples >= boundary]).pvalue > 0.05
        shares.append(f"of {count} samples {after / before:.0%}")
    return f"normal after the filter: {', '.join(shares)}"


def _rows(values: Floats) -> Ragged:
    return Ragged(values.ravel(), np.full(len(values), values.shape[1]))


def interval() -> str:
    own = median_estimate(_rows(np.arange(1.0, 12.0)[None]))
    return f"{own.median[0]:g} ± {own.bounds()[1][0] - own.median[0]:.3f}"


def executions() -> str:
    """Pairs of equal versions with normal noise that both conditions call different, and those 20% apart, noise 5%."""
    lines = [f"at least {MINIMUM_SAMPLES} executions"]
    for count in (5, 10, 20, 50):
        rng = np.random.default_rng(count)
        before, after = rng.normal(1, 0.05, (20_000, count)), rng.normal(1, 0.05, (20_000, count))
        called = [
            median_deviation(median_estimate(_rows(after * factor)), median_estimate(_rows(before))).deviates.mean()
            for factor in (1, 1.2)
        ]
        lines.append(f"{count} executions: equal {called[0]:.2%}, +20% {called[1]:.1%}")
    return "\n".join(lines)


def shapes() -> str:
    """Shapes of the 50 repetitions of each test of each release of Commons Math, as recorded."""
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    samples = [np.sort(np.concatenate(rounds)) for tests in recorded.values() for rounds in tests.values()]
    described = [shape for one in samples if (shape := shape_of(one))]
    shares = {
        "normal": [shape.normal_p >= 0.05 for shape in described],
        "skewness above 1": [shape.skewness > 1 for shape in described],
        "two modes or more": [shape.modes > 1 for shape in described],
    }
    return f"of {len(described)}: " + ", ".join(f"{np.mean(is_so):.0%} {name}" for name, is_so in shares.items())


def distance() -> str:
    few, many = [0.9] * 3, [0.3] * 27
    return f"{distance_score(few):.1f} and {distance_score(many):.1f}; {math.hypot(*few):.3f}, {math.hypot(*many):.3f}"


def fluctuation() -> str:
    return f"{distance_score((0.9, 0.1)):.4f} and {distance_score((0.64031, 0.64031)):.4f}"


def levels() -> str:
    values = np.array([60.0, 74, 88, 60, 74, 88, 74, 74])[:, None]
    scale = three_level_scale(74 + (values - 74) * 14 / np.std(values))
    return f"medium: {scale.low[0]:.0f}..{scale.high[0]:.0f}"


def widths() -> str:
    bins = {count: equal_width_scale(np.arange(float(count))[:, None]).bins[0] for count in (10, 100, 1440)}
    return ", ".join(f"{count} distinct values: {own} bins" for count, own in bins.items())


def score() -> str:
    """The score of a configuration with 46% CPU, 5.61 s and $10, and the levels of four utilisations."""
    bounds = (0.3, 0.6, 0.75)
    levels = ", ".join(f"{level_among(use, bounds):g}" for use in (0.2, 0.46, 0.7, 0.9))
    return f"levels of 20, 46, 70 and 90% CPU: {levels}; score {5.61 * level_among(0.46, bounds) * 10:.2f}"


def confidence() -> str:
    return f"0.9 → 0.2: {confidence_change(np.array([0.9]), np.array([0.2]))[0]:.3f}"


def bagging() -> str:
    counters = ("CPU", "throughput", "memory", "DB transactions")
    models = (("CPU", "throughput"), ("memory", "throughput"), ("memory", "throughput"), ("DB transactions",))
    flags = np.array([[counter in model for counter in counters] for model in models])
    share = votes(flags, np.full(4, 0.25), np.ones_like(flags))
    return ", ".join(name for name, own in zip(counters, share, strict=True) if own > bagging_threshold(4))


def stacking() -> str:
    return ", ".join(f"{weight:.4f}" for weight in stacking_weights([[1, 1, 1, 0], [1, 0, 0, 1]]))


FIGURES: Final[dict[str, Callable[[], str]]] = {
    "H13.repetitions": repetitions,
    "H13.graph": graph,
    "H13.histories": histories,
    "H13.call-tree": call_tree,
    "N12.limits": limits,
    "N12.ratio": ratio,
    "N12.threshold": left_out,
    "N12.scaling": scaling,
    "N12.loads": loads,
    "N12.idle": idle,
    "B17.interval": interval,
    "B17.executions": executions,
    "B17.shapes": shapes,
    "Z15.distance": distance,
    "Z15.fluctuation": fluctuation,
    "F11.levels": levels,
    "F11.widths": widths,
    "F11.confidence": confidence,
    "F11.score": score,
    "F11.bagging": bagging,
    "F11.stacking": stacking,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figure", nargs="*", choices=[[], *FIGURES])
    for name in parser.parse_args().figure or FIGURES:
        print(f"{name}\n{FIGURES[name]()}\n")


if __name__ == "__main__":
    main()
