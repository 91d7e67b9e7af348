"""The whole verb on this machine: 64 commits, a CPU-bound Python benchmark, a planted step. Right, wrong, executions.

    python benchmarks/bisect/real.py [--runs 5] [--commits 64] [--step 0.15] [--executions 400]

Each run makes a new repository with the step at another commit and searches it with `perf-culprit bisect`.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

BENCHMARK = """\
import time

def work():
    started = time.process_time()
    total = 0
    for number in range({size}):
        total += number * number % 7
    return time.process_time() - started

work()
print(work())
"""
SIZE = 300_000
IDENTITY = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}


def build_repository(folder: Path, *, commits: int, culprit: int, step: float) -> list[str]:
    """The hashes from the oldest; the commit at `culprit` makes the loop longer by `step`."""
    folder.mkdir()
    run_git(folder, "init", "--quiet", "--initial-branch=main")
    hashes = []
    for number in range(commits + 1):
        size = round(SIZE * (1 + step)) if number >= culprit else SIZE
        (folder / "bench.py").write_text(BENCHMARK.format(size=size))
        (folder / "number").write_text(str(number))
        run_git(folder, "add", "--all")
        run_git(folder, "commit", "--quiet", "--message", f"commit {number}")
        hashes.append(run_git(folder, "rev-parse", "HEAD"))
    return hashes


def run_git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **IDENTITY},
    )
    return done.stdout.strip()


def search(folder: Path, hashes: list[str], *, seed: int, executions: int) -> dict[str, object]:
    answer = folder.parent / "answer.json"
    argv = [sys.executable, "-m", "bot", "bisect", "--repo", str(folder), "--good", hashes[0], "--bad", hashes[-1]]
    options = ["--run", f"{sys.executable} bench.py", "--seed", str(seed), "--executions", str(executions)]
    done = subprocess.run([*argv, *options, "--json", str(answer)], check=False, capture_output=True, text=True)
    if not answer.exists():
        raise SystemExit(done.stderr)
    loaded: dict[str, object] = json.loads(answer.read_text())
    return loaded


def verdict(answer: dict[str, object], culprit: str) -> str:
    named = [entry["commit"] for entry in answer["culprits"]]  # type: ignore[attr-defined] # a list of objects
    if not named:
        return f"no name ({answer['outcome']})"
    return "right" if named == [culprit] else "right and more" if culprit in named else "wrong"


def main() -> None:
    parser = argparse.ArgumentParser(description="How often `bisect` is right for real.")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--commits", type=int, default=64)
    parser.add_argument("--step", type=float, default=0.15)
    parser.add_argument("--executions", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    chosen = random.Random(arguments.seed)
    verdicts: Counter[str] = Counter()
    spent = []
    for number in range(arguments.runs):
        culprit = chosen.randint(1, arguments.commits)
        with tempfile.TemporaryDirectory() as folder:
            hashes = build_repository(
                Path(folder) / "repository", commits=arguments.commits, culprit=culprit, step=arguments.step
            )
            started = time.monotonic()
            answer = search(Path(folder) / "repository", hashes, seed=number, executions=arguments.executions)
            said = verdict(answer, hashes[culprit])
        verdicts[said] += 1
        spent.append(int(str(answer["executions"])))
        print(f"run {number + 1}: {said}, {spent[-1]} executions, {time.monotonic() - started:.0f} s", flush=True)
    share = ", ".join(f"{said} {count}/{arguments.runs}" for said, count in verdicts.most_common())
    print(
        f"{arguments.commits} commits, {100 * arguments.step:+.0f} %: {share}; "
        f"mean {sum(spent) / len(spent):.0f} executions"
    )


if __name__ == "__main__":
    main()
