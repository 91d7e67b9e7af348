"""False alarms and power of files, rounds and stored runs, as a reader is told, on executions that nobody simulated.

    python -m benchmarks.truth.executions [CORPUS...] [--draws 300] [--power 60] [--ways 5v5 stored]
    python -m benchmarks.truth.executions --write     everything on our own recordings, and their table in the docs

A draw is a stretch of executions in their order in time, of 1, 3 or 20 benchmarks of a suite. Each execution is a file
on disk, or is recorded. A change multiplies the target's numbers, of one benchmark or of all. Corpora are those of
`benchmarks.truth.recordings`.
"""

import argparse
import hashlib
import json
import tempfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from benchmarks.truth.peers import PEERS
from benchmarks.truth.recordings import Suite, halves_of, read_suites, rows_of, stretch_of
from benchmarks.truth.told import Told, by_files, lived, slower
from perf_culprit.arrays import Booleans, Floats, Integers

OWN: Final = Path(__file__).with_name("corpora")
RESULTS: Final = Path(__file__).with_name("executions.json")
PAGE: Final = Path(__file__).parents[2] / "docs" / "evidence" / "error-rates.md"
MARKS: Final = ("<!-- written by benchmarks/truth: begin -->", "<!-- written by benchmarks/truth: end -->")
SIZES: Final = (1, 3, 20)
CHANGES: Final = (0.2, 0.5, 1.0)
FEWEST_STORED: Final = 9
RESAMPLES: Final = 2000
COLUMNS: Final = (
    *("draws", "warned", "proven", *(f"+{change:.0%}" for change in CHANGES), "all +20%"),
    *("interval", "named", "10% rule", "Mann-Whitney"),
)
STATED: Final = {"warned": 0.1, "proven": 0.01}
SAMPLE: Final = 4  # draws per way that a test repeats


class Way(NamedTuple):
    """The files of both sides in their order in time, and the job of each; None: they hold no fact."""

    title: str
    is_target: Booleans
    jobs: Integers | None
    of_counts: bool = False

    @property
    def units(self) -> int:
        return len(self.is_target)


def _files(baseline: int, target: int, *, one_job: bool = False, of_counts: bool = False) -> Way:
    units = np.arange(baseline + target)
    what = "counts, " * of_counts + f"{baseline} file{'s' * (baseline > 1)} against {target}"
    title = f"{what}, one job a side" if one_job else f"{what}, a job each"
    return Way(title, units >= baseline, None if one_job else units, of_counts)


def _rounds(count: int) -> Way:
    return Way(f"{count} rounds A B B A", np.tile([False, True, True, False], count), np.zeros(4 * count, np.intp))


FILES: Final[dict[str, Way]] = {
    "1v1": _files(1, 1, one_job=True),
    "5v5 one job": _files(5, 5, one_job=True),
    "3v1": _files(3, 1),
    "3v3": _files(3, 3),
    "5v5": _files(5, 5),
    "9v1": _files(9, 1),
    "6r": _rounds(6),
    "counts 1v1": _files(1, 1, one_job=True, of_counts=True),
    "counts 5v5": _files(5, 5, of_counts=True),
}
STORED: Final = "stored"
TITLES: Final = {**{name: way.title for name, way in FILES.items()}, STORED: "stored runs, each judged by `record`"}
COUNTS: Final = frozenset({"B/op", "allocs/op"})


@dataclass(frozen=True, slots=True)
class Draw:
    """An unchanged stretch, and what was told with each change. `window`: draws of equal ones overlap in time.

    `power` by change: whether the benchmark was proven, suspected. `named`: whether a change as large as the report
    names was suspected, None if it names none. `peers`: whether each would have called anything.
    """

    window: str
    size: int
    told: Told
    peers: Mapping[str, bool]
    power: Mapping[float, tuple[bool, bool]]
    all_moved: bool | None
    named: bool | None


def draws(suites: Mapping[str, Suite], way: str, *, count: int, power: int) -> Iterator[Draw]:
    with tempfile.TemporaryDirectory(prefix="truth-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:  # noqa: S108 - a temporary folder of its own
        make = _of_life if way == STORED else _of_files
        yield from make(suites, way, Path(folder), count=count, power=power)


def _of_files(suites: Mapping[str, Suite], way: str, folder: Path, *, count: int, power: int) -> Iterator[Draw]:
    units, is_target, of_counts = FILES[way].units, FILES[way].is_target, FILES[way].of_counts
    kept = {name: _of_quantity(suite, of_counts=of_counts) for name, suite in suites.items()}
    long = {name: suite for name, suite in kept.items() if suite.y.shape[1] >= units and len(suite.names)}
    rng = np.random.default_rng(zlib.crc32(way.encode()))
    for index in range(count if long else 0):
        name = list(long)[index % len(long)]
        size = SIZES[index // len(long) % len(SIZES)]
        start = int(rng.integers(long[name].y.shape[1] - units + 1))
        suite = stretch_of(_sized(long[name], size, rng), start, units)
        judged = partial(by_files, is_target=is_target, block=FILES[way].jobs, folder=folder)
        told = judged(suite)
        told_if, all_moved, named = {}, None, None
        row = np.zeros(len(suite.names), np.bool_)
        row[rng.integers(len(row)) if index < max(power, SAMPLE) else 0] = True
        if index < power:
            for change in CHANGES:
                after = judged(slower(suite, row, np.log1p(change), is_target))
                told_if[change] = bool(after.proven[row][0]), bool(after.suspected[row][0])
            all_moved = judged(slower(suite, np.ones_like(row), np.log1p(CHANGES[0]), is_target)).is_warned
            visible = float(told.visible[row][0])
            if np.isfinite(visible) and not told.suspected[row][0]:
                named = bool(judged(slower(suite, row, np.log1p(visible), is_target)).suspected[row][0])
        yield Draw(f"{name} {start // units}", size, told, _peers(suite.y, is_target), told_if, all_moved, named)


def _of_life(suites: Mapping[str, Suite], _way: str, folder: Path, *, count: int, power: int) -> Iterator[Draw]:
    """Judge whole lives, of each suite in each size, until there are enough draws."""
    rng, made, index = np.random.default_rng(zlib.crc32(STORED.encode())), 0, 0
    suites = {name: _of_quantity(suite, of_counts=False) for name, suite in suites.items()}
    while made < count:
        name = list(suites)[index % len(suites)]
        size = SIZES[index // len(suites) % len(SIZES)]
        suite, index = _sized(suites[name], size, rng), index + 1
        suite = stretch_of(suite, 0, min(suite.y.shape[1], max(count - made + 1, 2)))
        row = np.zeros(len(suite.names), np.bool_)
        row[rng.integers(len(row))] = True
        tried = [(row, float(np.log1p(change))) for change in CHANGES]
        tried.append((np.ones_like(row), float(np.log1p(CHANGES[0]))))
        for life in lived(suite, tried if made < power else [], least=FEWEST_STORED, folder=folder):
            if not life.stored:
                continue
            made += 1
            told_if = {
                change: (bool(after.proven[row][0]), bool(after.suspected[row][0]))
                for change, after in zip(CHANGES, life.planted, strict=False)
            }
            all_moved = life.planted[-1].is_warned if life.planted else None
            past = suite.y[:, max(life.stored - FEWEST_STORED, 0) : life.stored + 1]
            is_target = np.arange(past.shape[1]) == past.shape[1] - 1
            yield Draw(
                f"{name} {life.stored // FEWEST_STORED}",
                size,
                life.told,
                _peers(past, is_target),
                told_if,
                all_moved,
                None,
            )


def _peers(y: Floats, is_target: Booleans) -> dict[str, bool]:
    """Whether each would have called anything."""
    return {peer: bool(called(y, is_target).suspected.any()) for peer, called in PEERS.items()}


def _of_quantity(suite: Suite, *, of_counts: bool) -> Suite:
    """Only counts, or all others; without those that are zero, which no factor changes."""
    above_zero = np.isfinite(suite.y).all(axis=1)
    is_count = np.array([metric.name in COUNTS for metric in suite.metrics])
    return rows_of(suite, list(np.flatnonzero(above_zero & (is_count == of_counts))))


def _sized(suite: Suite, size: int, rng: np.random.Generator) -> Suite:
    return rows_of(suite, sorted(rng.permutation(len(suite.names))[:size]))


# Counts of draws.


def counts(made: Sequence[Draw]) -> dict[str, Any]:
    """Sum the draws; rates have an interval from resampled windows, as draws of one window overlap."""
    power = [draw for draw in made if draw.power]
    named = [draw.named for draw in made if draw.named is not None]
    moved = [draw.all_moved for draw in made if draw.all_moved is not None]
    inside = np.array([one for draw in made for one in draw.told.holds_no_change if not np.isnan(one)])
    return {
        "draws": len(made),
        "warned": _rate(made, [draw.told.is_warned for draw in made]),
        "proven": _rate(made, [bool(draw.told.proven.any()) for draw in made]),
        "warned by size": {size: _mean([draw.told.is_warned for draw in made if draw.size == size]) for size in SIZES},
        "differs": _mean(["differ" in draw.told.headline for draw in made]),
        "power": {
            f"{change:g}": [_mean([draw.power[change][tier] for draw in power]) for tier in (0, 1)]
            for change in CHANGES
        },
        "all moved": _mean(moved),
        "interval": None if not len(inside) else round(float(inside.mean()), 3),
        "named": [_mean(named), len(named)],
        "peers": {peer: _mean([draw.peers[peer] for draw in made]) for peer in PEERS},
        "conclusions": [draw.told.conclusion for draw in made[:SAMPLE]],
    }


def _mean(values: Sequence[bool]) -> float | None:
    return round(float(np.mean(values)), 3) if len(values) else None


def _rate(made: Sequence[Draw], hits: Sequence[bool]) -> list[float]:
    windows: dict[str, list[bool]] = {}
    for draw, hit in zip(made, hits, strict=True):
        windows.setdefault(draw.window, []).append(hit)
    told, sizes = np.array([[sum(part), len(part)] for part in windows.values()], float).reshape(-1, 2).T
    if not told.any():
        return [0.0, 0.0, round(1 - 0.05 ** (1 / max(len(sizes), 1)), 3)]
    chosen = np.random.default_rng(0).integers(len(sizes), size=(RESAMPLES, len(sizes)))
    low, high = np.quantile(told[chosen].sum(axis=1) / sizes[chosen].sum(axis=1), [0.025, 0.975])
    return [round(float(value), 3) for value in (told.sum() / sizes.sum(), low, high)]


# The table.


def table(results: Mapping[str, Any]) -> str:
    rows = (_row(TITLES[way], row) for way, row in results["ways"].items())
    return "\n".join(["| " + " | ".join(("way", *COLUMNS)) + " |", "|---|" + "--:|" * len(COLUMNS), *rows])


def _row(title: str, row: Mapping[str, Any]) -> str:
    def rate(name: str) -> str:
        value, low, high = row[name]
        mark = "**" * (low > STATED[name])
        return f"{mark}{value:.3f}{mark} [{low:.2f}, {high:.2f}]"

    def share(value: float | None) -> str:
        return "" if value is None else f"{value:.2f}"

    power = ("/".join(share(value) for value in row["power"][f"{change:g}"]) for change in CHANGES)
    peers = (share(row["peers"][peer]) for peer in ("ratio", "Mann-Whitney"))
    cells = [str(row["draws"]), rate("warned"), rate("proven"), *power, share(row["all moved"])]
    return f"| {title} | " + " | ".join([*cells, share(row["interval"]), share(row["named"][0]), *peers]) + " |"


def written(page: str, results: Mapping[str, Any]) -> str:
    before, rest = page.split(MARKS[0])
    return f"{before}{MARKS[0]}\n{table(results)}\n{MARKS[1]}{rest.split(MARKS[1])[1]}"


def hash_of(paths: Sequence[Path]) -> str:
    files = sorted(file for path in paths for file in (path.iterdir() if path.is_dir() else [path]) if file.is_file())
    return hashlib.sha256(b"".join(hashlib.sha256(file.read_bytes()).digest() for file in files)).hexdigest()


def of_way(suites: Mapping[str, Suite], way: str, count: int, power: int) -> dict[str, Any]:
    return counts(list(draws(suites, way, count=count, power=power)))


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.truth.executions",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("corpora", type=Path, nargs="*", default=[OWN], metavar="CORPUS")
    parser.add_argument("--mixed-with", type=Path, metavar="CORPUS", help="half of each suite from here")
    parser.add_argument("--draws", type=int, default=600, metavar="N", help="unchanged draws per way")
    parser.add_argument("--power", type=int, default=120, metavar="N", help="of these with changes, too")
    parser.add_argument("--ways", nargs="+", default=tuple(TITLES), choices=TITLES, metavar="WAY")
    parser.add_argument("--processes", type=int, default=1, metavar="N")
    parser.add_argument("--json", type=Path, metavar="OUT", help="keep the counts")
    parser.add_argument("--write", action="store_true", help="write the counts and the table of docs/evidence")
    arguments = parser.parse_args()
    results: dict[str, Any] = {"corpora": hash_of(arguments.corpora), "ways": {}}
    suites = read_suites(arguments.corpora)
    if arguments.mixed_with:
        suites = halves_of(suites, read_suites([arguments.mixed_with]))
    with ProcessPoolExecutor(max_workers=arguments.processes) as pool:
        jobs = {way: pool.submit(of_way, suites, way, arguments.draws, arguments.power) for way in arguments.ways}
        for way, job in jobs.items():
            if not (row := job.result())["draws"]:
                continue  # no suite of the corpus is long enough
            results["ways"][way] = row
            print(_row(TITLES[way], results["ways"][way]), flush=True)
    text = json.dumps(results, indent=1) + "\n"
    if arguments.json:
        arguments.json.write_text(text)
    if arguments.write:
        RESULTS.write_text(text)
        PAGE.write_text(written(PAGE.read_text(), results))


if __name__ == "__main__":
    main()
