"""The results of full instrumentation against those of the level-wise tracer, for a known program.

    python benchmarks/trace/misleading.py [--json]

`heavy` takes longer than `chatty`, which makes many tiny calls. Truth: each is called alone, without any tool.
Naive: the start and end of every call are recorded at once, as by a profiler that instruments everything.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter_ns
from types import FrameType

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[2] / "bot"))

from perf_culprit.explain.tracer.call_paths import TracedScope  # noqa: E402
from perf_culprit.explain.tracer.session import run_trace  # noqa: E402

REPETITIONS = 9
CALLS = 20_000
TURNS = 60_000


def tiny(number: int) -> int:
    return number + 1


def chatty() -> None:
    for number in range(CALLS):
        tiny(number)


def heavy() -> int:
    total = 0
    for number in range(TURNS):
        total += number * number
    return total


def countdown(levels: int) -> int:
    return 0 if levels == 0 else countdown(levels - 1)


def recursive() -> None:
    for _ in range(40):
        countdown(200)


def main() -> None:
    chatty()
    heavy()
    recursive()


WATCHED = (chatty, heavy, recursive, tiny, countdown)


def truth() -> dict[str, float]:
    alone: list[Callable[[], object]] = [chatty, heavy, recursive]
    # In turn, so that the machine's speed is the same for all.
    rows = [{function.__name__: _elapsed_ms(function) for function in alone} for _ in range(REPETITIONS)]
    return {name: min(row[name] for row in rows) for name in rows[0]}


def naive() -> dict[str, float]:
    """Return the fastest of the repetitions, as for the others."""
    rows = [_naive_once() for _ in range(REPETITIONS)]
    return {name: min(row[name] for row in rows) for name in rows[0]}


def _naive_once() -> dict[str, float]:
    names = {function.__code__: function.__name__ for function in WATCHED}
    sums: dict[str, float] = {}
    started: list[int] = []

    def hook(frame: FrameType, event: str, _argument: object) -> None:
        name = names.get(frame.f_code)
        if name is None:
            return
        if event == "call":
            started.append(perf_counter_ns())
        elif event == "return":
            sums[name] = sums.get(name, 0.0) + (perf_counter_ns() - started.pop()) / 1e6

    sys.setprofile(hook)
    try:
        main()
    finally:
        sys.setprofile(None)
    return sums


def level_wise() -> dict[str, float]:
    scope = TracedScope(str(HERE.parent))
    traced = run_trace(main, repetitions=REPETITIONS, scope=scope, service="main", minimum_share=0.0)
    return {node.method.name.rpartition(".")[2]: min(node.elapsed_ms) for node in traced.nodes}


def _elapsed_ms(function: Callable[[], object]) -> float:
    start = perf_counter_ns()
    function()
    return (perf_counter_ns() - start) / 1e6


def compared() -> dict[str, dict[str, float]]:
    for function in (chatty, heavy, recursive):
        function()
    return {"truth": truth(), "naive": naive(), "level_wise": level_wise()}


if __name__ == "__main__":
    result = compared()
    if "--json" in sys.argv:
        print(json.dumps(result))
    else:
        print(f"Python {sys.version.split()[0]}, ms, quickest of {REPETITIONS}")
        print(f"{'':12}{'alone':>10}{'naive':>18}{'level by level':>18}")
        for name, true_ms in result["truth"].items():
            shown = [(result[tool][name], result[tool][name] / true_ms) for tool in ("naive", "level_wise")]
            print(f"{name:12}{true_ms:10.2f}" + "".join(f"{ms:10.2f} x{factor:6.2f}" for ms, factor in shown))
