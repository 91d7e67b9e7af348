"""Searches by counts on real repositories: every commit of a range is counted once, then searched from many ends.

    python benchmarks/bisect/counts.py REPOSITORY --good REV --bad REV --run CMD [--build CMD] [--metric NAME]

First the user's way: one `perf-culprit bisect` on the whole range. Then each commit is built and counted with valgrind,
which gives the truth. Searches of random ranges of at most --size candidates are played on those numbers. `right`: one
named commit has the range's largest change, and all have at least a fifth of it, in the stated direction. Both sides of
a merge may have made the same change. A merge's change is the one against its nearest parent.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from perf_culprit.git.diffs import parents_text
from perf_culprit.git.revisions import resolve_commit
from perf_culprit.measure.processes import Log
from perf_culprit.measure.runner import Commands, ExecutionError
from perf_culprit.measure.workplace import open_workplace
from perf_culprit.model.bisection import CommitRange, Failure, FailureKind, OutcomeKind, SearchSettings
from perf_culprit.model.count import Count
from perf_culprit.model.minimum_effect import DEFAULTS, DataKind
from perf_culprit.read.results.collect import collect
from perf_culprit.search.candidate_graph import cut_range, parse_parents
from perf_culprit.search.search import Search

LEAST_CANDIDATES = 16
NEGLIGIBLE = 0.2


def count_all(repository: Path, commits: Sequence[str], commands: Commands) -> dict[str, float]:
    """Return the count of every commit that builds and runs."""
    counts: dict[str, float] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        Log(Path(folder) / "log.txt") as log,
        open_workplace(repository, commands=commands, read=lambda path: collect([str(path)]), log=log) as workplace,
    ):
        for commit in commits:
            try:
                workplace.warm_up(commit)
                counts[commit] = workplace.execute(commit)[1].benchmarks[0].value
            except ExecutionError as error:
                print(f"  {commit[:7]} {error.message[:100]}", file=sys.stderr)
    return counts


def changes(commit_range: CommitRange, counts: Mapping[str, float]) -> dict[str, float]:
    """Return the log change of each measured commit against the nearest of its measured parents."""
    results = {}
    for commit, parents in zip(commit_range.commits, commit_range.parents, strict=True):
        names = [commit_range.commits[parent] for parent in parents] or [commit_range.good]
        steps = [float(np.log(counts[commit] / counts[name])) for name in names if {commit, name} <= set(counts)]
        if steps:
            results[commit] = min(steps, key=abs)
    return results


def played(commit_range: CommitRange, counts: Mapping[str, float], seed: int) -> tuple[str, int]:
    """Return the verdict on a search of the counted numbers, and its executions."""
    settings = SearchSettings(seed=seed, minimum_effect=DEFAULTS[DataKind.COUNT])
    search = Search.start(commit_range, settings=settings)
    executions = 0
    while (outcome := search.outcome()) is None:
        for job in search.propose():
            executions += len(job.commits)
            broken = {name: Failure(kind=FailureKind.BUILD) for name in job.commits if name not in counts}
            search.record(job.id, {name: [counts[name]] for name in job.commits if name in counts}, broken)
    true = changes(commit_range, counts)
    whole = abs(float(np.log(counts[commit_range.bad] / counts[commit_range.good])))
    if outcome.kind is OutcomeKind.NOT_REPRODUCED:
        return ("equal" if whole < np.log1p(DEFAULTS[DataKind.COUNT]) else "denied"), executions
    if not outcome.culprits:
        return "none", executions
    largest = max(true, key=lambda name: abs(true[name]))
    named = {step.commit: step for step in outcome.culprits}
    fits = all(
        abs(true.get(name, 0.0)) >= NEGLIGIBLE * abs(true[largest])
        and np.sign(true[name]) == np.sign(step.relative_change)
        and abs(np.expm1(true[name]) - step.relative_change) < 0.005
        for name, step in named.items()
    )
    as_large = any(abs(true.get(name, 0.0) - true[largest]) < np.log1p(DEFAULTS[DataKind.COUNT]) for name in named)
    return ("right" if fits and as_large else "part" if fits else "wrong"), executions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--good", required=True)
    parser.add_argument("--bad", required=True)
    parser.add_argument("--run", required=True)
    parser.add_argument("--build")
    parser.add_argument("--metric", type=Count, default=Count.INSTRUCTIONS)
    parser.add_argument("--searches", type=int, default=20)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--counts", type=Path, help="counts of an earlier call; written where it does not exist")
    arguments = parser.parse_args()
    options = ["--good", arguments.good, "--bad", arguments.bad, "--run", arguments.run]
    options += ["--build", arguments.build] if arguments.build else []
    command = [sys.executable, "-m", "perf_culprit", "bisect", "--repo", str(arguments.repository), *options]
    subprocess.run([*command, "--metric", arguments.metric], check=False, cwd=Path(__file__).parents[2])

    good, bad = (resolve_commit(arguments.repository, name) for name in (arguments.good, arguments.bad))
    graph = parse_parents(parents_text(arguments.repository, [good, bad]))
    whole = cut_range(graph, good=good, bad=bad)
    if arguments.counts is not None and arguments.counts.exists():
        counts = json.loads(arguments.counts.read_text())
    else:
        commands = Commands(run=arguments.run, build=arguments.build, count=arguments.metric)
        counts = count_all(arguments.repository, [good, *whole.commits], commands)
        if arguments.counts is not None:
            arguments.counts.write_text(json.dumps(counts))
    generator = np.random.default_rng(1)
    verdicts, costs, sizes = [], [], []
    measured = [commit for commit in (good, *whole.commits) if commit in counts]
    for seed in range(50 * arguments.searches):
        low, high = sorted(generator.choice(len(measured), 2, replace=False).tolist())
        try:
            own = cut_range(graph, good=measured[low], bad=measured[high])
        except Exception:  # noqa: BLE001, S112 - ends that are not in one line
            continue
        differ = abs(np.log(counts[own.bad] / counts[own.good])) > np.log1p(DEFAULTS[DataKind.COUNT])
        if own.merge_bases or not LEAST_CANDIDATES <= len(own.commits) <= arguments.size or not differ:
            continue
        verdict, executions = played(own, counts, seed)
        verdicts.append(verdict)
        costs.append(executions)
        sizes.append(len(own.commits))
        if len(verdicts) == arguments.searches:
            break
    kinds = ", ".join(f"{kind} {verdicts.count(kind)}" for kind in dict.fromkeys(verdicts))
    print(
        f"{len(counts)} of {len(whole.commits) + 1} commits counted; {len(verdicts)} searches of {min(sizes)} to "
        f"{max(sizes)} candidates: {kinds}; executions: median {statistics.median(costs):.0f}, at most {max(costs)}"
    )


if __name__ == "__main__":
    main()
