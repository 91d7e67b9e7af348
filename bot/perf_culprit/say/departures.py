"""A time line of the counters that got worse: which one left its limits first is near the cause [N12, section 7]."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Final

from perf_culprit.model.finding import PROVEN, Finding
from perf_culprit.model.run import TimeSeries
from perf_culprit.say.document import BlockText, Column, Document, Name, Shown, TableRow, table
from perf_culprit.say.inert import Safe
from perf_culprit.say.numbers import lasted
from perf_culprit.say.render_html import html_of

# A stretch in violation by this number of intervals more than not: chance hardly leaves 10% of them in a row.
LASTING: Final = 5
_WIDTH: Final = 60
_MOST: Final = 30


@dataclass(frozen=True, slots=True)
class Departure:
    finding: Finding
    start_s: float
    violated: Sequence[bool]


def time_line(findings: Sequence[Finding]) -> Safe:
    """Return HTML with the changed counters in the order in which they left their limits; "" of fewer than two."""
    changed = [(finding, finding.chart.time_series) for finding in findings if finding.verdict in PROVEN]
    departures = [departure for one, series in changed if series is not None and (departure := _departure(one, series))]
    if len(departures) < 2:
        return Safe("")
    departures.sort(key=lambda span: span.start_s)
    began = min(series.start_s for _, series in changed if series is not None)

    def row(departure: Departure) -> TableRow:
        after = departure.start_s - began
        when = Safe(f"after {lasted(after)}" if after > 0 else "from the start")
        return TableRow((Name(departure.finding.key.full_name), BlockText(_bar(departure.violated)), when))

    columns = (Column(name="metric"), Column(name="█ outside its limits, over the test"), Column(name="left them"))
    title = Safe("Which left its limits first")
    return html_of(Document(nodes=(table(columns, departures, row, title=title, shown=Shown.TABLE, most=_MOST),)))


def _departure(finding: Finding, series: TimeSeries) -> Departure | None:
    """Find the stretch that is most in violation, each interval 1 or -1; None if it does not last."""
    middles = [series.start_s + (number + 0.5) * series.interval_s for number in range(len(series.values))]
    violated = [any(first <= middle < last for first, last in series.violations) for middle in middles]
    sums = [0, *accumulate(1 if is_violated else -1 for is_violated in violated)]
    lowest, first, longest = 0, 0, 0
    for place, level in enumerate(sums):
        lowest = place if level < sums[lowest] else lowest
        if level - sums[lowest] > longest:
            first, longest = lowest, level - sums[lowest]
    if longest < LASTING:
        return None
    return Departure(finding, series.start_s + first * series.interval_s, violated)


def _bar(violated: Sequence[bool]) -> str:
    cells = min(_WIDTH, len(violated))
    edges = [number * len(violated) // cells for number in range(cells + 1)]
    parts = [violated[start:end] for start, end in pairwise(edges)]
    return "".join("█" if 2 * sum(part) > len(part) else "·" for part in parts)
