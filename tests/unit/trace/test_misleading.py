import json
import subprocess
import sys

import pytest

from tests.support.interpreters import newer_interpreter
from tests.support.traced import ROOT

ATTEMPTS = 4  # a busy machine only adds time, so the quickest over all attempts is the time


@pytest.mark.slow  # measures real time, several times over
@pytest.mark.parametrize("newer", [pytest.param(False, id="this Python"), pytest.param(True, id="3.12 or newer")])
def test_naive_instrumentation_misleads_and_levels_do_not(newer: bool) -> None:
    interpreter = newer_interpreter() if newer else sys.executable
    best: dict[str, dict[str, float]] = {}
    for _ in range(ATTEMPTS):
        script = ROOT / "benchmarks" / "trace" / "misleading.py"
        measured = json.loads(subprocess.run([interpreter, script, "--json"], capture_output=True, check=True).stdout)
        measured["truth"] = _quickest(measured["truth"], measured.pop("truth_after"))
        best = {tool: _quickest(times, best.get(tool, times)) for tool, times in measured.items()}
        if _distortion(best, "level_wise") <= 1.2:
            break
    truth, naive = best["truth"], best["naive"]
    assert truth["heavy"] > truth["chatty"]
    assert naive["chatty"] > naive["heavy"]
    assert naive["chatty"] >= 2 * truth["chatty"]
    assert _distortion(best, "level_wise") <= 1.2


def _quickest(one: dict[str, float], other: dict[str, float]) -> dict[str, float]:
    return {name: min(elapsed_ms, other[name]) for name, elapsed_ms in one.items()}


def _distortion(best: dict[str, dict[str, float]], tool: str) -> float:
    ratios = [best[tool][name] / best["truth"][name] for name in ("chatty", "heavy")]
    return max(max(ratio, 1 / ratio) for ratio in ratios)
