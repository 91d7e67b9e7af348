"""measure -> trace, or a profiler of the user's -> diagnose: what a named commit did to the program."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from bot.diagnose.changed import is_document_or_test, touched_by_commit
from bot.diagnose.comparison import compare_profiles
from bot.diagnose.counted import costly_functions
from bot.diagnose.profiles import read_profiles
from bot.dispatch.machine import Say
from bot.dispatch.tracing import TracePlan, trace_commits
from bot.errors import BotError
from bot.measure import Workplace
from bot.model.bisection import Culprit, Outcome
from bot.model.bisection_report import CulpritDiagnosis
from bot.model.count import Count, is_built
from bot.model.profile import Profile
from bot.model.reason import Doubt, because
from bot.model.touched import Scope, Touched, TouchedFunction
from bot.model.tree_comparison import ServiceComparison, TreeComparison
from bot.report.mermaid import chosen
from bot.trace.profile import as_profile

PROFILE_BUDGET_S: Final = 30.0
# Of a profile command: five show noise (docs/diagnosis.md), fewer than two show none.
MOST_PROFILES: Final = 5
FEWEST_PROFILES: Final = 2
# An answer shows as much; the history branch keeps it.
SHOWN_FUNCTIONS: Final = 20
SHOWN_SERVICES: Final = 10
SHOWN_SUSPECTS: Final = 10
SHOWN_NAMES: Final = 30


@dataclass(frozen=True, kw_only=True, slots=True)
class Profiling:
    """`command` writes a profile of any known format to $PERF_CULPRIT_OUTPUT; None for our own tracer (Python).

    `budget_s`: for each of the two commits, beyond two profiled executions; 0: nothing is profiled.
    """

    command: str | None = None
    budget_s: float = PROFILE_BUDGET_S


def diagnose_culprit(
    repository: Path, workplace: Workplace, commit: str, *, profiling: Profiling, say: Say, count: str | None = None
) -> CulpritDiagnosis:
    """Beside its first parent, by time, and by function where instructions were counted.

    Whatever fails is in the diagnosis: the answer of a long search is never lost for it.
    """
    diagnosis = CulpritDiagnosis(commit=commit)
    try:
        touched = touched_by_commit(repository, commit)
        changed = _changed(touched)
        more = max(0, len(changed) - SHOWN_FUNCTIONS)
        diagnosis = replace(diagnosis, changed=changed[:SHOWN_FUNCTIONS], more=more)
        if touched.base is None:
            return replace(diagnosis, doubt=because(Doubt.NOT_PROFILED, why="it has no parent"))
        if count == Count.INSTRUCTIONS:
            say(f"count {commit[:12]} and its parent by function")
            counts = [workplace.count_functions(one) for one in (touched.base, commit)]
            diagnosis = replace(diagnosis, counted=costly_functions(*counts, touched=touched)[:SHOWN_SUSPECTS])
        if is_built(count):
            return diagnosis
        if not profiling.budget_s:
            return replace(diagnosis, doubt=because(Doubt.NOT_PROFILED, why="no time is allowed for it"))
        say(f"profile {commit[:12]} and its parent: about {profiling.budget_s:.0f} s each, and two executions at least")
        if profiling.command is None:
            plan = TracePlan(budget_s=profiling.budget_s)
            traces = trace_commits(workplace, {"parent": touched.base, "culprit": commit}, plan=plan, say=say)
            sides: list[Sequence[Profile]] = [[as_profile(trace)] for trace in traces.values()]
        else:
            sides = _by_command(workplace, (touched.base, commit), command=profiling.command, profiling=profiling)
        comparison = _shown(replace(compare_profiles(*sides, touched=touched), commit=commit))
        slower = {(one.touched.file, one.touched.name) for one in comparison.suspects if one.touched is not None}
        changed = tuple(sorted(changed, key=lambda one: (one.path, one.qualified_name) not in slower))
        return replace(diagnosis, changed=changed[:SHOWN_FUNCTIONS], comparison=comparison)
    except BotError as error:
        # What the tracer advises are options of `measure --trace`.
        own = profiling.command is None
        advice = "give a profiler's command (--profile, in workflows bisect.profile)" if own else error.next_step
        doubt = because(Doubt.NOT_PROFILED, why=error.message, next=advice)
    except Exception as error:  # noqa: BLE001 - see above
        doubt = because(Doubt.NOT_PROFILED, why=f"{type(error).__name__}: {error}"[:300])
    return replace(diagnosis, doubt=doubt)


def diagnosed_step(outcome: Outcome, count: str | None) -> Culprit | None:
    """The named commit that is diagnosed: the largest regression; counts show an improvement's functions as well."""
    regressions = [culprit for culprit in outcome.culprits if not culprit.improvement]
    steps = regressions or (outcome.culprits if count == Count.INSTRUCTIONS else ())
    return max(steps, key=lambda culprit: abs(culprit.relative_change), default=None)


def _by_command(
    workplace: Workplace, commits: Sequence[str], *, command: str, profiling: Profiling
) -> list[Sequence[Profile]]:
    """Profiles of each commit, in turns, so that both meet the same machine."""
    files: dict[str, list[str]] = {commit: [] for commit in commits}
    begun = time.monotonic()
    for number in range(MOST_PROFILES):
        spent = time.monotonic() - begun
        if number >= FEWEST_PROFILES and spent * (number + 1) / number > len(commits) * profiling.budget_s:
            break
        for commit in commits:
            files[commit].append(str(workplace.run(commit, command=command)))
    return [read_profiles(names, trusted=True).profiles for names in files.values()]


def _changed(touched: Touched) -> tuple[TouchedFunction, ...]:
    functions = (one for one in touched.functions if one.changes_code and one.scope is Scope.FUNCTION)
    return tuple(one for one in functions if not is_document_or_test(one.path))


def _shown(comparison: TreeComparison) -> TreeComparison:
    """What an answer shows of it."""
    return replace(
        comparison,
        services=tuple(map(_pictured, comparison.services[:SHOWN_SERVICES])),
        suspects=tuple(
            replace(one, path=one.path[-SHOWN_NAMES:], services=one.services[:SHOWN_SERVICES])
            for one in comparison.suspects
            if one.reasons
        )[:SHOWN_SUSPECTS],
        impacted=comparison.impacted[:SHOWN_SERVICES],
        added_methods=comparison.added_methods[:SHOWN_NAMES],
        removed_methods=comparison.removed_methods[:SHOWN_NAMES],
        added_services=comparison.added_services[:SHOWN_SERVICES],
        removed_services=comparison.removed_services[:SHOWN_SERVICES],
        notes=comparison.notes[:SHOWN_SERVICES],
    )


def _pictured(service: ServiceComparison) -> ServiceComparison:
    kept = chosen(service)
    places: dict[int | None, int | None] = {None: None, **{i: place for place, i in enumerate(kept)}}
    nodes = tuple(replace(service.nodes[i], parent=places[service.nodes[i].parent]) for i in kept)
    return replace(service, nodes=nodes, hidden_nodes=service.hidden_nodes + len(service.nodes) - len(nodes))
