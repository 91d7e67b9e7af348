"""A dashboard of numbers that nobody measures, and of names that look alike."""

from pathlib import Path
from urllib.parse import quote_plus

import pytest
from msgspec.structs import replace

from perf_culprit.cli.entry import main
from perf_culprit.model.run import Benchmark, Direction, Metric, Summary
from tests.support.chromium import LACKING, PROGRAM, open_page
from tests.support.dashboard_history import COMMITS, kept_history, run_of
from tests.support.git_repository import run_git
from tests.support.processes import becomes

SECONDS = Metric(name="time", unit="s<b>", direction=Direction.LOWER_IS_BETTER)
PLAIN = replace(SECONDS, unit="s")
VALUES = {
    "huge": (1e308, 1.7e308),
    "nothing": (0.0, 0.0),
    "from nothing": (0.0, 5.0),
    "tiny": (1e-320, 1e-300),
    "\u202e": (-1.0, 1.0),
}


@pytest.mark.slow  # charts in Chromium
@pytest.mark.skipif(PROGRAM is None, reason=LACKING)
def test_every_page_stands(tmp_path: Path) -> None:
    kept = kept_history(tmp_path, runs=1)
    runs = [
        replace(
            run_of(kept, number),
            benchmarks=tuple(
                Benchmark.of(name=name, metric=metric, summary=Summary(value=pair[number >= COMMITS // 2]))
                for name, pair in VALUES.items()
                for metric in (PLAIN, replace(SECONDS, name="other"))
            ),
        )
        for number in range(1, COMMITS)
    ]
    kept.append(runs)
    releases = {1: "v1.0", 36: "v1.9.10-rc.1", 37: "v1.9.10-rc.2", 38: "v1.9.10"}
    for number, tag in releases.items():
        run_git(kept.repository, "tag", tag, kept.commits[number])
    site = tmp_path / "site"
    assert main(["dashboard", str(site), "--repo", str(kept.repository), "--history", str(kept.history)]) == 0
    with open_page() as page:
        page.open(site / "index.html")
        count = page.value("document.querySelectorAll('tbody tr').length")
        # Six others of each machine; values beyond all bounds are left out.
        assert count == (len(VALUES) - 1) * 2 + 6 + 6
        for name in ("nothing", "from nothing", "tiny", "\ufffd"):
            page.value(f"location.hash = '#suite=api&benchmark={quote_plus(name)}+time'")
            title = f"{name} time"
            assert becomes(lambda: page.value("document.querySelector('h2')?.textContent") == title)  # noqa: B023 - now
        # The newest release has a label; labels that would overlap are left out.
        labels = "[...document.querySelectorAll('.annotation-text')].map((text) => text.textContent)"
        assert becomes(lambda: page.value(labels) == ["v1.9.10", "v1.4", "v1.0"])
        page.value("location.hash = '#compare=1'")
        assert becomes(lambda: page.value("document.querySelectorAll('tbody tr').length") > 0)
        assert page.problems == []
