"""The texts of tracking issues: regressions of the default branch, for whoever will fix or accept them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bot.model.finding import Acceptance, Finding
from bot.report import cells
from bot.report.inert import Safe, clean, code, commit, join, link, own, prose
from bot.report.numbers import percent
from bot.report.tables import markdown_table

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
        (cells.benchmark(finding, with_metric=True), *_numbers(finding))
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


def accepted_note(accepted: Acceptance, *, repository_url: str | None) -> str:
    return own("Accepted {}\n", cells.accepted_by(accepted, repository_url=repository_url))


def _numbers(finding: Finding) -> tuple[Safe, ...]:
    before, after = cells.before_and_after(finding.evidence)
    return before, after, cells.change(finding.evidence, bold=True), cells.certainty(finding), cells.state(finding)


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
