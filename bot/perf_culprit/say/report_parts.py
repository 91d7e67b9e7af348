"""The report built from a judgement, its action outputs and its annotations."""

import math
import re
from dataclasses import dataclass

from perf_culprit.model.finding import Baseline, BaselineSource
from perf_culprit.model.notable_calls import shown_suspects
from perf_culprit.model.reason import remark
from perf_culprit.model.report import Conclusion, Judgement, Report, Settings
from perf_culprit.model.run import Run
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.say.call_tree_words import before_to_after, calls, suspect_certainty, suspect_change, why
from perf_culprit.say.inert import clean
from perf_culprit.say.sections import split


def build_report(judgement: Judgement, *, baseline: Baseline, target: Run, settings: Settings) -> Report:
    is_paired = baseline.source is BaselineSource.PAIRED
    return Report(
        conclusion=judgement.conclusion,
        findings=judgement.findings,
        settings=settings,
        suite=target.suite,
        target_commit=target.commit,
        base_commit=baseline.base_commit,
        baseline_source=baseline.source,
        baseline_runs=len(baseline.runs),
        choices=baseline.choices,
        environment=target.environment,
        environment_changes=baseline.runs[-1].environment.changes_to(target.environment) if baseline.runs else (),
        missing=judgement.missing,
        new=judgement.new,
        lost=judgement.lost,
        detectable_effect=judgement.detectable_effect,
        notes=(*judgement.notes, *baseline.notes, *map(remark, target.notes)),
        failed=judgement.failed,
        cost=(sum((run.cost for run in baseline.runs), target.cost) if is_paired else target.cost) or None,
    )


# A workflow may paste an output into a shell line or a comment. Characters that are active in either become "_".
_ACTIVE = re.compile(r"[^\w .:/\[\],=+%-]")


def outputs(report: Report) -> dict[str, str]:
    """Return every output by name; "" without a value. Percentages are signed: -20 is 20% less than before."""
    sections = split(report)
    worst = next(iter(sections.regressions), None)
    change = worst.relative_change if worst else None
    return {
        "conclusion": report.conclusion.value,
        "failed": str(report.failed).lower(),
        "compared": str(sections.total),
        "regressions": str(len(sections.regressions)),
        "improvements": str(len(sections.improvements)),
        "suspected": str(len(sections.suspected)),
        "inconclusive": str(len(sections.differing) + len(sections.untested)),
        "worst-benchmark": _ACTIVE.sub("_", clean(worst.key.benchmark)) if worst else "",
        "worst-change-percent": _percent(change),
        "detectable-effect-percent": _percent(report.detectable_effect),
    }


def _percent(fraction: float | None) -> str:
    return "" if fraction is None or not math.isfinite(fraction) else f"{fraction * 100:.2f}"


@dataclass(frozen=True, kw_only=True, slots=True)
class LineRemark:
    """Plain text, in which GitHub formats nothing. `path` is relative to the repository."""

    path: str
    line: int
    title: str
    message: str


def line_remarks(report: Report) -> tuple[LineRemark, ...]:
    """Annotate a regression: one remark per changed function with known lines, the most suspicious first."""
    if report.diagnosis is None or report.conclusion is not Conclusion.REGRESSION:
        return ()
    made: dict[tuple[str, int], LineRemark] = {}
    for suspect in shown_suspects(report.diagnosis):
        code = suspect.touched
        if code is None or code.first_line is None or not 0 < code.first_line < 2**31 or not _is_inside(code.file):
            continue
        own_time = before_to_after(suspect.baseline, suspect.target, suspect.unit, own=True)
        text = (
            f"{clean(suspect.method)}: {suspect_change(suspect)} with callees, own time {own_time}, "
            f"calls {calls(suspect.baseline, suspect.target)}, {suspect_certainty(suspect)}. {why(suspect)}."
        )
        made.setdefault(
            (code.file, code.first_line),
            LineRemark(
                path=code.file,
                line=code.first_line,
                title=f"Slower: {clean(suspect.method, limit=TEXT_LIMITS.name_characters)}",
                message=clean(text, limit=2 * TEXT_LIMITS.sentence_characters),
            ),
        )
    return tuple(made.values())[: TEXT_LIMITS.remarks]


def _is_inside(path: str) -> bool:
    """Whether the path is inside the repository. It may come from a stranger's file."""
    parts = path.split("/")
    return (
        path.isprintable()
        and len(path) <= TEXT_LIMITS.path_characters
        and not path.startswith("/")
        and ".." not in parts
    )
