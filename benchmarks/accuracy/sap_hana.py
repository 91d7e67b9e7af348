"""Change points against experts' labels: the labelled series of SAP HANA's nightly performance tests.

    PERF_CULPRIT_DATA=DIR python benchmarks/accuracy/sap_hana.py               the tuning half, both tasks
    PERF_CULPRIT_DATA=DIR python benchmarks/accuracy/sap_hana.py --reporting   both halves: look once, choose nothing

The first table counts the labels of the majority, a second table those of two annotators or more.
DIR holds `sap-hana/labels.json` and `sap-hana/series/*.csv`; README.md next to this file gives their source.
OTAVA_PYTHON and ASV_PYTHON name interpreters that can import apache-otava and asv. A tool without one is skipped.
"""

import argparse
import csv
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
from tabulate import tabulate

from benchmarks.accuracy.peers import OFFLINE_PEERS, ONLINE_PEERS, Offline, Online
from perf_culprit.arrays import Floats
from perf_culprit.stats.steps import FIRST_JUDGED, online_alarms, steps

OFFLINE_TOLERANCE = 5
ONLINE_WINDOW = 10
# For the second table: the annotators that must share a label.
FEWEST_ANNOTATORS = 2
CLUSTER_GAP = 5
# The defaults of `changes` and of comparisons.
MINIMUM_EFFECTS = (0.01, 0.05)
# Series of this name had a step injected that is not in the published files: its label cannot be found.
SYNTHETIC = "_syn"


@dataclass(frozen=True, kw_only=True, slots=True)
class Labelled:
    """One series: `values` per build, `changes` the consensus of its annotators, `half` tuning or reporting.

    `shared`: the changes that at least two annotators marked.
    """

    name: str
    values: Floats
    changes: tuple[int, ...]
    shared: tuple[int, ...]
    half: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """Pooled over series: true and false findings, labelled changes, delays, builds judged."""

    true: int
    false: int
    labelled: int
    delays: tuple[int, ...] = ()
    builds: int = 0

    def row(self) -> list[str]:
        f1 = 2 * self.true / max(self.true + self.false + self.labelled, 1)
        shown = [f"{f1:.3f}", f"{self.true / max(self.true + self.false, 1):.2f}", f"{self.true / self.labelled:.2f}"]
        if not self.builds:
            return shown
        delay = f"{np.mean(self.delays):.1f}" if self.delays else "-"
        return [*shown, delay, f"{1000 * self.false / self.builds:.2f}"]


def half_of(name: str) -> str:
    """Return a series' half, by the hash of its base series' number, so that splits and variants stay together."""
    base = name.split("_")[1]
    return "tuning" if hashlib.sha256(base.encode()).digest()[0] % 2 == 0 else "reporting"


def load(folder: Path) -> list[Labelled]:
    labels = json.loads((folder / "labels.json").read_text())
    loaded = []
    for name, label in sorted(labels.items()):
        if SYNTHETIC in name:
            continue
        with (folder / "series" / f"{name}.csv").open(newline="") as lines:
            values = np.array([float(row["mean"]) for row in csv.DictReader(lines)])
        loaded.append(
            Labelled(
                name=name,
                values=values,
                changes=tuple(label["consensus_cps"]),
                shared=shared_marks(label["annotators"].values(), fewest=FEWEST_ANNOTATORS),
                half=half_of(name),
            )
        )
    return loaded


def shared_marks(annotators: Iterable[Sequence[int]], *, fewest: int) -> tuple[int, ...]:
    """Return medians of clusters of marks (neighbours within 5 builds) with marks of `fewest` annotators or more.

    With a majority instead of `fewest` these are the published consensus in 229 of 236 series.
    """
    marks = sorted((mark, number) for number, own in enumerate(annotators) for mark in own)
    clusters: list[list[tuple[int, int]]] = []
    for entry in marks:
        if clusters and entry[0] - clusters[-1][-1][0] <= CLUSTER_GAP:
            clusters[-1].append(entry)
        else:
            clusters.append([entry])
    agreed = [cluster for cluster in clusters if len({number for _, number in cluster}) >= fewest]
    return tuple(int(np.median([mark for mark, _ in cluster])) for cluster in agreed)


def offline_score(result: Mapping[str, Sequence[int]], series: Sequence[Labelled]) -> Score:
    """Score findings: true within 5 builds of a label, one to one; the greedy match of sorted lists is maximal."""
    true = false = labelled = 0
    for one in series:
        open_labels, hits = sorted(one.changes), 0
        for index in sorted(result[one.name]):
            open_labels = [label for label in open_labels if label >= index - OFFLINE_TOLERANCE]
            if open_labels and open_labels[0] <= index + OFFLINE_TOLERANCE:
                open_labels.pop(0)
                hits += 1
        true, false, labelled = true + hits, false + len(result[one.name]) - hits, labelled + len(one.changes)
    return Score(true=true, false=false, labelled=labelled)


def online_score(alarms: Mapping[str, Sequence[int]], series: Sequence[Labelled]) -> Score:
    """Score alarms: the first within 10 builds after a label is true, a second one for the same label is false.

    Labels before the first judged build are not required, and an alarm that belongs to one is not counted.
    """
    true = false = labelled = builds = 0
    delays: list[int] = []
    for one in series:
        asked = [label for label in one.changes if label >= FIRST_JUDGED]
        early = [label for label in one.changes if label < FIRST_JUDGED]
        labelled, builds = labelled + len(asked), builds + max(len(one.values) - FIRST_JUDGED, 0)
        for alarm in sorted(alarms[one.name]):
            heard = [label for label in asked if label <= alarm <= label + ONLINE_WINDOW]
            if heard:
                asked.remove(heard[0])
                delays.append(alarm - heard[0])
                true += 1
            elif not any(label <= alarm <= label + ONLINE_WINDOW for label in early):
                false += 1
    return Score(true=true, false=false, labelled=labelled, delays=tuple(delays), builds=builds)


def ours_offline(values: Floats, *, minimum_effect: float = 0.0) -> list[int]:
    return [change.index for change in steps(values, minimum_effect=minimum_effect)]


def ours_online(values: Floats, *, minimum_effect: float = 0.0) -> list[int]:
    return [alarm.index for alarm in online_alarms(values, minimum_effect=minimum_effect)]


def with_minimum_effects(rule: Callable[..., list[int]]) -> dict[str, Offline | Online]:
    effects = {f"perf-culprit, {effect:.0%} or more": effect for effect in MINIMUM_EFFECTS}
    return {"perf-culprit": rule, **{name: partial(rule, minimum_effect=effect) for name, effect in effects.items()}}


def print_task(
    title: str,
    *,
    rules: Mapping[str, Offline | Online],
    score: Callable[[Mapping[str, Sequence[int]], Sequence[Labelled]], Score],
    series: Sequence[Labelled],
    halves: Sequence[str],
    measures: Sequence[str],
) -> None:
    rows: list[list[str]] = []
    shared_rows: list[list[str]] = []
    for name, rule in rules.items():
        started = time.perf_counter()
        try:
            results = {one.name: rule(one.values) for one in series if one.half in halves}
        except LookupError as absent:
            rows.append([name, f"skipped: {absent.args[0]}"])
            continue
        elapsed_s = time.perf_counter() - started
        for labelled, shown in ((series, rows), ([replace(one, changes=one.shared) for one in series], shared_rows)):
            scores = [score(results, [one for one in labelled if one.half == half]) for half in halves]
            shown.append([name, *chain.from_iterable(one.row() for one in scores), f"{elapsed_s:.1f}"])
        print(f"  {name} done", file=sys.stderr, flush=True)
    columns = [f"{half}: {measure}" for half in halves for measure in measures]
    print(f"\n{title}\n")
    headers = ["rule", *columns, "seconds"]
    print(tabulate(rows, headers=headers, tablefmt="github", disable_numparse=True))
    print(f"\nThe same findings against what {FEWEST_ANNOTATORS} annotators or more marked\n")
    print(tabulate(shared_rows, headers=headers, tablefmt="github", disable_numparse=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reporting", action="store_true", help="also score the reporting half")
    halves = ["tuning", "reporting"] if parser.parse_args().reporting else ["tuning"]
    root = os.environ.get("PERF_CULPRIT_DATA")
    if not root or not (Path(root) / "sap-hana" / "labels.json").is_file():
        print("skipped: PERF_CULPRIT_DATA names no folder with sap-hana/labels.json")
        return
    series = load(Path(root) / "sap-hana")
    for half in halves:
        chosen = [one for one in series if one.half == half]
        changes, without = sum(len(one.changes) for one in chosen), sum(not one.changes for one in chosen)
        shared = sum(len(one.shared) for one in chosen)
        print(
            f"{half}: {len(chosen)} series, {changes} labelled changes ({shared} by {FEWEST_ANNOTATORS} annotators or "
            f"more), {without} series without"
        )
    print_task(
        "Whole series: change within 5 builds of the label, one to one",
        rules={**with_minimum_effects(ours_offline), **OFFLINE_PEERS},
        score=offline_score,
        series=series,
        halves=halves,
        measures=["F1", "precision", "recall"],
    )
    print_task(
        "Online gate: alarm within 10 builds after the label, the first counts",
        rules={**with_minimum_effects(ours_online), **ONLINE_PEERS},
        score=online_score,
        series=series,
        halves=halves,
        measures=["F1", "precision", "recall", "delay", "false/1,000"],
    )


if __name__ == "__main__":
    main()
