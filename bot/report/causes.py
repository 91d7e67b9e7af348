"""The texts of a search that began by itself: its issue, the comment on the culprit's pull request, a line."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bot.model.alarm import AlarmedMetric, CheckAnswer
from bot.model.bisection import Culprit
from bot.model.bisection_report import BisectionReport
from bot.model.reason import Reason
from bot.model.run import Cost
from bot.report.bisection import bisection_markdown, headline
from bot.report.bisection_words import reason_of
from bot.report.inert import Safe, clean, code, commit, join, link, own, prose
from bot.report.numbers import amount_markdown, percent, quantities
from bot.report.reasons import sentence_markdown
from bot.report.tables import markdown_table
from bot.report.tracking import TITLE_NAME_LIMIT, IssueOptions, accept_lines, issue_text
from bot.report.words import counted, took

SHOWN_METRICS: Final = 50
SUBJECT_LIMIT: Final = 100
SHOWN_COMMANDS: Final = 5
CHECK_ANSWERS: Final = {
    CheckAnswer.OVER: "the regression is over",
    CheckAnswer.STILL_THERE: "the regression is still there, though nine runs in a row looked well",
    CheckAnswer.UNKNOWN: "inconclusive, so the issue stays open and is checked again after more runs",
}
_HEAD: Final = ("benchmark", "metric", "before", "after", "change")


@dataclass(frozen=True, kw_only=True, slots=True)
class Cause:
    """One culprit and all that it made worse, the largest first; `culprit` is None where the search names none."""

    culprit: Culprit | None
    metrics: tuple[AlarmedMetric, ...]


def cause_title(cause: Cause) -> str:
    """Of one benchmark its name, of more their number."""
    names = _names(cause)
    what = clean(names[0], limit=TITLE_NAME_LIMIT) if len(names) == 1 else f"{len(names):,} benchmarks"
    size = max(map(_change, cause.metrics), key=abs)
    most = "up to " if len(cause.metrics) > 1 else ""
    where = "" if cause.culprit is None else f" since {cause.culprit.commit[:7]}"
    return f"Performance regression: {what} by {most}{percent(abs(size))}{where}"


def cause_body(cause: Cause, report: BisectionReport, *, options: IssueOptions, cost: Cost) -> str:
    """`cost` is the whole search's."""
    blocks = _facts(cause, report, options)
    blocks.append(Safe("This issue is closed when every benchmark of it is back at its level, or is accepted."))
    return issue_text(blocks, f"; nobody asked for it. The search took {took(cost)}.", options=options)


def joined_comment(cause: Cause, report: BisectionReport, *, options: IssueOptions, cost: Cost) -> str:
    """For the issue of a cause that another search came to again: what that search adds."""
    begin = own("Another search ended at this cause. It took {}.", Safe(took(cost)))
    return join("\n\n", [begin, *_facts(cause, report, options)]) + "\n"


def culprit_comment(cause: Cause, *, issue_url: str | None, repository_url: str, cost: Cost) -> str:
    """For the pull request that brought the culprit."""
    if cause.culprit is None:
        raise ValueError("no culprit, no pull request")
    about = own(" {} has the measurements.", link(Safe("The issue"), issue_url)) if issue_url else Safe("")
    text = own(
        "This pull request, as {}, made {} worse on the default branch.{} The search took {}.",
        commit(cause.culprit.commit, repository_url=repository_url),
        Safe(counted(len(_names(cause)), "benchmark")),
        about,
        Safe(took(cost)),
    )
    return join("\n\n", [text, _table(cause)]) + "\n"


def no_issue_line(report: BisectionReport, why: Reason | None, *, cost: Cost) -> str:
    """For the log and the job summary: what became of an alarm that opens no issue."""
    text = own("{}.", sentence_markdown(why)) if why else Safe(f"{headline(report)}. {reason_of(report)}")
    return own("Searched for what made {} worse ({}): {}", code(report.key.benchmark), Safe(took(cost)), text)


def over_note(report: BisectionReport, *, repository_url: str | None, cost: Cost) -> str:
    """Why the issue of a cause is closed: what the commits before it and the newest measure, side by side."""
    good, bad = (
        commit(end, repository_url=repository_url) for end in (report.commit_range.good, report.commit_range.bad)
    )
    text = own(
        "Back at its level: {} (good) and {} (bad) were measured again. {}\n\nThe check took {}. "
        "Closed; if it returns, this issue is reopened.",
        good,
        bad,
        Safe(reason_of(report)),
        Safe(took(cost)),
    )
    return f"{text}\n"


def checked_line(report: BisectionReport, *, url: str, answer: CheckAnswer, cost: Cost) -> str:
    """For the log and the job summary: whether a regression that seemed over is over."""
    return own(
        "Checked whether {} is back at its level ({}): {}: {}",
        code(report.key.benchmark),
        Safe(took(cost)),
        Safe(CHECK_ANSWERS[answer]),
        link(Safe("its issue"), url),
    )


def _facts(cause: Cause, report: BisectionReport, options: IssueOptions) -> list[Safe]:
    facts = [_summary(cause, report, options), _table(cause)]
    if lines := accept_lines(_names(cause)[:SHOWN_COMMANDS]):
        facts.append(own("Fix it, revert it, or accept the new level:\n\n```text\n{}\n```", lines))
    return [*facts, Safe(bisection_markdown(report).strip())]


def _summary(cause: Cause, report: BisectionReport, options: IssueOptions) -> Safe:
    worse = own("{} got worse on the default branch", Safe(counted(len(_names(cause)), "benchmark")))
    if cause.culprit is None:
        return own("{}, and the search could not name one commit.", worse)
    subject = report.subjects.get(cause.culprit.commit)
    named = commit(cause.culprit.commit, repository_url=options.repository_url)
    return own("{} by {}{}.", worse, named, own(" {}", code(subject, limit=SUBJECT_LIMIT)) if subject else Safe(""))


def _table(cause: Cause) -> Safe:
    shown = cause.metrics[:SHOWN_METRICS]
    table, more = markdown_table(_HEAD, "llrrr", map(_cells, shown)), len(cause.metrics) - len(shown)
    return own("{}\n\nand {} more", table, more) if more else table


def _cells(entry: AlarmedMetric) -> tuple[Safe, ...]:
    before, after = quantities((entry.before, entry.after), entry.metric.unit)
    change = Safe(f"**{percent(_change(entry), signed=True)}**")
    return (
        code(entry.key.benchmark),
        prose(entry.key.metric, limit=60),
        amount_markdown(before),
        amount_markdown(after),
        change,
    )


def _change(entry: AlarmedMetric) -> float:
    return entry.after / entry.before - 1


def _names(cause: Cause) -> Sequence[str]:
    return tuple(dict.fromkeys(entry.key.benchmark for entry in cause.metrics))
