"""The pull request as if nobody had looked at it and it was merged: runs of its commits join main's history."""

from pathlib import Path

from bot import pipeline
from bot.config import Config
from bot.demo.program import run_program
from bot.demo.repository import DemoRepository, checkout
from bot.history import open_history

# A level needs eight runs, and the slow commit is the third of five.
ROUNDS = 4
SAMPLES = "3"


def record_as_merged(repository: DemoRepository, directory: Path, *, config: Config) -> int:
    """How many runs: `ROUNDS` of each commit, in turn, so that no commit has the machine's good minutes to itself."""
    names = [f"branch-{number}" for number in range(1, len(repository.branch) + 1)]
    trees = [
        checkout(repository, commit, directory / name) for commit, name in zip(repository.branch, names, strict=True)
    ]
    runs = []
    for number in range(1, ROUNDS + 1):
        for commit, tree in zip(repository.branch, trees, strict=True):
            results = run_program(tree, "bench.py", directory / f"{tree.name}-{number}.json", SAMPLES)
            runs.append(pipeline.collect_run([str(results)], config=config, commit=commit))
    with open_history(config.history, url=str(repository.remote)) as history:
        history.append_all(runs)
    return len(runs)
