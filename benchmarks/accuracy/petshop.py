"""Counters of a microservice shop with injected faults: is the root cause among the first that a detector flags?

    PERF_CULPRIT_DATA=DIR python benchmarks/accuracy/petshop.py               the tuning half
    PERF_CULPRIT_DATA=DIR python benchmarks/accuracy/petshop.py --grid        all baselines that were compared on it
    PERF_CULPRIT_DATA=DIR python benchmarks/accuracy/petshop.py --reporting   both halves: look once, choose nothing

DIR holds `petshop/dataset/`. README.md next to this file describes the data, the split and the scoring.
"""

import argparse
import csv
import hashlib
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
from scipy import stats
from tabulate import tabulate

from perf_culprit.arrays import Floats

sys.path.insert(0, str(Path(__file__).parents[2]))

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge import control_chart
from perf_culprit.judge.counter_pairs import TablePair, pair_counters
from perf_culprit.judge.detector import DetectorOptions
from perf_culprit.judge.limit_verdict import counter_findings, exceeds_threshold
from perf_culprit.judge.one_load import load_findings
from perf_culprit.judge.rule_ensemble import assess_tables
from perf_culprit.judge.rule_models import build_models
from perf_culprit.judge.rule_options import RuleOptions
from perf_culprit.judge.rule_training import choose_training
from perf_culprit.judge.rule_votes import combine, in_violation
from perf_culprit.model.finding import Baseline, BaselineSource, Evidence, Verdict
from perf_culprit.model.run import CounterTable, Direction, Environment, Metric, Run

# An issue has five rows; no-issue periods are split into blocks of five times as many, so that the halves are not
# neighbours row by row.
ISSUE_ROWS, BLOCK_ROWS = 5, 25
HEADER_ROWS = 4
# The share of a half's blocks without an issue that is used for training; the others are unseen.
TRAINING_SHARE = 0.6
# The number of stored runs that the tool reads by default.
MOST_RUNS = 30
# The load: requests to the shop's front end.
LOAD = ("PetSite", "requests", "Sum")
# The number of random orders of counters with equal scores.
TIE_ORDERS = 200
FIRST = (5, 10)
LOW, HIGH = "low_traffic", "high_traffic"
# Only the two constant ones have periods without an issue.
TRAFFICS = (LOW, HIGH, "temporal_traffic1", "temporal_traffic2")
GOOD = {"latency": Direction.LOWER_IS_BETTER, "availability": Direction.HIGHER_IS_BETTER}

# Counter and what it is ordered by, highest first; only the flagged ones.
Flagged = Mapping[str, tuple[float, float]]
Method = Callable[[tuple[TablePair, ...]], Flagged]


@dataclass(frozen=True, kw_only=True, slots=True)
class Training:
    """Training runs of `rows` instants each. `same`: only runs of the target's traffic, if there are any."""

    rows: int
    same: bool

    def __str__(self) -> str:
        return f"{self.rows} rows, {'same' if self.same else 'both'}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Issue:
    """An injected fault and its run. `node` is the root cause."""

    traffic: str
    run: Run
    node: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Half:
    """Runs by traffic: `training` in blocks, `unseen` in windows of an issue's length."""

    issues: list[Issue] = field(default_factory=list)
    training: dict[str, list[Run]] = field(default_factory=dict)
    unseen: dict[str, list[Run]] = field(default_factory=dict)


def digest(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()


def half_of(name: str) -> str:
    return "tuning" if digest(name)[0] % 2 == 0 else "reporting"


def read_run(path: Path, *, traffic: str) -> Run:
    with path.open(newline="") as lines:
        rows = list(csv.reader(lines))
    names = list(zip(*(row[1:] for row in rows[: HEADER_ROWS - 1]), strict=True))
    times = np.array([float(row[0]) for row in rows[HEADER_ROWS:]])
    cells = np.array([[float(cell or "nan") for cell in row[1:]] for row in rows[HEADER_ROWS:]])
    kept = [column for column, name in enumerate(names) if name != LOAD]
    metrics = tuple(
        Metric(name=" ".join(names[column]), unit="", direction=GOOD.get(names[column][1], Direction.UNKNOWN))
        for column in kept
    )
    table = CounterTable(
        name="shop",
        metrics=metrics,
        times_s=times,
        values=cells[:, kept],
        load=cells[:, names.index(LOAD)],
        load_name="front end requests",
    )
    return Run(counters=(table,), environment=Environment(components={"traffic": traffic}))


def cut(run: Run, rows: int) -> list[Run]:
    """Cut the run into consecutive pieces of equal length; drop the remainder at the end."""
    (table,) = run.counters
    pieces = []
    for start in range(0, len(table.times_s) - rows + 1, rows):
        part = slice(start, start + rows)
        piece = CounterTable(
            name=table.name,
            metrics=table.metrics,
            times_s=table.times_s[part],
            values=table.values[part],
            load=None if table.load is None else table.load[part],
            load_name=table.load_name,
        )
        pieces.append(Run(counters=(piece,), environment=run.environment))
    return pieces


def load(folder: Path) -> dict[str, Half]:
    halves = {"tuning": Half(), "reporting": Half()}
    for traffic in TRAFFICS:
        for told in sorted((folder / traffic).glob("t*/issue_*/target.json")):
            label = json.loads(told.read_text())
            run = read_run(told.with_name("metrics.csv"), traffic=traffic)
            half = halves[half_of(f"{traffic} {told.parent.parent.name} {told.parent.name}")]
            half.issues.append(Issue(traffic=traffic, run=run, node=label["root_cause"]["node"]))
    for traffic in (LOW, HIGH):
        blocks = cut(read_run(folder / traffic / "noissue" / "metrics.csv", traffic=traffic), BLOCK_ROWS)
        for name, half in halves.items():
            own = [number for number in range(len(blocks)) if half_of(f"{traffic} {number}") == name]
            by_hash = sorted(own, key=lambda number: digest(f"{traffic} {number}")[1:])
            training = set(by_hash[: round(TRAINING_SHARE * len(own))])
            half.training[traffic] = [blocks[number] for number in own if number in training]
            half.unseen[traffic] = [
                window for number in own if number not in training for window in cut(blocks[number], ISSUE_ROWS)
            ]
    return halves


def tables_of(half: Half, target: Run, traffic: str, training: Training) -> tuple[TablePair, ...]:
    used = [traffic] if training.same and traffic in half.training else list(half.training)
    runs = [run for name in used for block in half.training[name] for run in cut(block, training.rows)]
    # The same share of each traffic, over all of the time.
    spread = np.linspace(0, len(runs) - 1, min(len(runs), MOST_RUNS)).astype(int)
    baseline = Baseline(runs=tuple(runs[index] for index in spread), source=BaselineSource.HISTORY)
    return pair_counters(baseline, target).tables


def by_violation(evidence: Sequence[Evidence]) -> Flagged:
    return {
        entry.key.metric: (entry.violation, entry.excess.time_in_violation)
        for entry in evidence
        if exceeds_threshold(entry)
    }


def another_load(tables: tuple[TablePair, ...]) -> Flagged:
    return {entry.key.metric: (0.0, 0.0) for entry in load_findings(tables)}


@lru_cache(maxsize=1)
def charts(tables: tuple[TablePair, ...]) -> Sequence[Evidence]:
    return control_chart.DETECTOR.detect_counters(tables, DetectorOptions())


def charted(tables: tuple[TablePair, ...]) -> Flagged:
    return by_violation(charts(tables))


def called(tables: tuple[TablePair, ...]) -> Flagged:
    """Control charts with the policy's verdict, which requires more than that a counter is out of control."""
    findings = counter_findings(tables, charts(tables), PolicySettings())
    changes = {Verdict.REGRESSION, Verdict.IMPROVEMENT}
    return by_violation([finding for finding in findings if finding.verdict in changes])


def as_shipped(options: RuleOptions) -> Method:
    return lambda tables: by_violation(assess_tables(tables, options))


def of_every_row(options: RuleOptions) -> Method:
    """Return the rule ensemble as a method that judges any number of rows, without its minimum of ten intervals."""

    def flagged(tables: tuple[TablePair, ...]) -> Flagged:
        (pair,) = tables
        training = choose_training(tables, options)
        everything = slice(None)
        by_run = {id(entry.run): with_load(entry.values(everything), entry.table) for entry in pair.baseline}
        target = with_load(pair.target_values(everything), pair.target)
        models = build_models([by_run[id(run)] for run in training.runs], target, training.groups, options)
        weights = training.weights if len(models) > 1 else np.ones(1)
        decisive = training.decisive if len(models) > 1 else ()
        combined = combine(models, weights, options, decisive=decisive)
        places = np.flatnonzero(combined.score[:-1] > combined.threshold[:-1]).tolist()
        return {
            pair.metrics[counter].name: (
                float(combined.score[counter]),
                float(in_violation(models, weights, counter, instants=len(target)).mean()),
            )
            for counter in places
        }

    return flagged


def with_load(values: Floats, table: CounterTable) -> Floats:
    return values if table.load is None else np.column_stack([values, table.load])


def three_sigma(tables: tuple[TablePair, ...]) -> Flagged:
    """Any value further than three standard deviations from the mean of all baseline values; the furthest first."""
    (pair,) = tables
    pooled = np.vstack([entry.values(slice(None)) for entry in pair.baseline])
    target = pair.target_values(slice(None))
    results = {}
    for metric, before, now in zip(pair.metrics, pooled.T, target.T, strict=True):
        before, now = before[np.isfinite(before)], now[np.isfinite(now)]  # noqa: PLW2901 - only what was measured
        if not len(before) or not len(now):
            continue
        furthest, deviation = float(np.abs(now - before.mean()).max()), float(before.std())
        if furthest > 3 * deviation:
            results[metric.name] = (furthest / deviation if deviation else float("inf"), furthest)
    return results


SINGLE, BAGGING, STACKING = (RuleOptions(ensemble=name) for name in ("single", "bagging", "stacking"))
METHODS: Mapping[str, Method] = {
    "control_chart, out of control": charted,
    "control_chart, called by the policy": called,
    "another load": another_load,
    "3 sigma": three_sigma,
    "rule_ensemble as it is": as_shipped(STACKING),
    "rules of every row, single": of_every_row(SINGLE),
    "rules of every row, bagging": of_every_row(BAGGING),
    "rules of every row, stacking": of_every_row(STACKING),
}
# The training of each family with most root causes among the first five, on the tuning half.
CHOSEN = {name: Training(rows=BLOCK_ROWS if name.startswith("rule") else ISSUE_ROWS, same=False) for name in METHODS}
ALL_TRAININGS = tuple(Training(rows=rows, same=same) for rows in (ISSUE_ROWS, BLOCK_ROWS) for same in (True, False))


def share_of_hits(flagged: Flagged, node: str, rng: np.random.Generator) -> list[float]:
    """Return for each number in FIRST the share of random orders of ties in which a first counter is the node's."""
    if not any(of_node(name, node) for name in flagged):
        return [0.0 for _ in FIRST]
    names = list(flagged)
    scores = np.array([flagged[name] for name in names])
    own = np.array([of_node(name, node) for name in names])
    hits = np.zeros(len(FIRST))
    for _ in range(TIE_ORDERS):
        ordered = own[np.lexsort((rng.random(len(names)), -scores[:, 1], -scores[:, 0]))]
        hits += [ordered[:first].any() for first in FIRST]
    return [float(share) for share in hits / TIE_ORDERS]


def of_node(counter: str, node: str) -> bool:
    return counter.rsplit(" ", 2)[0] == node


def by_chance(half: Half) -> list[float]:
    """Share of issues that counters in random order would hit."""
    shares = []
    for issue in half.issues:
        names = [metric.name for metric in issue.run.counters[0].metrics]
        own = sum(of_node(name, issue.node) for name in names)
        shares.append([1 - float(stats.hypergeom.pmf(0, len(names), own, first)) for first in FIRST])
    return [float(share) for share in np.mean(shares, axis=0)]


def rows_of(half: Half, methods: Mapping[str, Method], training: Training) -> list[list[str]]:
    """One row of the table per method."""
    rng = np.random.default_rng(1)
    hits: dict[str, list[list[float]]] = {name: [] for name in methods}
    counts: dict[str, list[int]] = {name: [] for name in methods}
    unseen: dict[str, list[int]] = {name: [] for name in methods}
    compared = 0
    for issue in half.issues:
        tables = tables_of(half, issue.run, issue.traffic, training)
        for name, method in methods.items():
            flagged = method(tables)
            hits[name].append(share_of_hits(flagged, issue.node, rng))
            counts[name].append(len(flagged))
    windows = [(traffic, window) for traffic, parts in half.unseen.items() for window in parts]
    for traffic, window in windows:
        tables = tables_of(half, window, traffic, training)
        compared += len(tables[0].metrics)
        for name, method in methods.items():
            unseen[name].append(len(method(tables)))
    rows = []
    for name in methods:
        alarmed = sum(count > 0 for count in unseen[name])
        interval = stats.binomtest(alarmed, len(windows)).proportion_ci(method="exact")
        rows.append(
            [
                name,
                str(training),
                *(f"{100 * share:.0f}%" for share in np.mean(hits[name], axis=0)),
                f"{np.mean(counts[name]):.1f}",
                f"{np.mean(unseen[name]):.2f} ({100 * sum(unseen[name]) / compared:.2f}%)",
                f"{100 * alarmed / len(windows):.0f}% ({100 * interval.low:.0f} to {100 * interval.high:.0f})",
            ]
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--grid", action="store_true", help="every method with every baseline, on the tuning half")
    what.add_argument("--reporting", action="store_true", help="also score the reporting half")
    arguments = parser.parse_args()
    root = os.environ.get("PERF_CULPRIT_DATA")
    if not root or not (Path(root) / "petshop" / "dataset").is_dir():
        print("skipped: PERF_CULPRIT_DATA names no folder with petshop/dataset")
        return
    halves = load(Path(root) / "petshop" / "dataset")
    for name in ("tuning", "reporting") if arguments.reporting else ("tuning",):
        half = halves[name]
        blocks, windows = (sum(map(len, part.values())) for part in (half.training, half.unseen))
        print(f"\n{name}: {len(half.issues)} issues; without: {blocks} training blocks, {windows} unseen windows\n")
        table = [["all counters in random order", "-", *(f"{100 * share:.0f}%" for share in by_chance(half))]]
        for training in ALL_TRAININGS:
            methods = {title: how for title, how in METHODS.items() if arguments.grid or CHOSEN[title] == training}
            if methods:
                table += rows_of(half, methods, training)
                print(f"  {training} done", file=sys.stderr, flush=True)
        headers = ["method", "baseline run, traffic", *(f"in first {first}" for first in FIRST)]
        headers += ["flagged", "unseen: flagged", "unseen: any"]
        print(tabulate(table, headers=headers, tablefmt="github", disable_numparse=True), flush=True)


if __name__ == "__main__":
    main()
