"""Profiles of both revisions of every pair: a working tree per revision, each tool several times, sides in turns.

    python benchmarks/diagnose/record.py OUT --clones DIR [--only ID] [--runs 5] [--traced-python PYTHON]

DIR holds a clone per repository (`git clone https://github.com/OWNER/NAME DIR/OWNER+NAME`). The baseline is the fix,
the target its parent, so that the target is slower. `again` is the baseline once more: a pair in which nothing changed.
A workload runs as often in a process as the slower side needs to take WORKLOAD_S of processor time. With a Python
from 3.12 on that has what the workload imports, our tracer runs as well, as `measure --trace` does.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from perf_culprit.explain.tracer.trace_levels import Budget
from perf_culprit.explain.tracer.trace_profile import encode_trace
from perf_culprit.explain.tracer.traced_command import trace_command

HERE = Path(__file__).parent
PY_SPY_RATE = "200"
WORKLOAD_S = 2.0
MOST_TIMES = 20
TRACE_BUDGET_S = 30.0
TRACE_REPETITIONS = 10
TOOLS = ("tracer", "pyspy", "cprofile")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--py-spy", default="py-spy")
    parser.add_argument("--only", action="append")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--traced-python")
    parser.add_argument("--tool", choices=TOOLS, action="append")
    parser.add_argument("--half", choices=("tune", "report", "new"), action="append")
    arguments = parser.parse_args()
    for pair in json.loads((HERE / "pairs.json").read_text()):
        if (arguments.only and pair["id"] not in arguments.only) or (
            arguments.half and pair["half"] not in arguments.half
        ):
            continue
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
    tools = arguments.tool or TOOLS
    workload = HERE / "workloads" / (pair["id"].replace("-", "_") + ".py")
    script = [
        str(HERE / "repeat.py"),
        str(times(workload, _environment(out / "target" / pair["source"]))),
        str(workload),
    ]
    if arguments.traced_python and "tracer" in tools:
        trace(pair, out, [arguments.traced_python, *script])
        print(pair["id"], "traced", flush=True)
    for run in range(arguments.runs):
        for name, side in (("baseline", "baseline"), ("target", "target"), ("again", "baseline")):
            spy = [arguments.py_spy, "record", "-r", PY_SPY_RATE, "-f", "raw", "-o", out / f"pyspy-{name}-{run}.txt"]
            commands = {
                "cprofile": [sys.executable, "-m", "cProfile", "-o", out / f"cprofile-{name}-{run}.prof", *script],
                "pyspy": [*spy, "--", sys.executable, *script],
            }
            for tool in set(tools) & commands.keys():
                environment = _environment(out / side / pair["source"])
                subprocess.run(commands[tool], check=True, env=environment, capture_output=True)
    print(pair["id"], "recorded", flush=True)


def times(workload: Path, environment: Mapping[str, str]) -> int:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, workload], check=True, env=environment, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return max(1, min(MOST_TIMES, round(WORKLOAD_S / took_s)))


def _execute(command: Sequence[str], environment: Mapping[str, str], variables: Mapping[str, str]) -> None:
    subprocess.run(command, check=True, env={**environment, **variables}, capture_output=True)


def _environment(source: Path) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(source), "PYTHONHASHSEED": "0"}


def trace(pair: dict[str, str], out: Path, command: Sequence[str]) -> None:
    """Sampled, as `measure --trace` does with a command of this length."""
    for name, side in (("baseline", "baseline"), ("target", "target"), ("again", "baseline")):
        environment = _environment(out / side / pair["source"])
        one = trace_command(
            partial(_execute, command, environment),
            root=out / side,
            service="workload",
            repetitions=TRACE_REPETITIONS,
            python_path=environment["PYTHONPATH"],
            at=pair.get("at"),
            budget=Budget(seconds=TRACE_BUDGET_S),
            is_sampled=True,
        )
        (out / f"tracer-{name}-0.json").write_bytes(encode_trace(one))


if __name__ == "__main__":
    main()
