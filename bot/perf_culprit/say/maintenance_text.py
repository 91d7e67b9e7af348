"""The output of `doctor`, of collecting and importing, and of the history's size."""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final

from perf_culprit.errors import list_names
from perf_culprit.model.maintenance import (
    Compacted,
    Health,
    HistorySize,
    Imported,
    Observation,
    Permission,
    Role,
    Symptom,
)
from perf_culprit.model.run import FileRead
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.say.inert import plain
from perf_culprit.say.numbers import count_of, percent, quantities
from perf_culprit.say.render_terminal import columns

MARKS: Final = {Health.FINE: "ok", Health.UNKNOWN: "?", Health.WRONG: "WRONG", Health.UNSAFE: "UNSAFE"}

ROLES: Final[Mapping[str, str]] = {
    Role.RECORD: "a push to {default}: judged and recorded",
    Role.OTHER_BRANCH: "a push to another branch than {default}: judged, not recorded",
    Role.PULL_REQUEST: "a pull request of this repository: judged, with check and comment",
    Role.FORK: "a pull request from a fork: its token may not write, whatever the file says. Its report is in the job "
    "summary; for a comment set up the split: perf-culprit init --split",
    Role.QUEUE: "an entry of a merge queue: judged against the commit below it, neither commented nor recorded",
    Role.REPORT: "after another workflow: what it left is judged again and published",
    Role.COMMAND: "a comment: a command in it is obeyed",
    Role.BISECT: "started by hand or by the bot: only the bisect workflow is; to record results, use mode: record",
    Role.REFERENCE: "a schedule: with a reference judged against it, with a check, and an issue where issues.when asks",
    Role.PRIVILEGED: "pull_request_target: untrusted code with a writing token. Never measure here: use pull_request",
    Role.NONE: "the event {event}: results are judged and recorded nowhere. Use push, pull_request or merge_group, or "
    "mode: record",
}
PERMISSIONS: Final[Mapping[str, str]] = {
    Permission.ACTIONS: "artifacts of other runs are not read, bisections not started",
    Permission.CHECKS: "there is no check run",
    Permission.CONTENTS: "no run is recorded",
    Permission.ISSUES: "no issue is opened, and none answered",
    Permission.PULL_REQUESTS: "there is no comment",
}
UNKNOWN: Final[Mapping[str, str]] = {
    Permission.ACTIONS: "the bisect workflow is not on the default branch: without it nothing is searched",
    Permission.ISSUES: "issues are switched off, or GitHub does not say",
    Permission.PULL_REQUESTS: "there is no pull request yet to ask at, or its conversation is locked",
}
WORDS: Final[Mapping[Symptom, str]] = {
    Symptom.ANONYMOUS: "permissions: not known without the token. Give the step "
    "env: GITHUB_TOKEN: ${{{{ github.token }}}}",
    Symptom.NO_ANSWER: "GitHub: {message}. Next: {next}",
    Symptom.PROTECTED: "a workflow execution protection refused it: {message}. Next: {next}",
    Symptom.BRANCH_RULES: "branch {branch}: rules ({rules}) refuse the push of a run. Exempt the branch from them",
    Symptom.NO_CHECKOUT: "checkout: there is none here, so neither its depth nor the base is known",
    Symptom.SHALLOW: "checkout: the commits before are missing. Write fetch-depth: 0",
    Symptom.MERGE_CHECKOUT: "checkout: {commit}, GitHub's merge of {head} into {base}; it is judged against {base}",
    Symptom.OTHER_CHECKOUT: "checkout: {commit} is neither the head {head} nor GitHub's merge of it. Name it with the "
    "input ref, or leave `ref:` of actions/checkout out",
    Symptom.STORED_CREDENTIALS: "checkout: the token lies in git's configuration, where measured code reads it. Write "
    "persist-credentials: false",
    Symptom.NO_RUNS: "history: {branch} holds no run of suite {suite}. The next push to {default} begins it, "
    "with contents: write; results measured in turn with their base need none",
    Symptom.RUNS: "history: {runs} runs of {commits} commits",
    Symptom.BASE_WITH_RUN: "history: the base {base} has a run, so against stored runs a check can fail",
    Symptom.BASE_WITHOUT_RUN: "history: the base {base} has no run, so against stored runs no check can fail: the "
    "change may be an older commit's. Measure every push to {default} (on: push without paths, no "
    "cancel-in-progress), or measure the base in the same job",
}


def checkup_lines(observations: Sequence[Observation]) -> tuple[str, ...]:
    """Return the observations, problems last, where they are seen first."""
    order = list(Health)
    ranked = sorted(observations, key=lambda observation: order.index(observation.health))
    return tuple(f"{MARKS[observation.health]:>6}  {_words(observation)}" for observation in ranked)


def _words(observation: Observation) -> str:
    if observation.symptom is Symptom.PERMISSION:
        return _permission_words(observation)
    form = f"event: {ROLES[observation.kind]}" if observation.symptom is Symptom.ROLE else WORDS[observation.symptom]
    limit = TEXT_LIMITS.sentence_characters
    facts = {name: plain(str(value), limit=limit) for name, value in observation.facts.items()}
    return form.format(**facts)


def _permission_words(observation: Observation) -> str:
    words = f"permissions: {observation.kind}: write"
    if observation.health is Health.WRONG:
        return f"{words} is missing: {PERMISSIONS[observation.kind]}. Add it to the job's permissions"
    return (
        words
        if observation.health is Health.FINE
        else f"{words} is not known: {UNKNOWN.get(observation.kind, 'GitHub does not say')}"
    )


def collected_text(reads: Sequence[FileRead]) -> str:
    """Return a line per format, then what was left out."""
    by_format = sorted(reads, key=attrgetter("format"))
    lines = [_line(name, list(files)) for name, files in groupby(by_format, key=attrgetter("format"))]
    notes = list(dict.fromkeys(note for read in reads for note in read.notes))
    more = [f"  and {count_of(len(notes) - TEXT_LIMITS.notes, 'more note')}"] if len(notes) > TEXT_LIMITS.notes else []
    return "\n".join([*lines, *(f"  note: {note}" for note in notes[: TEXT_LIMITS.notes]), *more])


def derived_text(metrics: Sequence[str]) -> str:
    """Explain rates that are judged with the times that they were computed from."""
    return f"{', '.join(metrics)}: computed from the same samples as the times, so judged once, as time"


def formats_text(formats: Iterable[tuple[str, str, str]]) -> str:
    """Return each reader's id and description, and below them how its file is written."""
    return "\n".join(f"{name:24} {description}\n{'':24}   {example}" for name, description, example in formats)


def _line(name: str, files: Sequence[FileRead]) -> str:
    benchmarks, metrics = sum(file.benchmarks for file in files), sum(file.metrics for file in files)
    samples, tables = sum(file.samples for file in files), sum(file.tables for file in files)
    parts = []
    if metrics:
        values = count_of(samples, "sample") if samples else "summaries without samples"
        several = f" ({count_of(metrics, 'metric')})" if metrics != benchmarks else ""
        parts.append(f"{count_of(benchmarks, 'benchmark')}{several}, {values}")
    if tables:
        parts.append(count_of(tables, "counter table"))
    where = f" in {count_of(len(files), 'file')}" if len(files) > 1 else ""
    return f"{name}: {', '.join(parts) or 'nothing'}{where}"


def imported_text(imported: Imported) -> str:
    """Return one line, then the limits on using the runs, each with its consequence."""
    verb = "imported" if imported.stored else "would import"
    new = imported.runs - imported.already_stored - imported.dropped
    share = f"{new:,} of " if new < imported.runs else ""
    dates = f" ({imported.first:%Y-%m-%d} to {imported.last:%Y-%m-%d})" if imported.first and imported.last else ""
    what = f"{share}{count_of(imported.runs, 'run')} of {count_of(imported.commits, 'commit')}{dates}"
    named = list_names([plain(suite, limit=40) for suite in imported.suites], most=TEXT_LIMITS.suites)
    doubt = "" if imported.on_line else "; is --repo the repository of these results?"
    lines = [
        f"{verb} {what} into {'suite' if len(imported.suites) == 1 else 'suites'} {named}",
        f"  {imported.on_line:,} of the commits are ancestors of HEAD: later runs are compared with those only{doubt}",
    ]
    if imported.already_stored:
        lines.append(f"  stored before, so kept as they are: {count_of(imported.already_stored, 'run')}")
    if imported.without_environment:
        lines.append(
            f"  the machine of {count_of(imported.without_environment, 'run')} is unknown: a step between runs may be"
            " another machine"
        )
    if imported.without_commit:
        lines.append(f"  left out, because they say no full commit hash: {count_of(imported.without_commit, 'result')}")
    if imported.dropped:
        lines.append(f"  beyond the history's size limit, so not kept: the oldest {count_of(imported.dropped, 'run')}")
    return "\n".join(lines) + "\n"


def history_size_text(size: HistorySize) -> str:
    """Describe the whole history, what a compaction would save, the suites, and the newest months."""
    saved = size.packed_bytes - size.compacted_bytes
    past = f"{count_of(size.commits, 'commit')} since {size.since}"
    cut = "; older ones are not here (a shallow clone), so that the past weighs more" if size.is_cut else ""
    reduced = f"{count_of(size.to_compact, 'run')} reduced to a summary and {size.to_drop:,} removed"
    after, less = _bytes(size.compacted_bytes), f"{_bytes(saved)} less ({percent(saved / max(size.packed_bytes, 1))})"
    compacted = f"{after} after `history compact`: {less}" if saved > 0 else "`history compact` would save nothing"
    lines = [
        plain(size.place, limit=300),
        f"  {_bytes(size.packed_bytes)} packed, of at most {_bytes(size.limit_bytes)}: {past}{cut}",
        f"  {compacted}; {reduced}",
        f"  {_bytes(size.largest_file_bytes)}: the largest file, before it is packed",
        "",
    ]
    suites = [
        (plain(suite.name, limit=60), f"{suite.runs:,}", f"{suite.uncompacted:,}", _day(suite.first), _day(suite.last))
        for suite in size.suites
    ]
    months = [
        (
            f"{month.month[:4]}-{month.month[4:]}",
            f"{month.runs:,}",
            _bytes(month.packed_bytes),
            f"{month.searches:,}" if month.searches else "",
            f"{month.executions:,}" if month.searches else "",
            f"{math.ceil(month.runner_seconds / 60):,}" if month.searches else "",
        )
        for month in size.months[-TEXT_LIMITS.maintenance_months :]
    ]
    lines += [*columns([("suite", "runs", "uncompacted", "first", "last"), *suites], right=range(1, 5)), ""]
    heads = ("month", "runs", "packed", "searches", "executions", "runner minutes")
    lines += columns([heads, *months], right=range(1, 6))
    if older := size.months[: -TEXT_LIMITS.maintenance_months]:
        lines.append(
            f"and {count_of(len(older), 'older month')} with {count_of(sum(month.runs for month in older), 'run')}"
        )
    return "\n".join(lines) + "\n"


def compacted_text(compacted: Compacted) -> str:
    place = plain(compacted.place, limit=300)
    if not compacted.done:
        return f"nothing to compact: {count_of(compacted.runs, 'run')} in one commit of {place}\n"
    return (
        f"compacted {place}: one commit with {count_of(compacted.runs, 'run')}, {compacted.compacted:,} reduced to a "
        f"summary, {compacted.dropped:,} removed\n  the commits before it are freed when the server collects garbage\n"
    )


def _bytes(count: int) -> str:
    (quantity,) = quantities((float(count),), "B")
    return f"{quantity.number} {quantity.unit}"


def _day(day: str) -> str:
    return f"{day[:4]}-{day[4:6]}-{day[6:]}"
