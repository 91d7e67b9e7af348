"""The HTML report of 10,000 benchmarks: written, opened in Chromium, and searched.

    python benchmarks/page.py

It does so twice: with 100 of them changed, and with all, which is the maximum of a page.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from perf_culprit.config.settings import Config
from perf_culprit.flows.compare import compare_runs
from perf_culprit.flows.render import report_html
from perf_culprit.model.finding import BaselineSource
from perf_culprit.model.report import Report
from tests.support.chromium import LACKING, PROGRAM, Page, open_page
from tests.support.measurements import measured

SUITE: Final[Mapping[str, float]] = {f"bench_{number:05d}": 0.001 * (1 + number % 37) for number in range(10_000)}
RUNS: Final = 12
SAMPLES: Final = 20
LIMIT_S, LIMIT_MB = 5.0, 15.0
REPETITIONS: Final = 5
# From the key to the frame that shows its list.
KEYSTROKE: Final = """new Promise(done => {
  const search = document.querySelector('.explorer input');
  const begun = performance.now();
  search.value = %s;
  search.dispatchEvent(new Event('input'));
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - begun)));
})"""
FIRST_PAINT: Final = """new Promise(done => new PerformanceObserver(list => {
  for (const entry of list.getEntriesByName('first-contentful-paint')) done(entry.startTime);
}).observe({type: 'paint', buffered: true}))"""


def report(changed: int) -> Report:
    slower = {name: level * (1.3 if number < changed else 1.0) for number, (name, level) in enumerate(SUITE.items())}
    stored = [measured(SUITE, seed=seed, count=SAMPLES) for seed in range(RUNS)]
    return compare_runs(
        measured(slower, seed=99, count=SAMPLES), baseline=stored, source=BaselineSource.FILES, config=Config()
    )


def milliseconds(browser: Page, promise: str) -> float:
    answer = browser.call("Runtime.evaluate", expression=promise, awaitPromise=True, returnByValue=True)
    value: float = answer["result"]["value"]
    return value


def main() -> None:
    for changed in (100, len(SUITE)):
        made = report(changed)
        begun = time.perf_counter()
        page = report_html(made)
        seconds = time.perf_counter() - begun
        size_mb = len(page.encode()) / 1e6
        print(f"{changed:,} of {len(SUITE):,} changed: {seconds:.1f} s (limit {LIMIT_S:g} s), ", end="")
        print(f"{size_mb:.1f} MB (limit {LIMIT_MB:g} MB)")
        if PROGRAM is None:
            print(LACKING)
            continue
        with tempfile.TemporaryDirectory() as folder, open_page() as browser:
            file = Path(folder, "report.html")
            file.write_text(page, encoding="utf-8")
            paints, keys = [], []
            for _ in range(REPETITIONS):
                browser.open(file)
                paints.append(milliseconds(browser, FIRST_PAINT))
                keys += [milliseconds(browser, KEYSTROKE % repr(text)) for text in ("9", "99", "999", "")]
        paint, key = statistics.median(paints), statistics.median(keys)
        print(f"  first paint {paint:.0f} ms, a key in the search {key:.0f} ms (at most {max(keys):.0f} ms)")


if __name__ == "__main__":
    main()
