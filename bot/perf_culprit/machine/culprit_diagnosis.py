"""The effect of a named commit on the program: it and its parent, traced or profiled on this machine and compared."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from perf_culprit.errors import BotError
from perf_culprit.explain.changed_code import is_document_or_test, touched_by_commit
from perf_culprit.explain.compare_trees import compare_profiles
from perf_culprit.explain.counted_functions import costly_functions
from perf_culprit.machine.this_machine import TracePlan
from perf_culprit.machine.trace_means import PROFILED, trace_revisions
from perf_culprit.measure.workplace import Workplace
from perf_culprit.model.bisection import CulpritDiagnosis
from perf_culprit.model.call_tree import Scope
from perf_culprit.model.count import Count, is_built
from perf_culprit.model.notable_calls import marked, notable_nodes
from perf_culprit.model.reason import Doubt, because
from perf_culprit.model.report import ServiceComparison, TreeComparison
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.progress import Say

PROFILE_BUDGET_S: Final = 30.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Profiling:
    """`command` writes a profile of any known format to $PERF_CULPRIT_OUTPUT; None for the best means at hand.

    `budget_s`: the time for each of the two commits, beyond two profiled executions. With 0 nothing is profiled.
    `tool`: the format of the benchmark's results.
    """

    command: str | None = None
    budget_s: float = PROFILE_BUDGET_S
    tool: str = "auto"


def diagnose_culprit(
    repository: Path, workplace: Workplace, commit: str, *, profiling: Profiling, say: Say, count: str | None = None
) -> CulpritDiagnosis:
    """Compare a commit with its first parent, by time, and by function if instructions were counted.

    Any failure is put into the diagnosis, so that the answer of a long search is never lost.
    """
    diagnosis = CulpritDiagnosis(commit=commit)
    try:
        touched = touched_by_commit(repository, commit)
        changed = tuple(
            one
            for one in touched.functions
            if one.changes_code and one.scope is Scope.FUNCTION and not is_document_or_test(one.path)
        )
        more = max(0, len(changed) - TEXT_LIMITS.diagnosed_functions)
        diagnosis = replace(diagnosis, changed=changed[: TEXT_LIMITS.diagnosed_functions], more=more)
        if touched.base is None:
            return replace(diagnosis, doubt=because(Doubt.NOT_PROFILED, why="it has no parent"))
        if count == Count.INSTRUCTIONS:
            say(f"count {commit[:12]} and its parent by function")
            counts = [workplace.count_functions(one) for one in (touched.base, commit)]
            diagnosis = replace(
                diagnosis, counted=costly_functions(*counts, touched=touched)[: TEXT_LIMITS.diagnosed_suspects]
            )
        if is_built(count):
            return diagnosis
        if not profiling.budget_s:
            return replace(diagnosis, doubt=because(Doubt.NOT_PROFILED, why="no time is allowed for it"))
        for one in (touched.base, commit):
            workplace.warm_up(one)
        say(f"profile {commit[:12]} and its parent: about {profiling.budget_s:.0f} s each, and two executions at least")
        with tempfile.TemporaryDirectory(prefix="perf-culprit-culprit-") as folder:
            traced = trace_revisions(
                profiling.command or workplace.commands.run,
                PROFILED if profiling.command else profiling.tool,
                workplace=workplace,
                commits={"parent": touched.base, "culprit": commit},
                plan=TracePlan(budget_s=profiling.budget_s),
                folder=Path(folder),
                say=say,
            )
            say(traced.line)
            sides = traced.profiles()
        comparison = _limit(replace(compare_profiles(*sides, touched=touched), commit=commit))
        slower = {
            (suspect.touched.file, suspect.touched.name)
            for suspect in comparison.suspects
            if suspect.touched is not None
        }
        changed = tuple(sorted(changed, key=lambda function: (function.path, function.qualified_name) not in slower))
        return replace(diagnosis, changed=changed[: TEXT_LIMITS.diagnosed_functions], comparison=comparison)
    except BotError as error:
        # Advice may name options of `measure --trace`, which do not apply here.
        own = profiling.command is None
        advice = "give a profiler's command (--profile, in workflows bisect.profile)" if own else error.next_step
        doubt = because(Doubt.NOT_PROFILED, why=error.message, next=advice)
    except Exception as error:  # noqa: BLE001 - see above
        doubt = because(Doubt.NOT_PROFILED, why=f"{type(error).__name__}: {error}"[:300])
    return replace(diagnosis, doubt=doubt)


def _limit(comparison: TreeComparison) -> TreeComparison:
    """Limit the comparison to what an answer shows."""
    marks = marked(comparison)
    return replace(
        comparison,
        services=tuple(_notable(service, marks) for service in comparison.services[: TEXT_LIMITS.diagnosed_services]),
        suspects=tuple(
            replace(
                suspect,
                path=suspect.path[-TEXT_LIMITS.diagnosed_names :],
                services=suspect.services[: TEXT_LIMITS.diagnosed_services],
            )
            for suspect in comparison.suspects
            if suspect.reasons
        )[: TEXT_LIMITS.diagnosed_suspects],
        impacted=comparison.impacted[: TEXT_LIMITS.diagnosed_services],
        added_methods=comparison.added_methods[: TEXT_LIMITS.diagnosed_names],
        removed_methods=comparison.removed_methods[: TEXT_LIMITS.diagnosed_names],
        added_services=comparison.added_services[: TEXT_LIMITS.diagnosed_services],
        removed_services=comparison.removed_services[: TEXT_LIMITS.diagnosed_services],
        touched_methods=dict([*comparison.touched_methods.items()][: TEXT_LIMITS.diagnosed_names]),
        notes=comparison.notes[: TEXT_LIMITS.diagnosed_services],
    )


def _notable(service: ServiceComparison, marks: Mapping[str, int]) -> ServiceComparison:
    callers = notable_nodes(service, marks)
    places: dict[int | None, int | None] = {None: None, **{i: place for place, i in enumerate(callers)}}
    nodes = tuple(replace(service.nodes[i], parent=places[caller]) for i, caller in callers.items())
    return replace(service, nodes=nodes, hidden_nodes=service.hidden_nodes + len(service.nodes) - len(nodes))
