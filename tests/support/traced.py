"""Programs of `traced_programs` under the tracer, in an interpreter of choice."""

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.support.interpreters import newer_interpreter

ROOT = Path(__file__).resolve().parents[2] / "bot"
SUPPORT = Path(__file__).resolve().parent
SCRIPT = """
import sys
sys.path[:0] = [{support!r}, {root!r}]
import traced_programs
from perf_culprit.explain.tracer.call_paths import TracedScope
from perf_culprit.explain.tracer.trace_profile import encode_trace
from perf_culprit.explain.tracer.session import run_trace
trace = run_trace(
    getattr(traced_programs, sys.argv[1]), repetitions=3, scope=TracedScope({support!r}), service="s", minimum_share=0.0
)
sys.stdout.buffer.write(encode_trace(trace))
"""


class Seen(NamedTuple):
    calls: float
    elapsed_ms: float


def traced(program: str, *, newer: bool) -> dict[str, Seen]:
    """Return calls and median time by path, for example `main/parse`, without the module's name."""
    command = [newer_interpreter() if newer else sys.executable, "-I", "-c"]
    script = SCRIPT.format(support=str(SUPPORT), root=str(ROOT))
    output = subprocess.run([*command, script, program], capture_output=True, check=True).stdout
    paths: list[str] = []
    seen: dict[str, Seen] = {}
    for node in json.loads(output)["nodes"]:
        name = node["method"].removeprefix("traced_programs.")
        paths.append(f"{paths[node['parent']]}/{name}" if "parent" in node else name)
        seen[paths[-1]] = Seen(node["calls"], sorted(node["elapsed"])[1])
    return seen
