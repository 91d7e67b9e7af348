"""Where a dispatched bisection stands: the answer in the thread and the check run, after every step."""

import math
from dataclasses import dataclass, replace
from typing import Final

from bot.model.bisection import Phase, Progress
from bot.model.dispatch import BisectionStep
from bot.model.search_reason import Objection
from bot.report.bisection import bisection_markdown, headline
from bot.report.bisection_words import sized
from bot.report.charts import blocks
from bot.report.inert import Safe, code, commit, join, link, own
from bot.report.numbers import percent
from bot.report.reasons import sentence, sentence_markdown
from bot.report.words import counted

BAR_WIDTH: Final = 20
MOST_REMARKS: Final = 10
LEAST_SHOWN: Final = 0.005  # of the posterior

PHASES: Final = {
    Phase.MERGE_BASE: "measuring the merge base",
    Phase.REPRODUCE: "reproducing the change",
    Phase.SEARCH: "searching",
    Phase.CONFIRM: "confirming the suspect",
    Phase.RESIDUAL: "looking for what is left of the change",
    Phase.DONE: "done",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class StepTexts:
    """`title` is one line without Markdown; `body` is for the thread and for the check run."""

    title: str
    body: str


def step_texts(step: BisectionStep, *, repository_url: str, meanwhile: Objection | None = None) -> StepTexts:
    """`meanwhile`: what happened after the bisection's end."""
    if step.report is not None:
        title = headline(step.report)
        blocks = [Safe(bisection_markdown(replace(step.report, repository_url=repository_url)).rstrip())]
        if step.bisection.stopped is not None:
            why = step.bisection.objected(step.bisection.stopped)
            title = f"Stopped: {sentence(why)}"
            blocks.insert(0, own("**Stopped:** {}.", sentence_markdown(why)))
        elif meanwhile is not None:
            blocks.insert(0, own("Meanwhile {}.", sentence_markdown(step.bisection.objected(meanwhile))))
    else:
        title = _title(step.progress)
        blocks = [_progress(step, repository_url=repository_url)]
    if step.remarks:
        remarks = [own("- {}", sentence_markdown(remark)) for remark in step.remarks[:MOST_REMARKS]]
        blocks.append(own("Remarks:\n\n{}", join("\n", remarks)))
    blocks.append(_footer(step, repository_url=repository_url))
    return StepTexts(title=title, body=join("\n\n", blocks) + "\n")


def _title(progress: Progress) -> str:
    left = max(1, round(2**progress.entropy_bits))
    return f"{PHASES[progress.phase]}: {_of(progress)}, about {counted(left, 'commit')} left"


def _of(progress: Progress) -> str:
    if progress.expected_executions is None:
        return counted(progress.executions, "execution")
    return f"{progress.executions:,} of about {progress.executions + progress.expected_executions:,} executions"


def _progress(step: BisectionStep, *, repository_url: str) -> Safe:
    progress, bisection = step.progress, step.bisection
    lines = [own("### Bisecting {}", code(bisection.key.benchmark)), Safe(_standing(progress))]
    if progress.relative_change is not None:
        lines.append(Safe(f"Bad against good so far: {sized(progress.relative_change, progress.confidence_interval)}."))
    if progress.suspects:
        shown = [
            own(
                "{} at {}{}",
                commit(suspect.commit, repository_url=repository_url),
                Safe(percent(suspect.posterior)),
                _subject(bisection.subjects.get(suspect.commit)),
            )
            for suspect in progress.suspects
        ]
        others = 1 - sum(suspect.posterior for suspect in progress.suspects)
        if others >= LEAST_SHOWN:
            shown.append(own("all others together at {}", Safe(percent(others))))
        lines.append(own("Suspects: {}", join("; ", shown)))
    dispatch = bisection.open_dispatch
    if dispatch is not None:
        jobs, rounds = len(dispatch.jobs), len(dispatch.rounds)
        words = Safe(f"{counted(jobs, 'job')} with {counted(rounds, 'round')}")
        run = link(Safe("under way"), f"{repository_url}/actions/runs/{dispatch.run_id}" if dispatch.run_id else None)
        lines.append(own("Dispatch {}: {} {}.", len(bisection.dispatches), words, run))
    if step.waiting is not None:
        lines.append(own("Waiting: {}.", sentence_markdown(step.waiting)))
    return join("\n\n", lines)


def _standing(progress: Progress) -> str:
    """With a bar once it is known how much is expected: before, it would stand at nothing whatever is measured."""
    title, expected = _title(progress), progress.expected_executions
    if expected is None:
        return f"{title[:1].upper()}{title[1:]}."
    share = progress.executions / max(1, progress.executions + expected)
    return f"`{blocks(share, width=BAR_WIDTH, empty='░')}` {title}."


def _subject(subject: str | None) -> Safe:
    return own(", {}", code(subject, limit=72)) if subject else Safe("")


def _footer(step: BisectionStep, *, repository_url: str) -> Safe:
    bisection = step.bisection
    commit_range = bisection.search.commit_range
    parts = [
        own(
            "{} to {}",
            commit(commit_range.good, repository_url=repository_url),
            commit(commit_range.bad, repository_url=repository_url),
        ),
        Safe(counted(len(commit_range.commits), "candidate")),
    ]
    if step.report is None and bisection.runner_seconds:  # the report says it itself
        parts.append(own("{} on runners", Safe(counted(math.ceil(bisection.runner_seconds / 60), "minute"))))
    if bisection.requested_by:
        parts.append(own("asked for by {}", code(bisection.requested_by, limit=40)))
    parts.append(own("bisection {}", code(bisection.id, limit=64)))
    return own("<sub>{}</sub>", join(" · ", parts))
