"""The texts of tracking issues and of automatic searches."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from perf_culprit.model.bisection import BisectionReport, Culprit
from perf_culprit.model.dispatch import AlarmedMetric, CheckAnswer
from perf_culprit.model.finding import Acceptance, Accepted, Finding
from perf_culprit.model.reason import Reason
from perf_culprit.model.run import Cost
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.say.bisection_answer import answer_headline, bisection_nodes
from perf_culprit.say.bisection_words import reason_of
from perf_culprit.say.document import (
    Bullets,
    Column,
    CommitLink,
    DocumentNode,
    Figure,
    Hyperlink,
    Name,
    Prose,
    Strong,
    Table,
    TableRow,
    Text,
    paragraph,
    table,
    words,
)
from perf_culprit.say.finding_tables import accepted_by, changed_cells, changed_columns, metric_name
from perf_culprit.say.headlines import took
from perf_culprit.say.inert import Safe, clean
from perf_culprit.say.numbers import amount, count_of, percent, quantities
from perf_culprit.say.reason_text import worded
from perf_culprit.say.render_markdown import markdown, markdown_text


@dataclass(frozen=True, kw_only=True, slots=True)
class SuspectRange:
    """`good`: the commit of the newest good run. `bad`: the judged commit.

    `subjects` are the commits' subjects, newest first. Empty if the checkout lacks them.
    """

    good: str | None
    bad: str
    subjects: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class IssueOptions:
    """`marker` becomes the first line. `mentions` are names from the configuration, which checks them."""

    marker: str
    repository_url: str | None = None
    run_url: str | None = None
    mentions: tuple[str, ...] = ()


def issue_title(findings: Sequence[Finding]) -> str:
    """Return the title with a cleaned name, although titles show no Markdown and notify no one."""
    name = clean(findings[0].key.benchmark, limit=TEXT_LIMITS.title_name_characters)
    changes = [change for finding in findings if (change := finding.relative_change) is not None]
    size = f" by {percent(max(map(abs, changes)))}" if changes else ""
    return f"Performance regression: {name}{size}"


def joint_title(count: int) -> str:
    return f"Performance regressions: {count:,} benchmarks"


def reference_title(count: int, reference: str) -> str:
    name = clean(reference, limit=TEXT_LIMITS.title_name_characters)
    return f"Slower or larger than {name}: {count_of(count, 'benchmark')}"


def reference_body(
    findings: Sequence[Sequence[Finding]], reference: str, *, commits: SuspectRange, options: IssueOptions
) -> str:
    """Report the total change since a release, made by commits that were each too small to be called."""
    where = CommitLink(commits.bad, options.repository_url)
    opening = words(
        "{} worse at {} than at {}. Perhaps no single commit is the cause: small steps add up.",
        Safe(f"{count_of(len(findings), 'benchmark')} {'is' if len(findings) == 1 else 'are'}"),
        where,
        Name(reference),
    )
    closing = Safe(
        "This issue closes when none of these benchmarks is worse than in the release, or the change is accepted."
    )
    name = findings[0][0].key.benchmark
    nodes: list[DocumentNode] = [paragraph(opening), _many(findings), _commands(name, commits), paragraph(closing)]
    return _issue_text(nodes, ".", options=options)


def uncompared_line(release: str) -> str:
    """Return a line for the log and the job summary: a release that cannot be compared with the one before."""
    why = "is not compared: no run of its commit is stored, or no earlier release has a tag"
    return markdown(words("{} {}", Name(release, TEXT_LIMITS.title_name_characters), Safe(why)))


def issue_body(findings: Sequence[Finding], *, commits: SuspectRange, options: IssueOptions) -> str:
    """Report one benchmark, with all its metrics that got worse."""
    name = findings[0].key.benchmark
    where = CommitLink(commits.bad, options.repository_url)

    def row(finding: Finding) -> TableRow:
        return TableRow(changed_cells(Prose(finding.key.metric, TEXT_LIMITS.metric_characters), finding))

    return _body(
        words("{} got worse on the default branch at {}.", Name(name), where),
        table(changed_columns(Column(name="metric")), findings[: TEXT_LIMITS.issue_benchmarks], row),
        name=name,
        commits=commits,
        options=options,
    )


def joint_body(findings: Sequence[Sequence[Finding]], *, commits: SuspectRange, options: IssueOptions) -> str:
    """Report many benchmarks at once: one cause is more likely than many."""
    where = CommitLink(commits.bad, options.repository_url)
    return _body(
        words(
            "{} benchmarks got worse on the default branch at {}, more than get an issue of their own in one run.",
            len(findings),
            where,
        ),
        _many(findings),
        name=findings[0][0].key.benchmark,
        commits=commits,
        options=options,
    )


def _many(findings: Sequence[Sequence[Finding]]) -> Table:
    def row(finding: Finding) -> TableRow:
        return TableRow(changed_cells(metric_name(finding.key, with_metric=True), finding))

    first_findings = [finding for group in findings[: TEXT_LIMITS.issue_benchmarks] for finding in group[:3]]
    rows = table(changed_columns(Column(name="benchmark")), first_findings, row)
    return replace(rows, total=len(first_findings) + max(0, len(findings) - TEXT_LIMITS.issue_benchmarks))


def recovered_note(name: str | None, *, at: str, repository_url: str | None) -> str:
    what = Safe("Every benchmark of this issue") if name is None else Name(name)
    note = "{} is back at its level: measured at {}. Closed; if it returns, this issue is reopened."
    return markdown_text(paragraph(words(note, what, CommitLink(at, repository_url))))


def accepted_note(accepted: Accepted | Acceptance, *, repository_url: str | None) -> str:
    return markdown_text(paragraph(words("Accepted {}", accepted_by(accepted, repository_url=repository_url))))


def _body(opening: Text, rows: Table, *, name: str, commits: SuspectRange, options: IssueOptions) -> str:
    closing = "This issue is closed when the level recovers or is accepted, and reopened if the regression returns."
    nodes = [paragraph(opening), rows, *_commits(commits, options), _commands(name, commits), paragraph(Safe(closing))]
    return _issue_text(nodes, ".", options=options)


def _issue_text(nodes: Sequence[DocumentNode], how: str, *, options: IssueOptions) -> str:
    """Render the nodes between the marker and the mentions. `how` are our own words after "Found by this run"."""
    ends = []
    if options.run_url is not None:
        ends.append(paragraph(words("Found by {}{}", Hyperlink(Safe("this run"), options.run_url), Safe(how))))
    if options.mentions:
        # The configuration's pattern allows only names of users and teams.
        ends.append(paragraph(Safe(f"cc {' '.join(options.mentions)}")))
    return f"{options.marker}\n{markdown_text(*nodes, *ends)}"


def _commits(commits: SuspectRange, options: IssueOptions) -> Iterator[DocumentNode]:
    if commits.good is None:
        yield paragraph(Safe("No earlier run of this benchmark says where it was fine."))
        return
    good = words("Last good run: {}", CommitLink(commits.good, options.repository_url))
    if not commits.subjects:
        yield paragraph(good)
        return
    yield paragraph(words("{}. Since then:", good))
    items = [
        words("{} {}", CommitLink(name, options.repository_url), Name(subject, TEXT_LIMITS.issue_subject_characters))
        for name, subject in commits.subjects
    ]
    yield Bullets(items=items[: TEXT_LIMITS.issue_commits], total=len(items))


def _commands(name: str, commits: SuspectRange) -> DocumentNode:
    """Return commands to paste, in a fence against Markdown in names. A name that no command can hold is omitted."""
    quoted = _quote(name)
    lines = []
    if commits.good is not None:
        benchmark = f" benchmark={quoted}" if quoted else ""
        lines.append(Safe(f"/perf-bisect good={commits.good} bad={commits.bad}{benchmark}"))
    lines += accept_lines((name,))
    if not lines:
        return paragraph(Safe("Find the culprit with `perf-culprit bisect`, or accept it with `perf-culprit accept`."))
    return Figure(title=Safe("Find the culprit, or accept the new baseline:"), lines=tuple(lines))


def accept_lines(names: Sequence[str], *, head: str | None = None) -> list[Safe]:
    """Return lines for a fence, without names that a command cannot hold. `head`: that of a pull request."""
    of = f"{head} " if head else ""
    return [Safe(f"/perf-accept {of}{quoted} REASON") for name in names if (quoted := _quote(name))]


def _quote(name: str) -> str | None:
    return f'"{name}"' if name.isprintable() and not set(name) & set('"\\`') else None


CHECK_ANSWERS: Final = {
    CheckAnswer.OVER: "the regression is over",
    CheckAnswer.STILL_THERE: "the regression is still there, though nine runs in a row looked well",
    CheckAnswer.UNKNOWN: "inconclusive, so the issue stays open and is checked again after more runs",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Cause:
    """One culprit and everything that it made worse, the largest first. `culprit` is None if the search names none."""

    culprit: Culprit | None
    metrics: tuple[AlarmedMetric, ...]


def cause_title(cause: Cause) -> str:
    """Name the benchmark if it is the only one, else give the number of benchmarks."""
    names = _names(cause)
    what = clean(names[0], limit=TEXT_LIMITS.title_name_characters) if len(names) == 1 else f"{len(names):,} benchmarks"
    size = max(map(_change, cause.metrics), key=abs)
    most = "up to " if len(cause.metrics) > 1 else ""
    where = "" if cause.culprit is None else f" since {cause.culprit.commit[:7]}"
    return f"Performance regression: {what} by {most}{percent(abs(size))}{where}"


def cause_body(cause: Cause, report: BisectionReport, *, options: IssueOptions, cost: Cost) -> str:
    """Return the issue's text. `cost` is that of the whole search."""
    closing = Safe("This issue is closed when every benchmark of it is back at its level, or is accepted.")
    nodes = [*_facts(cause, report, options), paragraph(closing)]
    return _issue_text(nodes, f"; nobody asked for it. The search took {took(cost)}.", options=options)


def joined_comment(cause: Cause, report: BisectionReport, *, options: IssueOptions, cost: Cost) -> str:
    """Return a comment for an existing issue whose cause another search found, with that search's facts."""
    begin = paragraph(Safe(f"Another search ended at this cause. It took {took(cost)}."))
    return markdown_text(begin, *_facts(cause, report, options))


def culprit_comment(cause: Cause, *, issue_url: str | None, repository_url: str, cost: Cost) -> str:
    """Return a comment for the pull request that introduced the culprit."""
    if cause.culprit is None:
        raise ValueError("no culprit, no pull request")
    about = words(" {} has the measurements.", Hyperlink(Safe("The issue"), issue_url)) if issue_url else Safe("")
    text = words(
        "This pull request, as {}, made {} worse on the default branch.{} The search took {}.",
        CommitLink(cause.culprit.commit, repository_url),
        Safe(count_of(len(_names(cause)), "benchmark")),
        about,
        Safe(took(cost)),
    )
    return markdown_text(paragraph(text), _table(cause))


def no_issue_line(report: BisectionReport, why: Reason | None, *, cost: Cost) -> str:
    """Return a line for the log and the job summary: the result of an alarm that opens no issue."""
    answer_text = words("{}.", worded(why)) if why else Safe(f"{answer_headline(report)}. {reason_of(report)}")
    line = words("Searched for what made {} worse ({}): {}", Name(report.key.benchmark), Safe(took(cost)), answer_text)
    return markdown(line)


def over_note(report: BisectionReport, *, repository_url: str | None, cost: Cost) -> str:
    """Explain why a cause's issue is closed: the ends of its range were measured again, interleaved."""
    ends = (CommitLink(end, repository_url) for end in (report.commit_range.good, report.commit_range.bad))
    why = Safe(reason_of(report))
    return markdown_text(
        paragraph(words("Back at its level: {} (good) and {} (bad) were measured again. {}", *ends, why)),
        paragraph(Safe(f"The check took {took(cost)}. Closed; if it returns, this issue is reopened.")),
    )


def checked_line(report: BisectionReport, *, url: str, answer: CheckAnswer, cost: Cost) -> str:
    """Return a line for the log and the job summary: whether a regression that seemed over is over."""
    texts = Safe(f"{took(cost)}"), Safe(CHECK_ANSWERS[answer]), Hyperlink(Safe("its issue"), url)
    return markdown(words("Checked whether {} is back at its level ({}): {}: {}", Name(report.key.benchmark), *texts))


def _facts(cause: Cause, report: BisectionReport, options: IssueOptions) -> list[DocumentNode]:
    facts: list[DocumentNode] = [paragraph(_summary(cause, report, options)), _table(cause)]
    if lines := accept_lines(_names(cause)[: TEXT_LIMITS.issue_commands]):
        facts.append(Figure(title=Safe("Fix it, revert it, or accept the new baseline:"), lines=tuple(lines)))
    return [*facts, *bisection_nodes(report)]


def _summary(cause: Cause, report: BisectionReport, options: IssueOptions) -> Text:
    worse = Safe(f"{count_of(len(_names(cause)), 'benchmark')} got worse on the default branch")
    if cause.culprit is None:
        return words("{}, and the search could not name one commit.", worse)
    subject = report.subjects.get(cause.culprit.commit)
    named = words("{} by {}", worse, CommitLink(cause.culprit.commit, options.repository_url))
    return (
        words("{} {}.", named, Name(subject, TEXT_LIMITS.issue_subject_characters)) if subject else words("{}.", named)
    )


_CAUSE: Final = (
    Column(name="benchmark"),
    Column(name="metric"),
    Column(name="before", right=True),
    Column(name="after", right=True),
    Column(name="change", right=True),
)


def _table(cause: Cause) -> Table:
    def row(metric: AlarmedMetric) -> TableRow:
        sides = map(amount, quantities((metric.before, metric.after), metric.metric.unit))
        change = Strong(Safe(percent(_change(metric), signed=True)))
        return TableRow(
            (Name(metric.key.benchmark), Prose(metric.key.metric, TEXT_LIMITS.metric_characters), *sides, change)
        )

    return table(_CAUSE, cause.metrics, row, most=TEXT_LIMITS.issue_metrics)


def _change(metric: AlarmedMetric) -> float:
    return metric.after / metric.before - 1


def _names(cause: Cause) -> Sequence[str]:
    return tuple(dict.fromkeys(metric.key.benchmark for metric in cause.metrics))
