"""More budget for a search that stopped without enough."""

from typing import Final

from msgspec.structs import replace

from perf_culprit.model.bisection import OutcomeKind, Phase, SearchState

UNFINISHED: Final = frozenset({OutcomeKind.BUDGET_SPENT, OutcomeKind.INCONCLUSIVE})


def with_budget(state: SearchState, executions: int) -> SearchState:
    """The search with a larger budget; where it had stopped for the smaller one it resumes, with all its data.

    It takes up the reproduction again, which all the data pass at once where the change was reproduced before.
    """
    if executions <= state.settings.budget_executions:
        return state
    state = replace(state, settings=replace(state.settings, budget_executions=executions))
    if state.outcome is None or state.outcome.kind not in UNFINISHED:
        return state
    return replace(state, phase=Phase.REPRODUCE, since=0, suspect=None, outcome=None)
