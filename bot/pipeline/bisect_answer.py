"""The report of a search on this machine, and the command line that repeats it."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bot import git
from bot.model.bisection import OutcomeKind, Sought
from bot.model.bisection_report import BisectionReport
from bot.pipeline.bisect_facts import Prior, commit_facts, web_address
from bot.pipeline.bisect_range import Candidates

if TYPE_CHECKING:
    from bot.codec.bisect_session import BisectSession
    from bot.pipeline.bisect import BisectPlan


def report_of(
    repository: Path, session: "BisectSession", candidates: Candidates, plan: "BisectPlan"
) -> BisectionReport:
    from bot.bisect.measured import measured_commits

    state = session.search
    if state.outcome is None:
        raise ValueError("the search has not ended")
    outcome = state.outcome
    if plan.commands.count is not None and outcome.kind is OutcomeKind.NOT_REPRODUCED:
        note = f"both ends count the same {plan.commands.count}; search without --metric for a change of times"
        outcome = replace(outcome, notes=(*outcome.notes, note))
    return BisectionReport(
        outcome=outcome,
        commit_range=state.commit_range,
        settings=state.settings,
        key=session.key,
        metric=session.metric,
        measured=measured_commits(state),
        subjects=candidates.subjects,
        facts={culprit.commit: commit_facts(repository, culprit.commit) for culprit in outcome.culprits},
        repository_url=web_address(git.default_remote_url(repository)),
        command=_command(session, plan),
    )


def _command(session: "BisectSession", plan: "BisectPlan") -> str:
    state = session.search
    options = {
        "--good": state.commit_range.good,
        "--bad": state.commit_range.bad,
        "--run": plan.commands.run,
        "--build": plan.commands.build,
        "--benchmark": None if plan.commands.count is not None else session.key.benchmark,
        "--metric": session.key.metric,
        "--direction": None if plan.sought is Sought.ANY else plan.sought.value,
        "--engine": state.settings.engine.value,
        "--prior": None if plan.prior is Prior.CHANGES else plan.prior.value,
        "--seed": str(state.settings.seed),
        "--executions": str(state.settings.budget_executions),
        "--tool": None if plan.tool == "auto" else plan.tool,
    }
    words = ["perf-culprit", "bisect"]
    for name, value in options.items():
        words += [] if value is None else [name, value]
    words += ["--first-parent"] if plan.first_parent else []
    words += ["--paths", *plan.paths] if plan.paths else []
    return shlex.join(words)
