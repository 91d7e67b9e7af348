"""A planned bisection, and one under way."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from perf_culprit.model.bisection import ChangeFacts, Phase, PlannedSearch, Progress, StoredNoise
from perf_culprit.model.dispatch import BisectionStep
from perf_culprit.model.reason import Objection
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.say.bisection_answer import answer_headline, bisection_nodes, revert_or_accept
from perf_culprit.say.bisection_words import fails_in, sized
from perf_culprit.say.charts import chart_blocks
from perf_culprit.say.document import (
    BlockText,
    Bullets,
    CommitLink,
    DocumentNode,
    Footer,
    Heading,
    Hyperlink,
    Name,
    Strong,
    Text,
    Tone,
    join_texts,
    paragraph,
    words,
)
from perf_culprit.say.inert import SHORT_HASH, Safe, plain
from perf_culprit.say.issue_texts import accept_lines
from perf_culprit.say.numbers import count_of, lasted, percent
from perf_culprit.say.reason_text import sentence, worded
from perf_culprit.say.render_markdown import markdown_text

LISTED_STEPS: Final = 40
BENCHMARKS: Final = 10


def plan_text(plan: PlannedSearch) -> str:
    commit_range, subjects, prior, facts = plan.commit_range, plan.subjects, plan.prior, plan.facts
    budget, tests = plan.budget, plan.tests
    clear, hidden = plan.executions
    commits = commit_range.commits
    merges = sum(len(parents) > 1 for parents in commit_range.parents)
    ends = f"after {commit_range.good[:SHORT_HASH]} up to {commit_range.bad[:SHORT_HASH]}"
    summary = (
        f"{count_of(len(commits), 'candidate')} {ends}: "
        f"{count_of(merges, 'merge')}, {len(commit_range.unchanged)} without a change of what the build reads, "
        f"{count_of(len(commit_range.reverts), 'revert')}"
    )
    lines = [summary]
    if commit_range.merge_bases:
        bases = ", ".join(base[:SHORT_HASH] for base in commit_range.merge_bases)
        lines.append(f"good is not an ancestor of bad: the merge base {bases} is measured first")
    most = TEXT_LIMITS.step_subject_characters
    lines += [
        "",
        *(
            f"  {commit[:SHORT_HASH]}  {_chance(commit, prior)}{plain(subjects.get(commit, ''), limit=most)}"
            + ("  (unchanged)" if place in commit_range.unchanged else _why(commit, facts))
            for place, commit in islice(enumerate(commits), LISTED_STEPS)
        ),
    ]
    if len(commits) > LISTED_STEPS:
        lines.append(f"  … and {len(commits) - LISTED_STEPS} more")
    cost = f"Expected: about {clear} executions; budget {budget}."
    if tests is not None:
        each = clear // tests // 2
        enough = "" if clear <= budget else f", which is too small: allow --executions {clear}"
        cost = (
            f"Expected: {clear:,} executions, whatever the noise: the bad end and at most "
            f"{count_of(tests - 2, 'commit')} before it, {each} times, next to the good end, then the last one "
            f"next to its parent; budget {budget}{enough}."
        )
    elif plan.of_failures:
        cost = (
            f"Expected: about {clear} executions if the command fails never before and always since, about {hidden} "
            f"for 5% before and 40% since; budget {budget}."
        )
    elif hidden > clear:
        cost = (
            f"Expected: about {clear} executions for a step of four standard deviations of one execution, about "
            f"{hidden} for a step of one, where the machine's level hardly moves; budget {budget}."
        )
    if facts is not None:
        lines.append("  A search raises the chance of what the benchmark executes: it looks when it begins.")
    lines += ["", cost, _minutes(plan.executions, budget, plan.seconds), *_history(plan.noise), "Nothing was measured."]
    return "\n".join(lines) + "\n"


def _minutes(executions: tuple[int, int], budget: int, seconds: float | None) -> str:
    if seconds is None:
        return "How many minutes: unknown, as no stored run says how long an execution takes (see --history)."
    clear, hidden, most = (math.ceil(count * seconds / 60) for count in (*executions, budget))
    span = count_of(clear, "minute") if hidden == clear else f"{clear:,} to {count_of(hidden, 'minute')}"
    return f"By the stored runs, {seconds:.3g} s an execution with builds: about {span}, at most {most:,}."


def _chance(commit: str, prior: Mapping[str, float] | None) -> str:
    return "" if prior is None else f"{percent(prior.get(commit, 0.0)):>7}  "


def _why(commit: str, facts: Mapping[str, ChangeFacts] | None) -> str:
    """Return the facts behind the commit's chance."""
    if facts is None or (one := facts.get(commit)) is None:
        return ""
    kinds = {
        "dependencies or the build": one.changes_dependency,
        "documents or tests only": one.only_documents,
        "a clean merge": one.clean_merge,
        f"{count_of(one.churn, 'line')} of code": one.churn,
    }
    return f"  ({', '.join(kind for kind, holds in kinds.items() if holds) or 'no line of code'})"


def _history(noise: Sequence[StoredNoise] | None) -> Iterator[str]:
    if noise is None:
        return
    if not noise:
        yield "The history holds too few runs of these commits to tell their noise."
    for entry in noise[:BENCHMARKS]:
        steps = ", ".join(f"+{step:.0%} about {count:,}" for step, count in entry.executions)
        yield (
            f"{plain(entry.benchmark)} ({plain(entry.metric)}): {entry.spread:.1%} from run to run in "
            f"{count_of(entry.runs, 'stored run')}; executions for {steps}"
        )
    if len(noise) > BENCHMARKS:
        yield f"… and {len(noise) - BENCHMARKS} benchmarks more: name one with --benchmark"


_BAR_WIDTH: Final = 20
LEAST_SHOWN: Final = 0.005  # share of the posterior

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
    """`title` is one line without Markdown. `body` is for the thread and for the check run."""

    title: str
    body: str


def step_texts(step: BisectionStep, *, repository_url: str, meanwhile: Objection | None = None) -> StepTexts:
    """Render a step. `meanwhile`: an objection that arose after the bisection's end."""
    nodes: list[DocumentNode] = []
    if step.report is not None:
        title = answer_headline(step.report)
        if step.bisection.stopped is not None:
            why = step.bisection.objected(step.bisection.stopped)
            title = f"Stopped: {sentence(why)}"
            nodes.append(paragraph(words("{} {}.", Strong(Safe("Stopped:")), worded(why))))
        elif meanwhile is not None:
            nodes.append(paragraph(words("Meanwhile {}.", worded(step.bisection.objected(meanwhile)))))
        nodes += bisection_nodes(replace(step.report, repository_url=repository_url))
        nodes += revert_or_accept(step.report, accept_lines((step.report.key.benchmark,), head=step.bisection.head))
    else:
        title = _title(step.progress, step.bisection.runner_seconds)
        nodes += _progress(step, repository_url=repository_url)
    if step.remarks:
        remarks = [*map(worded, step.remarks[: TEXT_LIMITS.notes])]
        nodes.append(Bullets(items=remarks, total=len(remarks), title=Safe("Remarks")))
    footer = Footer(parts=tuple(_footer(step, repository_url=repository_url)))
    return StepTexts(title=title, body=markdown_text(*nodes, footer))


def _title(progress: Progress, seconds: float) -> str:
    """Return the state in one line. `seconds`: those of all executions so far, builds included; 0 if unknown."""
    title = f"{PHASES[progress.phase]}: "
    failing = f", {count_of(progress.failing, 'commit')} cannot be run" if progress.failing else ""
    if progress.expected_executions is None:
        return f"{title}{count_of(progress.executions, 'execution')}{failing}"
    candidates = count_of(max(1, round(2**progress.entropy_bits)), "commit")  # the number of equally likely commits
    expected = progress.executions + progress.expected_executions
    rest = seconds * progress.expected_executions / max(1, progress.executions)
    candidates += f" and {lasted(rest, 'runner ')}" if rest else ""
    return f"{title}{progress.executions:,} of about {expected:,} executions, about {candidates} left{failing}"


def progress_line(progress: Progress, *, seconds: float = 0.0, verbose: bool = False) -> str:
    """Return the progress as one line for a search on this machine."""
    parts = [_title(progress, seconds)]
    if verbose:
        parts.append(f"{progress.entropy_bits:.1f} bits")
    if progress.relative_change is not None:
        parts.append(f"bad against good {sized(progress.relative_change, progress.confidence_interval)}")
    if progress.rates is not None:
        parts.append(fails_in(progress.rates, "at good", "at bad"))
    if progress.suspects:
        chances = (
            f"{suspect.commit[:SHORT_HASH]}{f' ({percent(suspect.posterior)})' if verbose else ''}"
            for suspect in progress.suspects
        )
        parts.append(f"suspects {', '.join(chances)}")
    return "; ".join(parts)


def _progress(step: BisectionStep, *, repository_url: str) -> Iterator[DocumentNode]:
    progress, bisection = step.progress, step.bisection
    yield Heading(text=words("Bisecting {}", Name(bisection.key.benchmark)), tone=Tone.PLAIN)
    yield paragraph(_standing(progress, bisection.runner_seconds))
    if progress.relative_change is not None:
        so_far = sized(progress.relative_change, progress.confidence_interval)
        yield paragraph(Safe(f"Bad against good so far: {so_far}."))
    if progress.suspects:
        texts: list[Text] = [
            words(
                "{} at {}{}",
                CommitLink(suspect.commit, repository_url),
                Safe(percent(suspect.posterior)),
                _subject(bisection.subjects.get(suspect.commit)),
            )
            for suspect in progress.suspects
        ]
        others = 1 - sum(suspect.posterior for suspect in progress.suspects)
        if others >= LEAST_SHOWN:
            texts.append(Safe(f"all others together at {percent(others)}"))
        yield paragraph(words("Suspects: {}", join_texts("; ", texts)))
    dispatch = bisection.open_dispatch
    if dispatch is not None:
        size = Safe(f"{count_of(len(dispatch.jobs), 'job')} with {count_of(len(dispatch.rounds), 'round')}")
        run = Hyperlink(
            Safe("under way"), f"{repository_url}/actions/runs/{dispatch.run_id}" if dispatch.run_id else None
        )
        yield paragraph(words("Dispatch {}: {} {}.", len(bisection.dispatches), size, run))
    if step.waiting is not None:
        yield paragraph(words("Waiting: {}.", worded(step.waiting)))


def _standing(progress: Progress, seconds: float) -> Text:
    """Return the progress, with a bar once the expected number is known. Before, the bar would stay at zero."""
    title, expected = _title(progress, seconds), progress.expected_executions
    if expected is None:
        return Safe(f"{title[:1].upper()}{title[1:]}.")
    share = progress.executions / max(1, progress.executions + expected)
    return words("{} {}.", BlockText(chart_blocks(share, width=_BAR_WIDTH, empty="░")), Safe(title))


def _subject(subject: str | None) -> Text:
    return words(", {}", Name(subject, 72)) if subject else Safe("")


def _footer(step: BisectionStep, *, repository_url: str) -> Iterator[Text]:
    bisection = step.bisection
    commit_range = bisection.search.commit_range
    yield words("{} to {}", *(CommitLink(end, repository_url) for end in (commit_range.good, commit_range.bad)))
    yield Safe(count_of(len(commit_range.commits), "candidate"))
    if step.report is None and bisection.runner_seconds:  # the report already has the time
        yield Safe(f"{count_of(math.ceil(bisection.runner_seconds / 60), 'minute')} on runners")
    if bisection.requested_by:
        yield words("asked for by {}", Name(bisection.requested_by, 40))
    yield words("bisection {}", Name(bisection.id, 64))
