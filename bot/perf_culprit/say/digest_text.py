"""The text of a week's digest: what changed, what waits for an answer, and what measuring took."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from perf_culprit.model.report import Report
from perf_culprit.model.run import Cost
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.say.document import (
    Bullets,
    CommitLink,
    DocumentNode,
    Heading,
    Hyperlink,
    Name,
    Shown,
    Text,
    Tone,
    join_texts,
    paragraph,
    words,
)
from perf_culprit.say.finding_tables import changed_table, findings_table
from perf_culprit.say.headlines import headline, took
from perf_culprit.say.inert import Safe
from perf_culprit.say.numbers import count_of, lasted
from perf_culprit.say.render_markdown import markdown_text
from perf_culprit.say.sections import split


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenIssue:
    """An issue of ours that is open. `benchmarks` are those of it that the newest run has."""

    number: int
    url: str
    benchmarks: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class WeeklyDigest:
    """A week that begins at `monday`. `report` compares its newest run with the runs before; None if there are none.

    `unanswered` are benchmarks that got worse, with the commit where this was seen: neither accepted, back, searched,
    nor in an open issue. `searches` are those that run, with their first day. Runs without a time are `unknown`.
    """

    monday: date
    suite: str
    report: Report | None
    runs: int
    commits: int
    unknown: int
    cost: Cost
    search_seconds: float
    unanswered: tuple[tuple[str, str], ...]
    issues: tuple[OpenIssue, ...]
    searches: tuple[tuple[str, date], ...]


def digest_body(digest: WeeklyDigest, *, repository_url: str) -> str:
    return markdown_text(*_nodes(digest, repository_url))


def _nodes(digest: WeeklyDigest, url: str) -> Iterator[DocumentNode]:
    yield from _comparison(digest, url)
    if waiting := list(_waiting(digest, url)):
        yield Bullets(
            items=waiting[: TEXT_LIMITS.waiting_findings], total=len(waiting), title=Safe("Waits for an answer")
        )
    else:
        yield paragraph(Safe("Nothing waits for an answer."))
    yield paragraph(Safe(_minutes(digest)))


def _comparison(digest: WeeklyDigest, url: str) -> Iterator[DocumentNode]:
    of_suite = Safe("") if digest.suite == "default" else words(" of {}", Name(digest.suite))
    when = words("Performance{}, {}", of_suite, Safe(_days(digest.monday)))
    if (report := digest.report) is None:
        yield Heading(text=words("{}: the first runs", when), tone=Tone.PLAIN)
        return
    sections = split(report)
    line = headline(report, sections)
    headline_text = Safe(f"{line.text[0].lower()}{line.text[1:]}")
    yield Heading(text=words("{}: {}", when, headline_text), tone=line.tone, mark=line.emoji)
    if sections.changed or sections.suspected:
        yield changed_table(sections)
    if sections.watched:
        yield findings_table(sections.watched, sections, title=Safe("Worse, and only watched"), shown=Shown.TABLE)
    if report.baseline_runs:
        head, base = (CommitLink(str(end), url) for end in (report.target_commit, report.base_commit))
        runs = Safe(count_of(report.baseline_runs, "run"))
        yield paragraph(
            words("This compares the newest run, at {}, with {} before the week, up to {}.", head, runs, base)
        )


def _waiting(digest: WeeklyDigest, url: str) -> Iterator[Text]:
    for issue in digest.issues:
        yield words("{}: {}", Hyperlink(Safe(f"#{issue.number}"), issue.url), _names(issue.benchmarks))
    for benchmark, commit in digest.unanswered:
        yield words("{} got or looks worse since {}", Name(benchmark), CommitLink(commit, url))
    for benchmark, since in digest.searches:
        yield words("{}: its cause has been searched for since {}", Name(benchmark), Safe(f"{since:%-d %B}"))


def _names(benchmarks: tuple[str, ...]) -> Text:
    if not benchmarks:
        return Safe("of benchmarks that the newest run lacks")
    more = len(benchmarks) - TEXT_LIMITS.names
    names = join_texts(", ", map(Name, benchmarks[: TEXT_LIMITS.names]))
    return names if more <= 0 else words("{} and {} more", names, more)


def _minutes(digest: WeeklyDigest) -> str:
    sentence = f"{count_of(digest.runs, 'stored run')} of {count_of(digest.commits, 'commit')}"
    sentence += f": {took(digest.cost)}" if digest.cost else ""
    sentence += f", and {count_of(digest.unknown, 'run')} without a time" if digest.unknown else ""
    if digest.search_seconds:
        sentence += f". Searches took {lasted(digest.search_seconds, 'runner ')}"
    return f"{sentence}. What pull requests took is not stored."


def _days(monday: date) -> str:
    sunday = monday + timedelta(days=6)
    first = f"{monday:%-d}" if monday.month == sunday.month else f"{monday:%-d %B}"
    return f"{first}\N{EN DASH}{sunday:%-d %B %Y}"
