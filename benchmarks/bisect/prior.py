"""The gain of the prior from executed code: culprits of a real Python repository, and searches for them.

    python benchmarks/bisect/prior.py REPOSITORY SCRIPT --good REV --bad REV --package src/attr

SCRIPT uses the package. Its bytecodes are counted at commits of the main line, more densely where the count changes. A
commit that changes it by 1% or more is a culprit. It is searched in a window of 64 candidates around it.
It prints which code, executed by the window's ends, culprits and other candidates change. It prints a culprit's cost in
bits, without and with the prior. Then follow executions of searches for +10% at its place and at places of low prior.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, repeat
from math import log, log1p, log2
from pathlib import Path
from statistics import fmean

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.bisect.machine import NOISES, Machine, levels_of, play, stream
from perf_culprit import git
from perf_culprit.dispatch.commit_range import change_facts, find_candidates
from perf_culprit.explain.tracer.traced_command import executed_functions
from perf_culprit.model.bisection import ChangeFacts, CommitRange, SearchSettings
from perf_culprit.model.minimum_effect import DEFAULTS, DataKind
from perf_culprit.search.prior import prior_by_commit
from perf_culprit.search.search import Search

WINDOW = 64
ANCHOR = 8  # every eighth commit is counted in any case
COUNTS = "counts"
LEAST, CULPRIT = 0.006, 0.01
COUNTING = """
import sys
source = compile(open(sys.argv[1]).read(), sys.argv[1], "exec")
exec(source, {})
count = 0
def each(frame, event, argument):
    global count
    count += event == "opcode"
    return each
def enter(frame, event, argument):
    frame.f_trace_opcodes, frame.f_trace_lines = True, False
    return each
sys.settrace(enter)
exec(source, {})
sys.settrace(None)
print(count)
"""


class Program:
    """The script on commits of the main line, the good end first; commits with the same package are counted once."""

    def __init__(self, repository: Path, script: Path, folder: Path, *, good: str, bad: str, package: str) -> None:
        self._script, self._folder, self._package = script.resolve(), folder, package
        self.repository = folder / "repository"
        subprocess.run(["git", "clone", "--quiet", "--no-checkout", str(repository), str(self.repository)], check=True)
        ends = (git.resolve_commit(repository, end) for end in (good, bad))
        line = find_candidates(self.repository, good=next(ends), bad=next(ends), first_parent=True).commit_range
        self.commits = (line.good, *line.commits)
        self._trees = git.tree_names(self.repository, self.commits, package.strip("./"))
        self._counts: dict[str | None, float | None] = {None: None}

    def count(self, place: int) -> float | None:
        tree = self._trees[place]
        if tree not in self._counts:
            done = self._run(self.commits[place], ["-c", COUNTING, str(self._script)], {})
            self._counts[tree] = float(done.stdout.split()[-1]) if done.returncode == 0 else None
        return self._counts[tree]

    def executed(self, commit: str) -> frozenset[tuple[str, str]]:
        def execute(variables: Mapping[str, str]) -> None:
            self._run(commit, [str(self._script)], variables)

        return executed_functions(execute, root=self._folder / commit)

    def _run(
        self, commit: str, words: Sequence[str], variables: Mapping[str, str]
    ) -> "subprocess.CompletedProcess[str]":
        folder = self._folder / commit
        if not folder.exists():
            git.add_worktree(self.repository, folder, commit)
        path = ":".join(filter(None, (variables.get("PYTHONPATH"), str((folder / self._package).parent))))
        own = {**os.environ, **variables, "PYTHONPATH": path, "PYTHONHASHSEED": "0"}
        command = [sys.executable, *words]
        return subprocess.run(command, cwd=folder, env=own, capture_output=True, text=True, check=False)


def culprits(program: Program) -> list[int]:
    """Return the places of commits that change the count by `CULPRIT` or more."""
    last = len(program.commits) - 1
    places = [place for place in sorted({*range(0, last, ANCHOR), last}) if program.count(place)]
    waiting, steps = [*pairwise(places)], list[int]()
    while waiting:
        low, high = waiting.pop()
        middle = (low + high) // 2
        change = abs(log((program.count(high) or 1) / (program.count(low) or 1)))
        if change >= CULPRIT and high - low == 1:
            steps.append(high)
        elif change >= LEAST and low < middle and program.count(middle):
            waiting += [(low, middle), (middle, high)]
    return sorted(steps)


def kind(facts: ChangeFacts) -> str:
    """Return the kind of code that a candidate changes, according to the trace."""
    if facts.executed is None:
        return "unknown"
    if any(one.function for one in facts.executed):
        return "a function"
    return "outside functions" if facts.executed else "documents" if facts.only_documents else "nothing"


def played(window: CommitRange, place: int, prior: Mapping[str, float], *, noise: str, seed: int) -> tuple[int, bool]:
    """Return the executions of a search for +10% at `place`, and whether it names another commit."""
    generator = np.random.default_rng([seed, 5])
    values = repeat(0.0) if noise == COUNTS else stream(NOISES[noise], generator)
    effect = DEFAULTS[DataKind.COUNT if noise == COUNTS else DataKind.SEARCHED_TIME]
    machine = Machine(levels=levels_of(window, {place: log1p(0.1)}), noise=values)
    outcome = play(
        Search.start(window, settings=SearchSettings(seed=seed, minimum_effect=effect), prior=prior), machine
    )
    return outcome.executions, any(one.commit != window.commits[place] for one in outcome.culprits)


def window_of(program: Program, place: int) -> CommitRange:
    """Return a window of candidates that has the culprit at a random position."""
    last = len(program.commits) - 1
    low = max(0, min(place - 1 - random.Random(place).randrange(WINDOW), last - WINDOW))
    good, bad = program.commits[low], program.commits[min(low + WINDOW, last)]
    return find_candidates(program.repository, good=good, bad=bad, first_parent=True).commit_range


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("script", type=Path)
    parser.add_argument("--good", required=True)
    parser.add_argument("--bad", required=True)
    parser.add_argument("--package", required=True, help="such as src/attr")
    parser.add_argument("--searches", type=int, default=2, help="of each window, noise and kind")
    given = parser.parse_args()
    kinds = {"culprits": Counter[str](), "others": Counter[str]()}
    bits: dict[str, list[float]] = {"without": [], "with": []}
    costs: dict[tuple[str, str, str], list[int]] = {}
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        program = Program(
            given.repository, given.script, Path(folder), good=given.good, bad=given.bad, package=given.package
        )
        for culprit in culprits(program):
            window = window_of(program, culprit)
            executed = program.executed(window.good) | program.executed(window.bad)
            facts = change_facts(program.repository, window, executed)
            blind = {commit: replace(one, executed=None) for commit, one in facts.items()}
            priors = {"without": prior_by_commit(window, blind), "with": prior_by_commit(window, facts)}
            places = {"culprit": window.commits.index(program.commits[culprit])}
            for place, commit in enumerate(window.commits):
                kinds["culprits" if place == places["culprit"] else "others"][kind(facts[commit])] += 1
                if place != places["culprit"]:
                    places.setdefault(kind(facts[commit]), place)
            for name, prior in priors.items():
                bits[name].append(-log2(prior[program.commits[culprit]]))
                for what, place in places.items():
                    for noise in (COUNTS, "3%"):
                        for seed in range(given.searches):
                            cost, is_wrong = played(window, place, prior, noise=noise, seed=seed)
                            costs.setdefault((what, noise, name), []).append(cost)
                            wrong += is_wrong
    for name, counter in kinds.items():
        print(
            f"{counter.total()} {name}: "
            + ", ".join(f"{what} {n / counter.total():.0%}" for what, n in counter.items())
        )
    print("bits of a culprit: " + ", ".join(f"{fmean(values):.2f} {name}" for name, values in bits.items()))
    for (what, noise, name), values in sorted(costs.items()):
        print(f"{what}, {noise}, {name}: {fmean(values):.1f} executions of {len(values)} searches")
    print(f"{wrong} wrong names")


if __name__ == "__main__":
    main()
