"""Answers to commands. All words of a comment, a name or a message are foreign and made inert."""

from collections.abc import Sequence
from typing import Final

from perf_culprit.errors import BotError
from perf_culprit.model.dispatch import RequestedRun
from perf_culprit.model.finding import Acceptance, Verdict
from perf_culprit.model.report import Report
from perf_culprit.model.run import FULL_HASH
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.say.document import (
    Column,
    Figure,
    Fold,
    Hyperlink,
    Name,
    Prose,
    TableRow,
    Text,
    join_texts,
    paragraph,
    table,
    words,
)
from perf_culprit.say.finding_tables import gain_words
from perf_culprit.say.inert import Safe
from perf_culprit.say.render_markdown import markdown_text
from perf_culprit.say.sections import split

_ALL: Final = "all"

# Command line -> its effect; docs/commands.md has the same table.
HELP: Final = (
    (
        (
            "/perf-bisect [HEAD] [benchmark=NAME] [metric=NAME] [good=COMMIT] [bad=COMMIT] [engine=NAME] "
            "[jobs=N] [budget=N|Nmin]"
        ),
        "finds the commit that introduced a change, by measuring; a fork's pull request needs HEAD, all 40 digits",
    ),
    (
        "/perf-run [HEAD] [NAME …] [against REF] [rounds=N]",
        (
            "measures the pull request's head now, all benchmarks or these, against the commit where it began or REF; "
            "HEAD as in /perf-bisect"
        ),
    ),
    ("/perf-retry", "resumes a bisection of this thread that stopped, or measures the pull request again"),
    (
        "/perf-accept [HEAD] NAME|all REASON [because GAIN]",
        (
            "accepts a change as the new baseline, so that it fails no check; GAIN is stored with the cost; "
            "HEAD as in /perf-bisect"
        ),
    ),
    ("/perf-help", "shows this"),
)

_HELP: Final = (Column(name="command"), Column(name="does"))

_ONWARDS: Final = "The next run is compared with this level."
_ONWARDS_IN_PULL_REQUEST: Final = (
    "Write `/perf-retry` to update the check. Once this very head is merged, later runs are compared with its level; "
    "after another push, accept again."
)


def help_text() -> str:
    rows = table(_HELP, HELP, lambda row: TableRow((Name(row[0], TEXT_LIMITS.sentence_characters), Safe(row[1]))))
    note = Safe(
        "A command stands alone on the first line of a new comment, by somebody with write permission. "
        'Names with spaces go in quotes: `benchmark="sort large"`.'
    )
    return markdown_text(rows, paragraph(note))


def refusal_text(error: BotError) -> str:
    """Explain what was wrong and what would be valid."""
    where = words("{}: ", Name(error.place)) if error.place else Safe("")
    blocks: list[Text] = [words("**Command rejected:** {}{}", where, Prose(error.message))]
    if error.next_step:
        blocks.append(words("Next: {}", Prose(error.next_step, TEXT_LIMITS.next_step_characters)))
    return _paragraphs(*blocks)


def failure_text(error: BotError, *, run_url: str) -> str:
    """Report a valid command that failed. The error's words are for a terminal, so they are shown as code."""
    blocks: list[Text] = [words("**Failed.** {}", Name(error.message, TEXT_LIMITS.sentence_characters))]
    if error.next_step:
        blocks.append(words("Next: {}", Name(error.next_step, TEXT_LIMITS.next_step_characters)))
    return _paragraphs(*blocks, Hyperlink(Safe("The job's log"), run_url))


def no_permission_text(login: str) -> str:
    text = "**Command rejected:** {} does not have write access to this repository."
    return _paragraphs(words(text, Name(login)), Safe("Next: ask somebody who has it to write the command."))


def fork_head_text(head: str, *, line: str) -> str:
    """Ask for a review of a fork's changes up to `head`, named by GitHub. The line to copy allows only these."""
    why = "**Command rejected:** This pull request comes from a fork, so its commit must be named."
    read = words("Read the changes up to {}. If you agree with them, write:", Name(head))
    return markdown_text(paragraph(Safe(why)), Figure(title=read, lines=(Safe(line.format(_hash(head))),)))


def moved_text(*, named: str, head: str) -> str:
    return _paragraphs(
        words("**Command rejected:** The head of this pull request is {}, not {}.", Name(head), Name(named)),
        Safe("Read what has changed since, then name the new head."),
    )


def closed_text() -> str:
    return _paragraphs(
        Safe("**Command rejected:** This pull request is closed."), Safe("Next: reopen it, then ask again.")
    )


def measuring_text(request: RequestedRun, benchmarks: Sequence[str]) -> str:
    what = join_texts(", ", map(Name, benchmarks)) if benchmarks else Safe("All benchmarks")
    where = Safe("in the report's comment" if request.is_plain else "here")
    sentence = words("{} of {} will be measured against {}. The result follows {}.", what, *_ends(request), where)
    return _paragraphs(sentence)


def measured_text(request: RequestedRun, *, report_url: str | None) -> str:
    return _paragraphs(words("Measured: {} against {}. {}", *_ends(request), Hyperlink(Safe("The report"), report_url)))


def asked_body(request: RequestedRun, report: str) -> str:
    """Return the report of a requested measurement, below a line with the request."""
    sentence = words("Asked for: {} against {}. The report of the pull request stays as it is.", *_ends(request))
    return f"{_paragraphs(sentence)}\n{report}"


def not_measured_text(request: RequestedRun, *, why: str, run_url: str) -> str:
    sentence = words("**Not measured.** {} against {}: {}.", *_ends(request), Prose(why))
    return _paragraphs(sentence, Hyperlink(Safe("The log of the measurement"), run_url))


def _ends(request: RequestedRun) -> tuple[Text, Text]:
    base = Name(request.base[:10])
    return Name(request.head[:10]), words("{} ({})", Name(request.against), base) if request.against else base


def again_text(*, repeats: str, run_url: str) -> str:
    """Report a repeated measurement. `repeats` are our own words."""
    if repeats == "nothing":
        return _paragraphs(
            words("{} is still under way; its report will follow.", Hyperlink(Safe("The measurement"), run_url))
        )
    return _paragraphs(
        words(
            "Measuring again ({}): {}. The report will be updated.", Safe(repeats), Hyperlink(Safe("the run"), run_url)
        )
    )


def continued_text() -> str:
    return _paragraphs(Safe("The bisection of this thread is under way; its answer above says how far it is."))


def accepted_text(acceptance: Acceptance, benchmarks: Sequence[str], *, is_checked: bool) -> str:
    """Report an acceptance. Not `is_checked`: no stored run confirms the benchmarks' names."""
    names = join_texts(", ", (Name(name) for name in benchmarks)) if benchmarks else Safe("all benchmarks")
    blocks: list[Text] = [
        words("**Accepted** at {}: {}.", Name(acceptance.commit[:10]), names),
        words("Reason: {} ({})", Prose(acceptance.reason), Name(acceptance.author)),
        *([words("Gained: {}", Prose(gain))] if (gain := gain_words(acceptance)) else ()),
        Safe(_ONWARDS if acceptance.pull_request is None else _ONWARDS_IN_PULL_REQUEST),
    ]
    if benchmarks and not is_checked:
        blocks.append(Safe("No stored run could confirm that name: compare it with the report."))
    return _paragraphs(*blocks)


def ready_lines(report: Report) -> str:
    """Return folded commands to copy below a regression, with the judged commit. Empty if none fits.

    A fence shows foreign names unchanged. Names that a command or the fence cannot hold are left out.
    """
    regressions = [finding for finding in split(report).changed if finding.verdict is Verdict.REGRESSION]
    commit = report.target_commit
    if not regressions or commit is None or not FULL_HASH.fullmatch(commit):
        return ""
    key = regressions[0].key
    benchmark = f' benchmark="{key.benchmark}"' if _fits(key.benchmark) else ""
    # Without stored runs, and for counted commands, the benchmark's name alone is not enough.
    metric = f' metric="{key.metric}"' if benchmark and _fits(key.metric) else ""
    accepted = f'"{key.benchmark}"' if benchmark else _ALL
    lines = (Safe(f"/perf-bisect {commit}{benchmark}{metric}"), Safe(f"/perf-accept {commit} {accepted} REASON"))
    summary = Safe("Find the culprit, or accept the new baseline")
    return markdown_text(Fold(summary=summary, parts=(Figure(lines=lines),)))


def _fits(name: str) -> bool:
    return name.isprintable() and len(name) <= TEXT_LIMITS.name_characters and not set(name) & set('"\\`')


def _hash(commit: str) -> Safe:
    if not FULL_HASH.fullmatch(commit):
        raise ValueError(f"not a commit hash: {commit!r}")
    return Safe(commit)


def _paragraphs(*texts: Text) -> str:
    return markdown_text(*map(paragraph, texts))
