"""A larger budget for a search that stopped for lack of it."""

from typing import Final

from msgspec.structs import replace

from perf_culprit.model.bisection import OutcomeKind, Phase, SearchState

UNFINISHED: Final = frozenset({OutcomeKind.BUDGET_SPENT, OutcomeKind.INCONCLUSIVE})


def with_budget(state: SearchState, executions: int) -> SearchState:
    """Return the search with a larger budget; if it had stopped for the smaller one, it resumes with all its data.

    It restarts at the reproduction, which all the data pass at once if the change was reproduced before.
    """
    if executions <= state.settings.budget_executions:
        return state
    state = replace(state, settings=replace(state.settings, budget_executions=executions))
    if state.outcome is None or state.outcome.kind not in UNFINISHED:
        return state
    return replace(state, phase=Phase.REPRODUCE, since=0, suspect=None, outcome=None)
