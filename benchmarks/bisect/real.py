"""The whole command: repositories of 64 commits with merges, a CPU-bound Python benchmark, this machine's noise.

    python benchmarks/bisect/real.py [--case "+15%"] [--runs 5] [--executions 400] [--json FILE]

Each run makes a new repository with its changes at other commits and searches it with `perf-culprit bisect`. `right`:
exactly the planted commits are named; if commits do not build, the suspects include the culprit. `wrong`: a commit
without a change is named. `other`: no name, or only some of the planted. The noise is that of the search itself.
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
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

COMMITS = 64
SIZE = 300_000
FLAKY_SHARE = 0.05  # of the executions of a flaky benchmark that fail
BENCHMARK = """\
import os
import sys
import time

if {flaky} and os.urandom(1)[0] < {flaky} * 256:
    sys.exit("lost its connection")


def work():
    started = time.process_time()
    total = 0
    for number in range({size}):
        total += number * number % 7
    return time.process_time() - started


work()
print(work())
"""
IDENTITY = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """`changes`: relative changes at random commits, in this order; `unbuildable`: share of commits without a build."""

    changes: tuple[float, ...] = ()
    unbuildable: float = 0.0
    flaky: float = 0.0


CASES: Mapping[str, Case] = {
    "+5%": Case(changes=(0.05,)),
    "+10%": Case(changes=(0.10,)),
    "+15%": Case(changes=(0.15,)),
    "+30%": Case(changes=(0.30,)),
    "nothing": Case(),
    "two culprits, +15% and +20%": Case(changes=(0.15, 0.20)),
    "-15%, then +35%": Case(changes=(-0.15, 0.35)),
    "unbuildable commits, +15%": Case(changes=(0.15,), unbuildable=0.15),
    "flaky benchmark, +15%": Case(changes=(0.15,), flaky=FLAKY_SHARE),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """One run. `verdict`: right, wrong or other; `outcome` is the search's own outcome."""

    case: str
    verdict: str
    outcome: str
    executions: int
    minutes: float
    noise: Mapping[str, Any] | None = field(default=None)


@dataclass
class Repository:
    """A main line with merged side branches of three commits: every fifth commit of the main line forks one."""

    folder: Path
    commits: dict[str, str] = field(default_factory=dict)  # name -> hash, the oldest first
    parents: dict[str, list[str]] = field(default_factory=dict)

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.folder), *arguments],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, **IDENTITY},
        )
        return done.stdout.strip()

    def commit(self, name: str, parents: Sequence[str], files: Mapping[str, str]) -> None:
        for path, text in {**files, "name": name}.items():
            (self.folder / path).write_text(text)
        self.git("add", "--all")
        options = [word for parent in parents for word in ("-p", self.commits[parent])]
        self.commits[name] = self.git("commit-tree", self.git("write-tree"), *options, "-m", f"commit {name}")
        self.parents[name] = list(parents)


def history(commits: int) -> dict[str, list[str]]:
    """Return names with their parents: `commits` candidates after c0, a third of them on side branches."""
    parents: dict[str, list[str]] = {"c0": []}
    head = "c0"
    while len(parents) <= commits:
        if len(parents) % 10 == 5 and len(parents) + 6 <= commits:
            sides = []
            for side in "ab":
                tip = head
                for _ in range(2):
                    name = f"c{len(parents)}{side}"
                    parents[name] = [tip]
                    tip = name
                sides.append(tip)
            name = f"c{len(parents)}m"
            parents[name] = sides
        else:
            name = f"c{len(parents)}"
            parents[name] = [head]
        head = name
    return parents


def build_repository(folder: Path, case: Case, chosen: random.Random) -> tuple[Repository, list[str]]:
    """Make the repository, with its last commit checked out; return it and the names of the planted commits."""
    folder.mkdir()
    repository = Repository(folder=folder)
    repository.git("init", "--quiet", "--initial-branch=main")
    parents = history(COMMITS)
    names = list(parents)
    planted = sorted(chosen.sample(range(1, len(names)), len(case.changes)))
    if len(planted) > 1:
        # On the main line and apart: every later step multiplies the earlier ones.
        main_line = [place for place, name in enumerate(names) if place and name[-1] not in "ab"]
        third = len(main_line) // len(planted)
        planted = [chosen.choice(main_line[part * third : (part + 1) * third]) for part in range(len(planted))]
    changes = {names[place]: change for place, change in zip(planted, case.changes, strict=True)}
    held: dict[str, set[str]] = {}
    for name in names:
        held[name] = ({name} & set(changes)).union(*(held[parent] for parent in parents[name]))
        factor = 1.0
        for culprit in held[name]:
            factor *= 1 + changes[culprit]
        broken = name not in (names[0], names[-1]) and chosen.random() < case.unbuildable
        files = {
            "bench.py": BENCHMARK.format(size=round(SIZE * factor), flaky=case.flaky),
            "buildable": "no" if broken else "yes",
        }
        repository.commit(name, parents[name], files)
    repository.git("reset", "--quiet", "--hard", repository.commits[names[-1]])
    return repository, list(changes)


def search(repository: Repository, *, seed: int, executions: int) -> dict[str, Any]:
    answer = repository.folder.parent / "answer.json"
    ends = [repository.commits[name] for name in (next(iter(repository.commits)), next(reversed(repository.commits)))]
    argv = [
        sys.executable,
        "-m",
        "perf_culprit",
        "bisect",
        "--repo",
        str(repository.folder),
        "--good",
        ends[0],
        "--bad",
        ends[1],
    ]
    options = ["--run", f"{sys.executable} bench.py", "--build", "grep -q yes buildable", "--prior", "uniform"]
    budget = ["--seed", str(seed), "--executions", str(executions), "--json", str(answer)]
    done = subprocess.run([*argv, *options, *budget], check=False, capture_output=True, text=True)
    if not answer.exists():
        # A flaky benchmark may fail at the first try of an end: that is a valid outcome.
        print(done.stderr, file=sys.stderr)
        return {"outcome": "error", "culprits": [], "suspects": [], "executions": 0}
    loaded: dict[str, Any] = json.loads(answer.read_text())
    return loaded


def verdict(answer: Mapping[str, Any], planted: Sequence[str], *, sets_count: bool) -> str:
    named = {entry["commit"] for entry in answer["culprits"]}
    suspects = {entry["commit"] for entry in answer["suspects"]} if answer["outcome"] == "suspect_set" else set()
    if named - set(planted):
        return "wrong"
    if answer["outcome"] == "error":
        return "other"
    if named == set(planted) and not suspects:
        return "right"
    if sets_count and suspects:
        return "right" if set(planted) <= suspects | named else "wrong"
    return "other"


def trial(name: str, number: int, *, executions: int) -> Trial:
    case = CASES[name]
    chosen = random.Random(f"{name} {number}")
    with tempfile.TemporaryDirectory() as folder:
        repository, planted = build_repository(Path(folder) / "repository", case, chosen)
        started = time.monotonic()
        answer = search(repository, seed=number, executions=executions)
        minutes = (time.monotonic() - started) / 60
    hashes = [repository.commits[culprit] for culprit in planted]
    return Trial(
        case=name,
        verdict=verdict(answer, hashes, sets_count=case.unbuildable > 0),
        outcome=answer["outcome"],
        executions=int(answer["executions"]),
        minutes=minutes,
        noise=answer.get("noise"),
    )


def row(name: str, trials: Sequence[Trial]) -> str:
    verdicts = Counter(one.verdict for one in trials)
    counted = "  ".join(f"{verdicts[kind]:5}" for kind in ("right", "wrong", "other"))
    others = Counter(one.outcome for one in trials if one.verdict == "other")
    text = ", ".join(f"{outcome} {count}" for outcome, count in others.items())
    executions, minutes = fmean(one.executions for one in trials), fmean(one.minutes for one in trials)
    return f"{name:32} {counted} {executions:11.0f} {minutes:8.1f}  {noise(trials)}  {text}".rstrip()


def noise(trials: Sequence[Trial]) -> str:
    """Return the means of the machine noise that the searches observed."""
    seen = [one.noise for one in trials if one.noise]

    def mean(key: str) -> str:
        values = [float(one[key]) for one in seen if one.get(key) is not None]
        return f"{fmean(values):5.2f}" if values else "    -"

    return f"{mean('standard_deviation')}  {mean('autocorrelation')}  {mean('mode_ratio')}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", choices=list(CASES), action="append", help="default: all of them")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--executions", type=int, default=400)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    print(f"{COMMITS} commits, {arguments.runs} runs per case, at most {arguments.executions} executions")
    print(f"{'case':32} right  wrong  other  executions  minutes     sd    lag  modes")
    trials: list[Trial] = []
    for name in arguments.case or CASES:
        own = []
        for number in range(arguments.runs):
            own.append(trial(name, number, executions=arguments.executions))
            print(f"  run {number + 1}: {own[-1].verdict} ({own[-1].outcome}), {own[-1].executions}", file=sys.stderr)
        trials += own
        print(row(name, own), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(one) for one in trials], indent=1) + "\n")


if __name__ == "__main__":
    main()
