"""Profiles of both revisions of every pair: a working tree per revision, each tool several times, sides in turns.

    python benchmarks/diagnose/record.py OUT --clones DIR [--tools DIR] [--only ID] [--runs 5]

DIR holds a clone per repository (`git clone https://github.com/OWNER/NAME DIR/OWNER+NAME`). The baseline is the fix,
the target its parent, so that the target is slower. `again` is the baseline once more: a pair in which nothing changed.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
PY_SPY_RATE = "200"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--py-spy", default="py-spy")
    parser.add_argument("--only", action="append")
    parser.add_argument("--runs", type=int, default=5)
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
    for run in range(arguments.runs):
        for name, side in (("baseline", "baseline"), ("target", "target"), ("again", "baseline")):
            environment = os.environ | {"PYTHONPATH": str(out / side / pair["source"]), "PYTHONHASHSEED": "0"}
            cprofile = [sys.executable, "-m", "cProfile", "-o", out / f"cprofile-{name}-{run}.prof", workload]
            spy = [arguments.py_spy, "record", "-r", PY_SPY_RATE, "-f", "raw"]
            py_spy = [*spy, "-o", out / f"pyspy-{name}-{run}.txt", "--", sys.executable, workload]
            for command in (cprofile, py_spy):
                subprocess.run(command, check=True, env=environment, capture_output=True)
    print(pair["id"], "recorded", flush=True)


if __name__ == "__main__":
    main()
