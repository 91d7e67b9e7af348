"""doctor: check what a GitHub job needs, which is its event, its token's permissions, its checkout and stored runs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from perf_culprit import git
from perf_culprit.config.settings import Config
from perf_culprit.errors import BotError, InfrastructureError, UsageError
from perf_culprit.flows.compared_commits import event_ends, merge_of
from perf_culprit.github.job_context import Context, connect_host, read_context
from perf_culprit.github.runner_files import value_at
from perf_culprit.model.maintenance import (
    NEEDED,
    SEARCH_PERMISSIONS,
    Grant,
    Health,
    Observation,
    Permission,
    Role,
    Symptom,
    protection_step,
)
from perf_culprit.say.maintenance_text import checkup_lines
from perf_culprit.store.opening import open_history

# Roles that measure or judge the checkout.
WITH_CHECKOUT: Final = (
    Role.RECORD,
    Role.OTHER_BRANCH,
    Role.PULL_REQUEST,
    Role.FORK,
    Role.QUEUE,
    Role.PRIVILEGED,
    Role.REFERENCE,
)
_ROLE_OF_EVENT: Final[Mapping[str, Role]] = {
    "pull_request": Role.PULL_REQUEST,
    "pull_request_target": Role.PRIVILEGED,
    "merge_group": Role.QUEUE,
    "workflow_run": Role.REPORT,
    "issue_comment": Role.COMMAND,
    "workflow_dispatch": Role.BISECT,
    "schedule": Role.REFERENCE,
}
HEALTH: Final[Mapping[Grant, Health]] = {
    Grant.HELD: Health.FINE,
    Grant.MISSING: Health.WRONG,
    Grant.UNKNOWN: Health.UNKNOWN,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Job:
    context: Context
    token: str
    repository: Path
    config: Config

    @property
    def default_branch(self) -> str:
        return self.context.default_branch or "main"

    @property
    def role(self) -> Role:
        if self.context.event_name == "push":
            is_default = self.context.ref == f"refs/heads/{self.default_branch}"
            return Role.RECORD if is_default else Role.OTHER_BRANCH
        role = _ROLE_OF_EVENT.get(self.context.event_name, Role.NONE)
        return Role.FORK if role is Role.PULL_REQUEST and self.context.is_fork else role

    @property
    def number(self) -> int | None:
        for place in ("pull_request", "issue"):
            if isinstance(number := value_at(self.context.event, place, "number"), int):
                return number
        return None


def checkup(*, environ: Mapping[str, str], repository: Path, config: Config) -> tuple[tuple[str, ...], bool]:
    """Return the observations of the job as text, and whether nothing is wrong with it."""
    observations = examine(environ=environ, repository=repository, config=config)
    is_well = all(observation.health not in (Health.WRONG, Health.UNSAFE) for observation in observations)
    return checkup_lines(observations), is_well


def examine(*, environ: Mapping[str, str], repository: Path, config: Config) -> tuple[Observation, ...]:
    """Examine the job in `environ`. Nothing is changed, neither on GitHub nor here."""
    elsewhere = "run it as a step of the job that does not work; here perf-culprit init --check reads the files"
    context = read_context(environ, elsewhere=elsewhere)
    job = _Job(context=context, token=environ.get("GITHUB_TOKEN", ""), repository=repository, config=config)
    role = job.role
    wrong = {Role.NONE: Health.WRONG, Role.PRIVILEGED: Health.UNSAFE}.get(role, Health.FINE)
    facts = {"event": context.event_name, "default": job.default_branch}
    observations = [Observation(symptom=Symptom.ROLE, kind=role, health=wrong, facts=facts)]
    needed = {
        *NEEDED[role],
        *(recording_permissions(config) if role in (Role.RECORD, Role.REPORT, Role.REFERENCE) else ()),
    }
    if needed:
        observations += _permissions(job, [permission for permission in Permission if permission in needed])
    if role in WITH_CHECKOUT:
        observations += _checkout(job)
        # If GitHub did not answer, do not read the history: git would retry for minutes.
        symptoms = {observation.symptom for observation in observations}
        if role is not Role.REFERENCE and Symptom.NO_ANSWER not in symptoms:
            observations += _history(job, environ)
    return tuple(observations)


def recording_permissions(config: Config) -> frozenset[Permission]:
    """Permissions that the configuration requires of a job that records, in addition to those of every such job."""
    issues = () if config.issues.when == "never" else (Permission.ISSUES,)
    return frozenset((*issues, *(SEARCH_PERMISSIONS if config.bisect.automatic else ())))


def _permissions(job: _Job, needed: Sequence[Permission]) -> Iterator[Observation]:
    if not job.token:
        yield Observation(symptom=Symptom.ANONYMOUS, health=Health.WRONG)
        return
    host = connect_host(job.context.destination(token=job.token, bot_login="github-actions[bot]"))
    try:
        for permission in needed:
            try:
                grant = host.may(permission, number=job.number, workflow=job.config.bisect.workflow)
            except InfrastructureError as error:
                if not (refusals := _check_protection(error.message)):
                    raise
                yield from refusals
                continue
            yield Observation(symptom=Symptom.PERMISSION, kind=permission, health=HEALTH[grant])
        if Permission.CONTENTS in needed and job.config.history.url is None:
            branch = job.config.history.branch
            if rules := host.refusing_rules(branch=branch):
                facts = {"branch": branch, "rules": ", ".join(rules)}
                yield Observation(symptom=Symptom.BRANCH_RULES, health=Health.WRONG, facts=facts)
    except InfrastructureError as error:
        facts = {"message": error.message, "next": error.next_step or ""}
        yield Observation(symptom=Symptom.NO_ANSWER, health=Health.WRONG, facts=facts)


def _check_protection(message: str) -> tuple[Observation, ...]:
    if (step := protection_step(message)) is None:
        return ()
    facts = {"message": message.rstrip(".\n "), "next": step}
    return (Observation(symptom=Symptom.PROTECTED, health=Health.WRONG, facts=facts),)


def refusal_lines(message: str) -> tuple[str, ...]:
    """Explain how to start a run that GitHub refused. `message` is GitHub's text on the run's page."""
    if not (observations := _check_protection(message)):
        raise UsageError(
            "this is no refusal by a workflow execution protection",
            place="--refusal",
            next_step="paste the whole line of the run's page, such as: Event 'workflow_dispatch' is not allowed to "
            "trigger Actions workflows; anything else is found by `perf-culprit doctor` as a step of the job",
        )
    return checkup_lines(observations)


def _checkout(job: _Job) -> Iterator[Observation]:
    """Check which commit is checked out, whether the clone is shallow, and whether it stores the token."""
    repository = job.repository
    try:
        commit = git.head_commit(repository)
    except BotError:
        yield Observation(symptom=Symptom.NO_CHECKOUT, health=Health.UNKNOWN)
        return
    if git.is_shallow(repository):
        yield Observation(symptom=Symptom.SHALLOW, health=Health.WRONG)
    head = value_at(job.context.event, "pull_request", "head", "sha")
    if isinstance(head, str) and commit != head:
        merge = merge_of(repository, revision=commit, head=head)
        facts = {"commit": commit[:7], "head": head[:7], "base": merge.base[:7] if merge else ""}
        symptom = Symptom.MERGE_CHECKOUT if merge else Symptom.OTHER_CHECKOUT
        yield Observation(symptom=symptom, health=Health.FINE if merge else Health.WRONG, facts=facts)
    try:
        git.run_git(repository, "config", "--includes", "--get-regexp", r"^http\..*\.extraheader$")
    except git.GitError:
        return
    yield Observation(symptom=Symptom.STORED_CREDENTIALS, health=Health.UNSAFE)


def _history(job: _Job, environ: Mapping[str, str]) -> Iterator[Observation]:
    """Check the stored runs. A comparison with them can fail only if the base has a run."""
    suite = job.config.suite
    facts: dict[str, str | int] = {"branch": job.config.history.shown, "suite": suite, "default": job.default_branch}
    try:
        with open_history(job.config.history, url=job.context.git_url, token=job.token or None) as history:
            stored = history.commits(suite)
    except BotError as error:
        facts |= {"message": error.message, "next": error.next_step or ""}
        yield Observation(symptom=Symptom.NO_ANSWER, health=Health.UNKNOWN, facts=facts)
        return
    if not stored:
        yield Observation(symptom=Symptom.NO_RUNS, health=Health.UNKNOWN, facts=facts)
        return
    facts |= {"runs": sum(stored.values()), "commits": len(stored)}
    yield Observation(symptom=Symptom.RUNS, facts=facts)
    try:
        base = event_ends(job.repository, environ).baseline
    except BotError:
        return
    symptom = Symptom.BASE_WITH_RUN if base in stored else Symptom.BASE_WITHOUT_RUN
    health = Health.FINE if base in stored else Health.UNKNOWN
    yield Observation(symptom=symptom, health=health, facts={**facts, "base": base[:7]})
