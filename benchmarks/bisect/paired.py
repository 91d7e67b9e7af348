"""The same searches by two revisions of the engine: the effect of a rule that one of them lacks.

    python benchmarks/bisect/paired.py --json after.json [--against before.json] [--rows PART] [--processes N]

Write one file with each revision, then compare. Rows are those of grid.py, replay.py, scales.py, sizes.py and
unchanged.py. Each has its own seeds, so both revisions have the same culprits, orders and noise. `right`: all planted
commits are named; `part`: some; `wrong`: another commit is named, with less than a fifth of the largest change.
It prints the ratio of executions over all pairs, and rows whose verdicts or executions differ. Executions must differ
by more than chance (t-test of logarithms, 10%). Recorded series are `real-noise/*.csv` of PERF_CULPRIT_DATA.
"""

import argparse
import json
import os
import sys
import zlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np
from scipy import stats

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.bisect import machine, scales, sizes, unchanged
from benchmarks.bisect.grid import HISTORIES, MACHINES_ROUNDS, MACHINES_SCALE, STEPS
from benchmarks.bisect.machine import Machine, levels_of, offsets, play, stream
from benchmarks.bisect.replay import log_half, recorded
from perf_culprit.model.bisection import NEGLIGIBLE, OutcomeKind, SearchSettings
from perf_culprit.search.search import Search

SAMPLERS: Final = {**scales.NOISES, **machine.NOISES}
NEIGHBOURS: Final = (
    ("10%", (0.2, 0.6)),
    ("10%", (0.6, 0.2)),
    ("bursts", (0.2, 0.6)),
    ("heavy", (0.2, 0.6)),
    ("bimodal", (0.2, 0.6)),
)
LIKELY: Final = 0.1


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """A row. `steps` are planted, as `neighbours` or apart; `others`: further change of each commit.

    `size` 0: the sizes of unchanged.py.
    """

    name: str
    searches: int
    noise: str
    steps: tuple[float, ...] = ()
    size: int = 64
    history: str = "chain"
    offset: float = 0.0
    others: float = 0.0
    decay: float = 0.0
    machines: bool = False
    neighbours: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    row: str
    seed: int
    verdict: str
    executions: int
    covered: tuple[bool, ...]


def rows(series: Mapping[str, Sequence[float]]) -> Iterator[Row]:
    for size in (8, 64):
        for noise, step in STEPS:
            for offset in (0.0, 0.06):
                hard = (noise, step) in {("3%", 0.02), ("10%", 0.05)}
                name = f"grid {size} {noise} {step:+.0%} offsets {offset:.0%}"
                yield Row(name=name, searches=3 if hard else 6, noise=noise, steps=(step,), size=size, offset=offset)
    for noise, step in (("3%", 0.05), ("3%", 0.10), ("bimodal", 0.05)):
        name = f"grid merges {noise} {step:+.0%}"
        yield Row(name=name, searches=6, noise=noise, steps=(step,), history="merges", offset=0.06)
    for noise, step in (("3%", 0.10), ("bimodal", 0.05), ("heavy", 0.05), ("10%", 0.10)):
        name = f"grid machines {noise} {step:+.0%}"
        yield Row(name=name, searches=4, noise=noise, steps=(step,), offset=0.06, machines=True)
    for noise in series:
        yield from (
            Row(name=f"real {noise} {step:+.0%}", searches=12, noise=noise, steps=(step,)) for step in (0.15, 0.4, 4)
        )
    yield from (Row(name=f"bursts {step:+.0%}", searches=10, noise="bursts", steps=(step,)) for step in (0.15, 0.4))
    for noise in scales.NOISES:
        for step in (0.001, 0.03, 0.2, 1.0, 8.0, -0.168):
            yield Row(name=f"scale {noise} {step:+.1%}", searches=3, noise=noise, steps=(step,))
    for noise, steps, offset, others in sizes.CELLS:
        name = f"sizes {noise} {steps} offsets {offset:.0%} others {others:.1%}"
        many = 8 if len(steps) > 1 or others else 4
        yield Row(name=name, searches=many, noise=noise, steps=steps, offset=offset, others=others)
    yield from (
        Row(name=f"neighbours {noise} {steps}", searches=20, noise=noise, steps=steps, size=165, neighbours=True)
        for noise, steps in NEIGHBOURS
    )
    yield from (Row(name=f"decay {decay:.0%}", searches=5, noise="3%", decay=decay) for decay in (0.25, 0.10))
    yield from (
        Row(name=f"unchanged {noise}", searches=12, noise=noise, size=0) for noise in (*unchanged.KINDS, *series)
    )


def noise_of(name: str, series: Mapping[str, Sequence[float]], generator: np.random.Generator) -> Iterator[float]:
    if name in series:
        return recorded(series[name], generator)
    return unchanged.KINDS[name](generator) if name in unchanged.KINDS else stream(SAMPLERS[name], generator)


def trial(row: Row, seed: int, series: Mapping[str, Sequence[float]]) -> Trial:
    number = zlib.crc32(f"{row.name} {seed}".encode())
    generator = np.random.default_rng(number)
    size = row.size or unchanged.SIZES[seed % len(unchanged.SIZES)]
    commit_range = HISTORIES[row.history](size, seed)
    planted = {int(generator.integers(0, size - row.neighbours)): float(np.log1p(step)) for step in row.steps[:1]}
    if row.neighbours:
        planted = {place + min(planted): float(np.log1p(step)) for place, step in enumerate(row.steps)}
    elif len(row.steps) > 1:
        planted = {place: float(np.log1p(step)) for place, step in sizes.planted_steps(row.steps, generator).items()}
    effects = {place: float(np.log1p(row.decay)) / size for place in range(size)} if row.decay else dict(planted)
    if row.others:
        small = generator.normal(0, row.others, size).tolist()
        effects = {place: change + planted.get(place, 0.0) for place, change in enumerate(small)}
    rounds = Machine(
        levels=levels_of(commit_range, effects),
        noise=noise_of(row.noise, series, generator),
        offset=offsets(generator, row.offset),
        scale=machine.scales(generator, MACHINES_SCALE if row.machines else 0.0),
    )
    budget = 800 if row.machines else 400
    settings = SearchSettings(budget_executions=budget, seed=number % 2**31, one_machine=not row.machines)
    outcome = play(Search.start(commit_range, settings=settings), rounds, k=MACHINES_ROUNDS if row.machines else 1)
    named = {commit_range.commits.index(one.commit): one.confidence_interval for one in outcome.culprits}
    least = NEGLIGIBLE * max(map(abs, effects.values()), default=0.0) if row.others else np.inf
    wrong = [place for place in named if place not in planted and abs(effects.get(place, 0.0)) < least]
    true = {place: float(np.expm1(effects.get(place, 0.0))) for place in named}
    return Trial(
        row=row.name,
        seed=seed,
        verdict="wrong" if wrong else verdict(named, planted, outcome.kind),
        executions=rounds.executions,
        covered=tuple(each.low - 1e-9 <= true[place] <= each.high + 1e-9 for place, each in named.items()),
    )


def verdict(named: Collection[int], planted: Collection[int], kind: OutcomeKind) -> str:
    if not named:
        return "decay" if kind is OutcomeKind.DECAY else "none"
    return "right" if set(named) >= set(planted) else "part"


def compared(before: Sequence[Trial], after: Sequence[Trial]) -> Iterator[str]:
    earlier = {(one.row, one.seed): one for one in before}
    pairs = [(earlier[one.row, one.seed], one) for one in after if (one.row, one.seed) in earlier]
    by_row: dict[str, list[tuple[Trial, Trial]]] = defaultdict(list)
    for pair in pairs:
        by_row[pair[0].row].append(pair)
    for name, own in by_row.items():
        verdicts = [dict(Counter(pair[side].verdict for pair in own)) for side in (0, 1)]
        logs = np.log([new.executions / old.executions for old, new in own])
        p_value = float(stats.ttest_1samp(logs, 0.0).pvalue) if len(logs) > 2 and logs.std() else 1.0
        if verdicts[0] != verdicts[1] or p_value < LIKELY:
            yield f"{name}: executions x {np.exp(logs.mean()):.2f} (p = {p_value:.3f}), {verdicts[0]} -> {verdicts[1]}"
    logs = np.log([new.executions / old.executions for old, new in pairs])
    half = 1.96 * float(stats.sem(logs))
    yield f"{len(pairs)} pairs in {len(by_row)} rows: executions x {np.exp(logs.mean()):.3f} +- {half:.3f}"
    for side in (0, 1):
        planted = Counter(pair[side].verdict for pair in pairs if not pair[side].row.startswith("unchanged"))
        alarms = sum(pair[side].verdict == "wrong" for pair in pairs if pair[side].row.startswith("unchanged"))
        covered = [one for pair in pairs for one in pair[side].covered]
        held = f"{sum(covered)} of {len(covered)} intervals hold"
        yield f"{dict(planted)}; unchanged ranges named {alarms}; {held}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--rows", default="", help="part of a name")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    folder = Path(os.environ.get("PERF_CULPRIT_DATA", "")) / "real-noise"
    series = {path.stem: log_half(path, "second") for path in sorted(folder.glob("*.csv"))}
    jobs = [(row, seed) for row in rows(series) if arguments.rows in row.name for seed in range(row.searches)]
    with ProcessPoolExecutor(arguments.processes) as pool:
        trials = list(pool.map(trial, *zip(*jobs, strict=True), [series] * len(jobs), chunksize=2))
    arguments.json.write_text(json.dumps([asdict(one) for one in trials]) + "\n")
    if arguments.against:
        before = [
            Trial(**{**one, "covered": tuple(one["covered"])}) for one in json.loads(arguments.against.read_text())
        ]
        print(*compared(before, trials), sep="\n")


if __name__ == "__main__":
    main()
