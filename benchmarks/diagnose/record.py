"""Profiles of both revisions of every pair: a working tree per revision, each tool several times, sides in turns.

    python benchmarks/diagnose/record.py OUT --clones DIR [--only ID] [--runs 5] [--traced-python PYTHON]

DIR holds a clone per repository (`git clone https://github.com/OWNER/NAME DIR/OWNER+NAME`). The baseline is the fix,
the target its parent, so that the target is slower. `again` is the baseline once more: a pair in which nothing changed.
With a Python from 3.12 on that has what the workload imports, the level-by-level tracer runs as well, 20 s per side.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from bot.trace.budget import Budget
from bot.trace.command import trace_command
from bot.trace.profile import Trace, as_profile, descended_paths, down_to, encode_trace

HERE = Path(__file__).parent
PY_SPY_RATE = "200"
TRACE_BUDGET_S = 20.0
TRACE_REPETITIONS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--py-spy", default="py-spy")
    parser.add_argument("--only", action="append")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--traced-python")
    arguments = parser.parse_args()
    for pair in json.loads((HERE / "pairs.json").read_text()):
        if arguments.only is None or pair["id"] in arguments.only:
            record(pair, arguments)


def record(pair: dict[str, str], arguments: argparse.Namespace) -> None:
    clone = next(arguments.clones.glob(pair["repository"].replace("/", "+") + "*"))
    clone = clone / "repo" if (clone / "repo").is_dir() else clone
    out = arguments.out / pair["id"]
    out.mkdir(parents=True, exist_ok=True)
    sides = {"baseline": pair["fix"], "target": pair["fix"] + "~1"}
    for side, revision in sides.items():
        tree = out / side
        if not tree.is_dir():
            tree.mkdir()
            archive = subprocess.run(["git", "-C", clone, "archive", revision], check=True, capture_output=True)
            subprocess.run(["tar", "-x", "-C", tree], check=True, input=archive.stdout)
    workload = HERE / "workloads" / (pair["id"].replace("-", "_") + ".py")
    if arguments.traced_python:
        trace(pair, out, [arguments.traced_python, str(workload)])
        print(pair["id"], "traced", flush=True)
    for run in range(arguments.runs):
        for name, side in (("baseline", "baseline"), ("target", "target"), ("again", "baseline")):
            environment = os.environ | {"PYTHONPATH": str(out / side / pair["source"]), "PYTHONHASHSEED": "0"}
            cprofile = [sys.executable, "-m", "cProfile", "-o", out / f"cprofile-{name}-{run}.prof", workload]
            spy = [arguments.py_spy, "record", "-r", PY_SPY_RATE, "-f", "raw"]
            py_spy = [*spy, "-o", out / f"pyspy-{name}-{run}.txt", "--", sys.executable, workload]
            for command in (cprofile, py_spy):
                subprocess.run(command, check=True, env=environment, capture_output=True)
    print(pair["id"], "recorded", flush=True)


def trace(pair: dict[str, str], out: Path, command: Sequence[str]) -> None:
    """As `measure --trace` does: the later sides follow the paths of the first, and all end at one level."""
    traces: dict[str, Trace] = {}
    for name, side in (("baseline", "baseline"), ("target", "target"), ("again", "baseline")):
        source = str(out / side / pair["source"])

        def execute(variables: Mapping[str, str]) -> None:
            subprocess.run(command, check=True, env=os.environ | variables, capture_output=True)

        traces[name] = trace_command(
            execute,
            root=out / side,
            service="workload",
            repetitions=TRACE_REPETITIONS,
            python_path=source,
            at=pair.get("at"),
            follow=descended_paths(map(as_profile, traces.values())),
            budget=Budget(seconds=TRACE_BUDGET_S),
            is_sampled=next((one.is_sampled for one in traces.values()), None),
        )
    levels = min(one.levels for one in traces.values())
    is_partial = any(one.is_partial for one in traces.values())
    for name, one in traces.items():
        (out / f"tracer-{name}-0.json").write_bytes(encode_trace(down_to(one, levels) if is_partial else one))


if __name__ == "__main__":
    main()
