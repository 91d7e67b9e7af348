"""A regression with compared call trees, with realistic numbers or with hostile names everywhere."""

import numpy as np
from msgspec.structs import replace

from perf_culprit.explain.compare_trees import compare_profiles
from perf_culprit.model.call_tree import ChangeKind, Touched, TouchedFunction
from perf_culprit.model.notable_calls import shown_suspects
from perf_culprit.model.report import Report, TreeComparison
from tests.support.compared_trees import Tree
from tests.support.reports import BASE_COMMIT, HEAD_COMMIT, every_conclusion

SUBJECT = "Compile each pattern where it is used"

COMPILE = "parse>Parser.tokenize>compile_regex"
BEFORE = {
    "parse": 0.4,
    "parse>Parser.tokenize": 4.0,
    COMPILE: 0.02,
    "parse>build_ast": 6.0,
    "parse>build_ast>Node.__init__": 1.0,
}
CALLS = {"parse>build_ast>Node.__init__": 40.0}


def diagnosis(names: dict[str, str] | None = None) -> TreeComparison:
    """Two services: `tokenize` compiles a pattern 240 times instead of once. `names` replaces methods and services."""

    def named(path: str) -> str:
        return ">".join((names or {}).get(name, name) for name in path.split(">"))

    rng = np.random.default_rng(5)
    sides = []
    for count in (1.0, 240.0):
        own = {named(path): time for path, time in BEFORE.items()}
        calls = {named(path): number for path, number in (CALLS | {COMPILE: count}).items()}
        checkout = {"checkout": 3.0} | {f"checkout>{path}": time / 2 for path, time in own.items()}
        checkout_calls = {f"checkout>{path}": number for path, number in calls.items()}
        sides.append(
            [
                Tree(own=own, calls=calls, service=(names or {}).get("search", "search")).profile(rng),
                Tree(own=checkout, calls=checkout_calls, service="checkout").profile(rng),
            ]
        )
    function = TouchedFunction(
        path="src/parser.py", qualified_name="Parser.tokenize", kind=ChangeKind.CHANGED, first_line=41, last_line=67
    )
    touched = Touched(base=BASE_COMMIT, head=HEAD_COMMIT, functions=(function,))
    return replace(
        compare_profiles(sides[0], sides[1], touched=touched),
        commit=HEAD_COMMIT,
        subject=SUBJECT,
        author="Ada Lovelace",
    )


def diagnosed(comparison: TreeComparison | None = None) -> Report:
    return replace(every_conclusion()["regression-fails"], diagnosis=comparison or diagnosis())


def with_suspects(comparison: TreeComparison, count: int) -> TreeComparison:
    """Return the comparison with this number of suspects, all like the first one."""
    first = shown_suspects(comparison)[0]
    return replace(comparison, suspects=tuple(replace(first, method=f"{first.method}{i}") for i in range(count)))
