"""A dashboard of 2,000 series of 1,000 runs: built from nothing, grown by one run of all of them, opened in Chromium.

python -m benchmarks.dashboard
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.limits import PROJECT, show
from benchmarks.page import FIRST_PAINT, milliseconds
from perf_culprit.git.command import Remote
from perf_culprit.model.run import Benchmark, Environment, Run, Summary
from perf_culprit.store.opening import open_git_branch
from perf_culprit.store.retention import Retention
from tests.support.chromium import LACKING, PROGRAM, open_page
from tests.support.git_repository import chain, import_commits, init_repository, run_git
from tests.support.measurements import SECONDS

SERIES, RUNS, NEW, STEPS = 2_000, 1_000, 3, 300
REPETITIONS: Final = 5
MACHINE: Final = Environment(components={"cpu": "Imaginary 3000", "architecture": "x86_64", "os": "Linux"})
# The first paint has the title only; by the load event the deferred scripts have made the list.
LIST: Final = """new Promise(done => {
  if (!document.querySelector('tbody tr')) throw Error('no list');
  done(performance.getEntriesByType('navigation')[0].loadEventStart);
})"""
# From the address to the chart.
CHART: Final = """new Promise(done => {
  const begun = performance.now();
  location.hash = document.querySelector('tbody a').hash;
  const look = () => document.querySelector('.js-plotly-plot .main-svg')
    ? done(performance.now() - begun) : requestAnimationFrame(look);
  look();
})"""


def stored_runs(commits: Sequence[str]) -> list[Run]:
    """Make runs with 2% of noise, and a step of -20% to +40% in 300 of the series."""
    rng = np.random.default_rng(3)
    levels = rng.lognormal(-7, 1.5, SERIES)
    values = levels[:, None] * (1 + 0.02 * rng.standard_normal((SERIES, len(commits))))
    for row in rng.choice(SERIES, STEPS, replace=False):
        values[row, rng.integers(30, len(commits) - 30) :] *= 1 + rng.choice([-0.2, 0.08, 0.15, 0.4])
    return [
        Run(
            benchmarks=tuple(
                Benchmark.of(
                    name=f"package.module{row % 37}::test_case_{row}",
                    metric=SECONDS,
                    summary=Summary(value=float(f"{value:.5g}")),
                )
                for row, value in enumerate(values[:, column].tolist())
            ),
            commit=commit,
            time=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=column),
            environment=MACHINE,
        )
        for column, commit in enumerate(commits)
    ]


def timed(action: Callable[[], object]) -> tuple[float, float]:
    """Return the wall time and the CPU time, with that of ended children, in seconds."""
    begun, cpu = time.perf_counter(), sum(os.times()[:4])
    action()
    return time.perf_counter() - begun, sum(os.times()[:4]) - cpu


def main() -> None:
    with tempfile.TemporaryDirectory() as temp:
        remote, repository = init_repository(Path(temp, "remote.git"), bare=True), init_repository(Path(temp, "work"))
        run_git(repository, "remote", "add", "origin", str(remote))
        # Names without contents, then single contents: as GitHub serves them.
        run_git(remote, "config", "uploadpack.allowFilter", "true")
        run_git(remote, "config", "uploadpack.allowAnySHA1InWant", "true")
        commits = list(import_commits(repository, chain("commit", RUNS + NEW)).values())
        run_git(repository, "update-ref", "refs/heads/main", commits[-1])
        runs = stored_runs(commits)
        for start in range(0, RUNS, 100):
            append(remote, runs[start : min(start + 100, RUNS)])
        site = Path(temp, "site")
        command = [sys.executable, "-m", "perf_culprit", "dashboard", str(site), "--repo", str(repository)]

        def build() -> None:
            subprocess.run(command, check=True, capture_output=True, cwd=PROJECT)

        def read() -> None:
            for path in (site / "data").glob("????????????????.js"):
                json.loads(path.read_text(encoding="ascii").partition(",")[2].removesuffix(");\n"))

        seconds, cpu = timed(build)
        reference = timed(read)[0]
        values = "json.loads of the site's values"
        what = f"dashboard of {SERIES:,} series x {RUNS:,} runs"
        show(
            f"{what} from nothing ({cpu:.1f} s of CPU time)",
            seconds,
            limit_s=60,
            reference=values,
            reference_s=reference,
        )
        grown = []
        for run in runs[RUNS:]:
            append(remote, [run])
            grown.append(timed(build))
        seconds, cpu = (statistics.median(column) for column in zip(*grown, strict=True))
        show(
            f"{what} after a new run ({cpu:.1f} s of CPU time)",
            seconds,
            limit_s=3,
            reference=values,
            reference_s=reference,
        )
        if PROGRAM is None:
            print(LACKING)
            return
        first_paints(site, Path(temp))


def append(remote: Path, runs: Sequence[Run]) -> None:
    with open_git_branch(Remote(url=str(remote)), retention=Retention(branch_bytes=400 << 20)) as history:
        history.append_all(runs)


def first_paints(site: Path, folder: Path) -> None:
    """Time the overview's first paint and list, and a benchmark's chart after a cold load of its page."""
    plain = folder / "plain.html"
    plain.write_text("<!doctype html><title>plain</title><p>plain", encoding="utf-8")
    references, paints, lists, charts = [], [], [], []
    with open_page() as browser:
        for _ in range(REPETITIONS):
            browser.open(plain)
            references.append(milliseconds(browser, FIRST_PAINT) / 1000)
            browser.open(site / "index.html")
            paints.append(milliseconds(browser, FIRST_PAINT) / 1000)
            lists.append(milliseconds(browser, LIST) / 1000)
            charts.append(milliseconds(browser, CHART) / 1000)
    reference_s = statistics.median(references)
    for what, seconds in (
        ("overview's first paint", paints),
        ("overview's list", lists),
        ("benchmark's chart", charts),
    ):
        show(
            what, statistics.median(seconds), limit_s=2, reference="a plain page's first paint", reference_s=reference_s
        )


if __name__ == "__main__":
    main()
