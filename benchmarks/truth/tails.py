"""False alarms of `metric: p99` on unchanged executions, and its power, as a user gets it from `measure` and `compare`.

    python -m benchmarks.truth.tails FILE.npz ...

`benchmarks.truth.record_tails` writes the files. The peers are what users would run instead. One is
Mann-Whitney on all samples of a side at 5%, the other two percentiles that are 10% apart. Ranges are 95%, binomial.
"""

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from msgspec import structs
from scipy import stats

from benchmarks.truth.record_tails import BASELINE, CHANGES, UNCHANGED
from benchmarks.truth.recordings import of_jobs
from perf_culprit.arrays import Floats
from perf_culprit.config.reader import parse_config
from perf_culprit.flows.compare import judge_run
from perf_culprit.flows.measured_side import paired
from perf_culprit.model.finding import PROVEN, Baseline, BaselineSource, Verdict
from perf_culprit.model.run import Benchmark, Direction, Metric, Origin, Run

P99: Final = "p99"
CONFIG: Final = parse_config(b"benchmarks: [{match: '*', metric: p99}]", place="perf-culprit.yml")
TIME: Final = Metric(name="time", unit="ns", direction=Direction.LOWER_IS_BETTER)
FILES: Final = 5
ANY: Final = "any"


class Sides(NamedTuple):
    """The executions of both sides, (executions, calls), and the round of each."""

    change: str
    workload: str
    before: Floats
    now: Floats
    rounds: tuple[int, ...]


def comparisons(file: Path) -> Iterator[Sides]:
    """Yield each measurement's comparisons: every change, and executions of its baseline with their neighbours."""
    held = np.load(file)
    samples = held["samples"].astype(np.float64)
    places: dict[int, list[int]] = defaultdict(list)
    for place, number in enumerate(held["measurement"].tolist()):
        places[number].append(place)
    for own in places.values():
        rounds: dict[int, list[int]] = defaultdict(list)
        for place in own:
            rounds[int(held["round"][place])].append(place)
        workload = str(held["workload"][own[0]])
        before, now = defaultdict[str, list[int]](list), defaultdict[str, list[int]](list)
        for turn in rounds.values():
            for at in range(1, len(turn) - 2, 3):
                change = str(held["change"][turn[at]])
                before[change] += [turn[at - 1], turn[at + 2]]
                now[change] += turn[at : at + 2]
            ends = [place for place in turn if held["change"][place] == BASELINE]
            for at in range(0, len(ends) - 3, 4):
                name = f"{UNCHANGED} {at}"
                before[name] += [ends[at], ends[at + 3]]
                now[name] += ends[at + 1 : at + 3]
        numbers = tuple(number for number in rounds for _ in "ab")
        for change, mine in now.items():
            name = UNCHANGED if change.startswith(UNCHANGED) else change
            yield Sides(name, workload, samples[before[change]], samples[mine], numbers)


def run_of(executions: Floats, rounds: tuple[int, ...] = ()) -> Run:
    benchmark = Benchmark.of(
        name="calls",
        metric=TIME,
        samples=tuple(executions.ravel().tolist()),
        group_sizes=(executions.shape[1],) * len(executions) if rounds else (),
        rounds=rounds,
    )
    return Run(benchmarks=(benchmark,))


def in_turn(sides: Sides) -> dict[str, Verdict]:
    """Return the verdicts by metric, as `measure` gives them."""
    baseline = paired(run_of(sides.before, sides.rounds))
    return _verdicts(baseline, run_of(sides.now, sides.rounds))


def apart(sides: Sides) -> dict[str, Verdict]:
    """Return the verdicts by metric of files, each a job's, of the first three rounds against the last three."""
    executions = np.concatenate([sides.before[:FILES], sides.now[-FILES:]])
    runs = [run_of(execution[None, :]) for execution in executions]
    baseline = Baseline(runs=of_jobs(runs[:FILES]), source=BaselineSource.FILES)
    target = run_of(executions[FILES:], tuple(range(1, FILES + 1)))
    origins = tuple(Origin((None, None, f"target {number}"), None) for number in range(FILES))
    return _verdicts(baseline, structs.replace(target, origins=origins))


def _verdicts(baseline: Baseline, target: Run) -> dict[str, Verdict]:
    return {one.key.metric: one.verdict for one in judge_run(baseline, target, config=CONFIG).findings}


def by_mann_whitney(sides: Sides) -> bool:
    p_value: float = stats.mannwhitneyu(sides.before.ravel(), sides.now.ravel()).pvalue
    return p_value <= 0.05


def by_ratio(sides: Sides) -> bool:
    before, now = (np.quantile(side, 0.99) for side in (sides.before, sides.now))
    return bool(abs(now / before - 1) >= 0.1)


WAYS: Final = {"6 rounds A B B A": in_turn, "5 files against 5, a job each": apart}
PEERS: Final = {"Mann-Whitney": by_mann_whitney, "p99 ± 10%": by_ratio}


def share(count: int, number: int) -> str:
    interval = stats.binomtest(count, number).proportion_ci()
    return f"{count / number:.3f} [{interval.low:.2f}, {interval.high:.2f}]"


class Told(NamedTuple):
    """The shares of comparisons that are proven, and proven or suspected, by metric. `ANY` is either of them."""

    proven: Counter[str]
    warned: Counter[str]


def told(verdicts: Sequence[dict[str, Verdict]]) -> Told:
    proven, warned = Counter[str](), Counter[str]()
    for own in verdicts:
        called = {metric for metric, verdict in own.items() if verdict in PROVEN}
        seen = called | {metric for metric, verdict in own.items() if verdict is Verdict.SUSPECTED}
        proven.update([*called, *[ANY] * bool(called)])
        warned.update([*seen, *[ANY] * bool(seen)])
    return Told(proven, warned)


def rates(own: Sequence[Sides]) -> Iterator[str]:
    """Yield the shares of unchanged comparisons that each way calls, with their ranges."""
    ways = {name: told([judge(sides) for sides in own]) for name, judge in WAYS.items()}
    for name, each in ways.items():
        yield f"| {name}: warned | {share(each.warned[ANY], len(own))} |"
        yield f"| … by p99 | {share(each.warned[P99], len(own))} |"
        yield f"| … proven | {share(each.proven[ANY], len(own))} |"
    for name, peer in PEERS.items():
        yield f"| {name} | {share(sum(map(peer, own)), len(own))} |"


def power(own: Sequence[Sides]) -> Iterator[str]:
    """Yield the shares that are proven, and proven or suspected, by p99 and by the time; then those of the peers."""
    for judge in WAYS.values():
        each = told([judge(sides) for sides in own])
        yield from (
            f"{each.proven[name] / len(own):.2f}/{each.warned[name] / len(own):.2f}" for name in (P99, TIME.name)
        )
    yield from (f"{sum(map(peer, own)) / len(own):.2f}" for peer in PEERS.values())


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.truth.tails",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", type=Path, metavar="FILE.npz", nargs="+")
    by_change = defaultdict[str, list[Sides]](list)
    for file in parser.parse_args().files:
        for sides in comparisons(file):
            by_change[sides.change].append(sides)
    unchanged = by_change[UNCHANGED]
    print(f"| {len(unchanged)} unchanged comparisons | called |\n|:--|--:|")
    print("\n".join(rates(unchanged)), flush=True)
    ways = [f"{name}: {metric}" for name in WAYS for metric in (P99, TIME.name)]
    print(f"\n| change | comparisons | {' | '.join([*ways, *PEERS])} |\n|:--|{'--:|' * (1 + len(ways) + len(PEERS))}")
    for change in CHANGES:
        if own := by_change[change]:
            print(f"| {change} | {len(own)} | {' | '.join(power(own))} |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
