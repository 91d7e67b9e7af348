"""axe-core on a page in Chromium. Its script comes from npm: PERF_CULPRIT_AXE names axe.min.js, as CI does."""

import os
from pathlib import Path
from typing import Final

import pytest

from tests.support.chromium import Page

VARIABLE: Final = "PERF_CULPRIT_AXE"
WORDS: Final = "violation => violation.nodes.map(node => `${violation.id}: ${node.failureSummary} ${node.html}`)"


def violations(page: Page) -> list[str]:
    """Return axe's violations in the page's current state, a line per element; skip the test without axe."""
    if not (script := os.environ.get(VARIABLE)):
        pytest.skip(f"{VARIABLE} is not set: axe-core comes from npm (.ci/tests)")
    page.value(Path(script).read_text(encoding="utf-8") + "; 0")
    expression = f"axe.run().then(found => found.violations.flatMap({WORDS}))"
    answer = page.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)["result"]
    result: list[str] = answer["value"]
    return result
