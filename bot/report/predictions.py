"""What simulations say of changed model files: apart from what was measured, and failing nothing."""

from collections.abc import Iterator
from dataclasses import replace

from bot.model.report import Prediction, Report
from bot.report.cells import changed_part
from bot.report.inert import Safe, code, own
from bot.report.numbers import percent_at_least
from bot.report.sections import Sections, split
from bot.report.view import Fold, Part
from bot.report.words import counted


def predicted(report: Report, prediction: Prediction) -> Sections:
    """The prediction's findings as those of a report of their own."""
    return split(replace(report, conclusion=prediction.conclusion, findings=prediction.findings, predictions=()))


def verdict(prediction: Prediction, sections: Sections) -> str:
    """No foreign text in here."""
    total = counted(sections.total, "output")
    worse, better = len(sections.regressions), len(sections.improvements)
    if worse or better:
        return f"{worse:,} of {total} {'gets' if worse == 1 else 'get'} worse, {better:,} better"
    effect = prediction.detectable_effect
    seen = "" if effect is None else f"; a change for the worse of {percent_at_least(effect)} or more would show"
    return f"no change in {total}{seen}"


def prediction_remarks(report: Report) -> Iterator[Safe]:
    """A line for each, in sight: a design is changed more easily before it is built."""
    for each in report.predictions:
        words = Safe(verdict(each, predicted(report, each)))
        yield own(
            "**Predicted** by {}, scenario {} (simulated, not measured): {}.",
            code(each.model),
            code(each.scenario),
            words,
        )


def prediction_folds(report: Report, *, most_rows: int) -> Iterator[Fold]:
    for each in report.predictions:
        sections = predicted(report, each)
        if sections.changed:
            part: Part = replace(
                changed_part(sections, most_rows=most_rows),
                title=own("{}, scenario {}: before and after are simulated", code(each.model), code(each.scenario)),
            )
            yield Fold(summary=Safe(f"Predicted by simulation: {verdict(each, sections)}"), parts=(part,))
