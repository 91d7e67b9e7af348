"""The texts of tracking issues and of searches that began by themselves."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from perf_culprit.model.bisection import BisectionReport, Culprit
from perf_culprit.model.dispatch import AlarmedMetric, CheckAnswer
from perf_culprit.model.finding import Acceptance, Accepted, Finding
from perf_culprit.model.reason import Reason
from perf_culprit.model.run import Cost
from perf_culprit.say import report_tables
from perf_culprit.say.bisection_answer import bisection_markdown, headline
from perf_culprit.say.bisection_words import reason_of
from perf_culprit.say.inert import Safe, clean, code, commit, join, link, own, prose
from perf_culprit.say.numbers import amount_markdown, percent, quantities
from perf_culprit.say.reason_text import sentence_markdown
from perf_culprit.say.report_tables import accepted_by, before_and_after, certainty, change_cell, state
from perf_culprit.say.sections import counted, markdown_table, took

# The texts of tracking issues: regressions of the default branch, for whoever will fix or accept them.

SHOWN_COMMITS: Final = 20
SHOWN_BENCHMARKS: Final = 100
SUBJECT_LIMIT: Final = 100
TITLE_NAME_LIMIT: Final = 100

_HEAD: Final = ("metric", "before", "after", "change", "certainty", " ")


@dataclass(frozen=True, kw_only=True, slots=True)
class CommitRange:
    """`good`: the newest run's commit that was fine, `bad`: the one judged.

    `subjects` by commit, newest first; empty where the checkout does not say.
    """

    good: str | None
    bad: str
    subjects: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class IssueOptions:
    """`marker` becomes the first line; `mentions` are names from the configuration, checked there."""

    marker: str
    repository_url: str | None = None
    run_url: str | None = None
    mentions: tuple[str, ...] = ()


def issue_title(findings: Sequence[Finding]) -> str:
    """Titles show no Markdown but mentions notify from them nowhere; the name is cleaned all the same."""
    name = clean(findings[0].evidence.key.benchmark, limit=TITLE_NAME_LIMIT)
    changes = [change for finding in findings if (change := finding.evidence.relative_change) is not None]
    size = f" by {percent(max(map(abs, changes)))}" if changes else ""
    return f"Performance regression: {name}{size}"


def joint_title(count: int) -> str:
    return f"Performance regressions: {count:,} benchmarks"


def issue_body(findings: Sequence[Finding], *, commits: CommitRange, options: IssueOptions) -> str:
    """One benchmark, all its metrics that got worse."""
    name = findings[0].evidence.key.benchmark
    rows = [
        (prose(finding.evidence.key.metric, limit=60), *_numbers(finding)) for finding in findings[:SHOWN_BENCHMARKS]
    ]
    opening = own(
        "{} got worse on the default branch at {}.",
        code(name),
        commit(commits.bad, repository_url=options.repository_url),
    )
    return _body(
        opening,
        markdown_table(_HEAD, "lrrlll", rows),
        commands=_commands(name, commits),
        commits=commits,
        options=options,
    )


def joint_body(findings: Sequence[Sequence[Finding]], *, commits: CommitRange, options: IssueOptions) -> str:
    """Many benchmarks at once: more likely one cause than many."""
    rows = [
        (report_tables.benchmark(finding, with_metric=True), *_numbers(finding))
        for group in findings[:SHOWN_BENCHMARKS]
        for finding in group[:3]
    ]
    opening = own(
        "{} benchmarks got worse on the default branch at {}, more than get an issue of their own in one run.",
        len(findings),
        commit(commits.bad, repository_url=options.repository_url),
    )
    table = markdown_table(("benchmark", *_HEAD[1:]), "lrrlll", rows)
    if len(findings) > SHOWN_BENCHMARKS:
        table = own("{}\n\nand {} more", table, len(findings) - SHOWN_BENCHMARKS)
    worst = findings[0][0].evidence.key.benchmark
    return _body(opening, table, commands=_commands(worst, commits), commits=commits, options=options)


def recovered_note(name: str | None, *, at: str, repository_url: str | None) -> str:
    what = Safe("Every benchmark of this issue") if name is None else code(name)
    return own(
        "{} is back at its level: measured at {}. Closed; if it returns, this issue is reopened.\n",
        what,
        commit(at, repository_url=repository_url),
    )


def accepted_note(accepted: Accepted | Acceptance, *, repository_url: str | None) -> str:
    return own("Accepted {}\n", accepted_by(accepted, repository_url=repository_url))


def _numbers(finding: Finding) -> tuple[Safe, ...]:
    before, after = before_and_after(finding.evidence)
    return before, after, change_cell(finding.evidence, bold=True), certainty(finding), state(finding)


def _body(opening: Safe, table: Safe, *, commands: Safe, commits: CommitRange, options: IssueOptions) -> str:
    blocks = [
        opening,
        table,
        _commits(commits, options),
        commands,
        Safe("This issue is closed when the level recovers or is accepted, and reopened if the regression returns."),
    ]
    return issue_text(blocks, ".", options=options)


def issue_text(blocks: Sequence[Safe], how: str, *, options: IssueOptions) -> str:
    """The blocks between the marker and who is told; `how` are our own words after "Found by this run"."""
    found_by = own("Found by {}{}", link(Safe("this run"), options.run_url), Safe(how)) if options.run_url else None
    # The configuration's pattern allows nothing but a user's or a team's name.
    told = Safe(f"cc {' '.join(options.mentions)}") if options.mentions else None
    text = join("\n\n", [*blocks, *(block for block in (found_by, told) if block)])
    return f"{options.marker}\n{text}\n"


def _commits(commits: CommitRange, options: IssueOptions) -> Safe:
    if commits.good is None:
        return Safe("No earlier run of this benchmark says where it was fine.")
    ends = own("Last good run: {}", commit(commits.good, repository_url=options.repository_url))
    if not commits.subjects:
        return ends
    lines = [
        own("- {} {}", commit(name, repository_url=options.repository_url), code(subject, limit=SUBJECT_LIMIT))
        for name, subject in commits.subjects[:SHOWN_COMMITS]
    ]
    more = len(commits.subjects) - len(lines)
    listed = join("\n", [*lines, *([own("- and {} more", more)] if more > 0 else [])])
    return own("{}. Since then:\n\n{}", ends, listed)


def _commands(name: str, commits: CommitRange) -> Safe:
    """Ready to paste. In a fence, so that no name is Markdown; one that a command cannot hold is left out."""
    quoted = _quoted(name)
    lines = []
    if commits.good is not None:
        benchmark = f" benchmark={quoted}" if quoted else ""
        lines.append(f"/perf-bisect good={commits.good} bad={commits.bad}{benchmark}")
    if accepted := accept_lines((name,)):
        lines.append(accepted)
    if not lines:
        return Safe("Find the commit with `perf-culprit bisect`, or take the level with `perf-culprit accept`.")
    return own("Find the commit, or accept the new level:\n\n```text\n{}\n```", Safe("\n".join(lines)))


def accept_lines(names: Sequence[str]) -> Safe:
    """For a fence; without the names that a command cannot hold."""
    return Safe("\n".join(f"/perf-accept {quoted} REASON" for name in names if (quoted := _quoted(name))))


def _quoted(name: str) -> str | None:
    return f'"{name}"' if name.isprintable() and not set(name) & set('"\\`') else None


# The texts of a search that began by itself: its issue, the comment on the culprit's pull request, a line.

SHOWN_METRICS: Final = 50
SHOWN_COMMANDS: Final = 5
CHECK_ANSWERS: Final = {
    CheckAnswer.OVER: "the regression is over",
    CheckAnswer.STILL_THERE: "the regression is still there, though nine runs in a row looked well",
    CheckAnswer.UNKNOWN: "inconclusive, so the issue stays open and is checked again after more runs",
}
_CAUSE_HEAD: Final = ("benchmark", "metric", "before", "after", "change")


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
    table, more = markdown_table(_CAUSE_HEAD, "llrrr", map(_cells, shown)), len(cause.metrics) - len(shown)
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
