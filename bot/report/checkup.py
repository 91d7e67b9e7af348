"""What `doctor` says: a line per observation, and what to do where something is wrong."""

from collections.abc import Mapping, Sequence
from typing import Final

from bot.model.checkup import Health, Observation, Permission, Role, Symptom
from bot.report.inert import SENTENCE_LIMIT, plain

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
    """What is wrong comes last, where the eye is."""
    order = list(Health)
    ranked = sorted(observations, key=lambda seen: order.index(seen.health))
    return tuple(f"{MARKS[seen.health]:>6}  {_words(seen)}" for seen in ranked)


def _words(seen: Observation) -> str:
    if seen.symptom is Symptom.PERMISSION:
        return _permission_words(seen)
    form = f"event: {ROLES[seen.kind]}" if seen.symptom is Symptom.ROLE else WORDS[seen.symptom]
    facts = {name: plain(str(value), limit=SENTENCE_LIMIT) for name, value in seen.facts.items()}
    return form.format(**facts)


def _permission_words(seen: Observation) -> str:
    words = f"permissions: {seen.kind}: write"
    if seen.health is Health.WRONG:
        return f"{words} is missing: {PERMISSIONS[seen.kind]}. Add it to the job's permissions"
    return (
        words
        if seen.health is Health.FINE
        else f"{words} is not known: {UNKNOWN.get(seen.kind, 'GitHub does not say')}"
    )
