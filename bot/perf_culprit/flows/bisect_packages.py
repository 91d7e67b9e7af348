"""Search the packages of lock files, where a commit is no explanation: good's files with part of bad's versions."""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from msgspec import structs

from perf_culprit import git
from perf_culprit.dispatch.local_bisection import DEFAULT_EXECUTIONS, BisectPlan, state_file
from perf_culprit.dispatch.package_chain import PackageChain, changed_locks, package_chain
from perf_culprit.errors import BotError
from perf_culprit.model.bisection import BisectionReport, OutcomeKind
from perf_culprit.model.count import is_exact_quantity, quantity_of
from perf_culprit.model.counted_metric import timed_quantity
from perf_culprit.model.reason import Argument, Reason, SearchReason, because
from perf_culprit.model.run import short_hash
from perf_culprit.progress import Say
from perf_culprit.say.bisection_words import reason_of

LEAST_EXECUTIONS: Final = 4  # that a search of packages can begin with
# Answers after which packages may explain the step.
UNEXPLAINED: Final = frozenset(
    {OutcomeKind.CULPRIT, OutcomeKind.SEVERAL_CULPRITS, OutcomeKind.SUSPECT_SET, OutcomeKind.DECAY}
)
# Answers that missing packages may explain.
ENDS_ALIKE: Final = frozenset({OutcomeKind.NOT_REPRODUCED, OutcomeKind.INCONCLUSIVE})
_INSTALLS: Final = re.compile(r"\b(?:uvx?|npx)\b|\bnpm (?:ci|i|install)\b|\bpip3? install\b")  # in a run command


def with_packages(
    plan: BisectPlan,
    report: BisectionReport,
    *,
    search: Callable[[BisectPlan], BisectionReport],
    say: Say,
    begun: float,
) -> BisectionReport:
    """Search the packages that differ, if no commit explains the step or a culprit updated several of them.

    `begun`: when the search of the commits began, by the monotonic clock.
    """
    outcome, repository = report.outcome, plan.options.repository
    ends = report.commit_range.good, report.commit_range.bad
    installs = plan.commands.build is not None or _INSTALLS.search(plan.commands.run) is not None
    if outcome.kind in ENDS_ALIKE and not installs and (locks := changed_locks(repository, *ends)):
        return noted(
            report, because(SearchReason.PACKAGES_NOT_INSTALLED, files=tuple(locks), install=min(locks.values()))
        )
    if plan.of_failures or outcome.kind not in UNEXPLAINED or not installs:
        return report
    budget = (plan.options.executions or DEFAULT_EXECUTIONS) - outcome.executions
    pairs = [
        (next(iter(git.parents(repository, culprit.commit)), ends[0]), culprit.commit) for culprit in outcome.culprits
    ]
    for good, bad in pairs or [ends]:
        chain = package_chain(repository, good, bad)
        is_one = bool(pairs) and (len(report.updates.get(bad, ())) == 1 if isinstance(chain, str) else chain.is_one)
        if not chain or is_one:  # the update of one package is the answer
            continue
        if isinstance(chain, str):
            report = noted(report, because(SearchReason.PACKAGES_NOT_SEARCHED, why=chain))
        elif budget >= LEAST_EXECUTIONS:
            say(f"{chain.packages} packages differ: the search goes over them, in the files of {short_hash(good)}")
            with_culprit = _of_packages(plan, report, good, chain, executions=budget, begun=begun)
            try:
                answer = search(with_culprit)
            except BotError as error:  # the commits' answer stands
                report = noted(report, because(SearchReason.PACKAGES_NOT_SEARCHED, why=error.message))
                continue
            budget -= answer.outcome.executions
            report = noted(report, *_notes(answer, chain, short_hash(good)))
    return report


def noted(report: BisectionReport, *notes: Reason) -> BisectionReport:
    return replace(report, outcome=structs.replace(report.outcome, notes=(*report.outcome.notes, *notes)))


def _of_packages(
    plan: BisectPlan, report: BisectionReport, good: str, chain: PackageChain, *, executions: int, begun: float
) -> BisectPlan:
    """The search of the same quantity over the chain, in the time that is left."""
    key, options = report.key, plan.options
    count = quantity_of(key.metric, benchmark=key.benchmark) or timed_quantity(key)
    minutes = None if options.minutes is None else max(options.minutes - (time.monotonic() - begun) / 60, 0.0)
    of_packages = replace(plan, commands=replace(plan.commands, count=count), auto=None, profiling=None)
    return of_packages.with_options(
        good=good,
        bad=chain.last,
        prior="uniform",
        executions=executions,
        minutes=minutes,
        state=state_file(plan).with_suffix(".packages.json"),
        benchmark=key.benchmark,
        metric=key.metric,
        jobs=options.jobs if is_exact_quantity(count) else 1,
        first_parent=False,
        paths=(),
        resume=None,
        record=False,
        history_url=None,
    )


def _notes(answer: BisectionReport, chain: PackageChain, good: str) -> Iterator[Reason]:
    outcome, names = answer.outcome, answer.subjects
    facts: dict[str, Argument] = {"count": chain.packages, "executions": outcome.executions, "commit": good}
    for culprit in outcome.culprits:
        interval = culprit.confidence_interval
        change = {"change": culprit.relative_change, "low": interval.low, "high": interval.high}
        yield because(SearchReason.PACKAGE_CHANGED, package=names[culprit.commit], **change, **facts)
    if outcome.kind is OutcomeKind.NOT_REPRODUCED:
        yield because(SearchReason.PACKAGES_ALIKE, **facts)
    elif possible := tuple(names[suspect.commit] for suspect in outcome.suspects):
        yield because(SearchReason.PACKAGES_POSSIBLE, packages=possible, **facts)
    elif not outcome.culprits:
        yield because(SearchReason.PACKAGES_UNDECIDED, why=reason_of(answer).rstrip("."), **facts)
    if failed := next((commit for commit in answer.commit_range.commits if commit in outcome.skipped), None):
        yield because(SearchReason.PACKAGES_FAILED, package=names[failed], why=outcome.skipped[failed])
    if chain.left_out and not outcome.culprits:
        yield because(SearchReason.PACKAGES_NOT_SEARCHED, why=chain.left_out)
