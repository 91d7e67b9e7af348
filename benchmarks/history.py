"""Ten years of a busy repository on the history's branch: its largest size, and its speed at that size.

    python -m benchmarks.history [--years 10] [--runs-per-week 100] [--benchmarks 1000] [--samples 30]

The names of runs alone decide which are left after all these years (`runs_to_drop`). Only these are made, each with
random samples, and put on a branch in one commit. Then runs are appended one by one, as jobs do, until the branch
starts over, or `--most-appends` of them. The server packs now and then, and the branch's size is measured.
"""

import argparse
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from perf_culprit.arrays import Floats
from perf_culprit.git.command import Remote
from perf_culprit.model.run import Benchmark, Direction, Metric, Run, Summary
from perf_culprit.model.run_file import encode_run
from perf_culprit.store.git_branch import GitBranchHistory
from perf_culprit.store.retention import Retention, runs_to_compact, runs_to_drop
from perf_culprit.store.run_names import MARKER, MARKER_PATH, RunFile, name_run

METRIC = Metric(name="time", unit="s", direction=Direction.LOWER_IS_BETTER)
START = datetime(2016, 1, 4, tzinfo=UTC)
BRANCH = "refs/heads/perf-history"
WEIGHED_EVERY = 20


def measured(number: int, options: argparse.Namespace) -> Floats:
    """Draw samples (benchmarks, samples) with all digits of a double, which compress badly."""
    rng = np.random.default_rng(number)
    levels = 1e-3 * (1 + np.arange(options.benchmarks) % 37)
    return levels[:, None] * rng.lognormal(0, 0.02, (options.benchmarks, options.samples))


def make_run(number: int, options: argparse.Namespace, *, compacted: bool = False) -> Run:
    """Make a run; a compacted one equals the result of `compact`, for all benchmarks at once."""
    samples = measured(number, options)
    columns = (samples.mean(axis=1), samples.std(axis=1, ddof=1), *(f(samples, axis=1) for f in (np.min, np.max)))
    summaries = [
        Summary(
            value=mean,
            statistic="mean",
            count=options.samples,
            standard_deviation=deviation,
            minimum=low,
            maximum=high,
            median=median,
        )
        for mean, deviation, low, high, median in zip(
            *(column.tolist() for column in (*columns, np.median(samples, axis=1))), strict=True
        )
    ]
    rows = samples.tolist()
    return Run(
        benchmarks=tuple(
            Benchmark.of(
                name=f"tests/bench_{i % 37}.py::test_{i:05d}",
                metric=METRIC,
                samples=() if compacted else tuple(rows[i]),
                summary=summaries[i] if compacted else None,
            )
            for i in range(options.benchmarks)
        ),
        commit=f"{number:040x}",
        time=START + number * timedelta(weeks=1) / options.runs_per_week,
    )


def stored(number: int, options: argparse.Namespace, *, compacted: bool) -> tuple[RunFile, bytes]:
    run = make_run(number, options, compacted=compacted)
    content = encode_run(run)
    return name_run(run, content, now=START).with_content(content, compacted=compacted), content


def left_over(count: int, options: argparse.Namespace, retention: Retention) -> list[tuple[int, bool]]:
    """Return the numbers of the runs that are left of `count`, and whether each is compacted."""
    raw_size, size = (len(stored(0, options, compacted=compacted)[1]) for compacted in (False, True))
    times = [START + number * timedelta(weeks=1) / options.runs_per_week for number in range(count)]
    files = [
        RunFile(
            suite_slug="default",
            commit=f"{number:040x}",
            time=f"{at:%Y%m%dT%H%M%SZ}",
            digest=f"{number:016x}",
            size=raw_size,
        )
        for number, at in enumerate(times)
    ]
    old = set(runs_to_compact(files, retention))
    files = [replace(file, size=size, compacted=True) if file in old else file for file in files]
    dropped = set(runs_to_drop(files, retention, keep=files[-1]))
    return [(number, file.compacted) for number, file in enumerate(files) if file not in dropped]


def imported(repository: Path, entries: Iterator[tuple[RunFile, bytes]]) -> None:
    """Make one root commit with these files."""
    with subprocess.Popen(["git", "fast-import", "--quiet"], cwd=repository, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        write = process.stdin.write
        write(b"commit %s\ncommitter Bench <bench@example.org> 0 +0000\ndata 0\n" % BRANCH.encode())
        for path, content in ((MARKER_PATH, MARKER), *((file.path, content) for file, content in entries)):
            write(b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(content), content))
        process.stdin.close()
    assert process.returncode == 0


def weighed(repository: Path) -> float:
    """Return the megabytes of all packs, after a garbage collection on the server."""
    subprocess.run(["git", "reflog", "expire", "--expire=now", "--all"], cwd=repository, check=True)
    subprocess.run(["git", "repack", "-adq"], cwd=repository, check=True)
    subprocess.run(["git", "prune", "--expire=now"], cwd=repository, check=True)
    return sum(path.stat().st_size for path in repository.glob("objects/pack/*.pack")) / 1e6


def appended(repository: Path, first: int, options: argparse.Namespace, retention: Retention) -> None:
    """Append until the branch starts over; report its size on the way, and the time of an append and a baseline."""
    seconds, commits, largest = [], 0, 0.0
    for number in range(first, first + options.most_appends):
        run = make_run(number, options)
        with tempfile.TemporaryDirectory() as folder:
            begun = time.perf_counter()
            history = GitBranchHistory(Remote(url=str(repository)), Path(folder), retention=retention)
            history.append(run)
            seconds.append(time.perf_counter() - begun)
        before, commits = commits, int(git(repository, "rev-list", "--count", BRANCH))
        if commits < before or (number - first) % WEIGHED_EVERY == 0:
            largest = max(largest, size := weighed(repository))
            print(f"  after {number - first + 1:,} more runs: {commits} commits, {size:.1f} MB", flush=True)
        if commits < before:
            break
    else:
        largest = max(largest, weighed(repository))
    print(f"heaviest when weighed: {largest:.1f} MB; an append {np.median(seconds):.2f} s (median of {len(seconds)})")
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        history = GitBranchHistory(Remote(url=f"file://{repository}"), Path(folder))
        newest = [f"{number:040x}" for number in range(number, number - 100, -1)]
        count = sum(1 for _ in history.runs("default", newest))
        print(f"reading the newest {count} runs: {time.perf_counter() - begun:.2f} s")


def git(repository: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=repository, check=True, capture_output=True, text=True).stdout


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--years", type=int, default=10)
    parser.add_argument("--runs-per-week", type=int, default=100)
    parser.add_argument("--benchmarks", type=int, default=1000)
    parser.add_argument("--samples", type=int, default=30)
    parser.add_argument("--most-appends", type=int, default=60)
    options = parser.parse_args()
    retention = Retention()
    count = options.years * 52 * options.runs_per_week
    left = left_over(count, options, retention)
    oldest = [number for number, _ in left if number < count // options.years]
    print(
        f"{count:,} runs of {options.benchmarks:,} benchmarks x {options.samples} samples in {options.years} years: "
        f"{len(left):,} left, {sum(not compacted for _, compacted in left)} with samples, "
        f"{len(oldest)} of the first year",
        flush=True,
    )
    with tempfile.TemporaryDirectory() as folder:
        repository = Path(folder, "served.git")
        subprocess.run(["git", "init", "--quiet", "--bare", str(repository)], check=True)
        git(repository, "config", "uploadpack.allowFilter", "true")
        git(repository, "config", "uploadpack.allowAnySHA1InWant", "true")
        sizes: list[int] = []

        def entries() -> Iterator[tuple[RunFile, bytes]]:
            for number, compacted in left:
                file, content = stored(number, options, compacted=compacted)
                sizes.append(len(content))
                yield file, content

        imported(repository, entries())
        print(f"one commit: {weighed(repository):.1f} MB, largest file {max(sizes) / 1e6:.2f} MB", flush=True)
        appended(repository, count, options, retention)


if __name__ == "__main__":
    main()
