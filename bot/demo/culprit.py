"""The demo's search: which commit, method and services it was, and the pull request as if nobody had looked."""

from collections.abc import Callable
from pathlib import Path
from textwrap import indent

from bot import pipeline
from bot.config import Config
from bot.demo.repository import DemoRepository, checkout, run_program
from bot.dispatch.local import BisectPlan
from bot.history import open_history
from bot.measure import Commands
from bot.model.bisection import Sought
from bot.model.tree_comparison import TreeComparison

BENCHMARK = "tokenize"
# Whatever is known by then is the answer.
SEARCH_MINUTES = 0.4
# Pairs of processes, one of each side. Each logs one call of a service: calls of one process share the machine's state.
PAIRS = 12

Say = Callable[[str], None]


def find_culprit(
    repository: DemoRepository, *, commands: Commands, directory: Path, config: Config, say: Say
) -> str | None:
    """The commit that a search by executions names; None where this machine is too noisy to name one in time."""
    plan = BisectPlan(
        good=repository.main[-1],
        bad=repository.head,
        commands=commands,
        benchmark=BENCHMARK,
        sought=Sought.WORSE,
        minutes=SEARCH_MINUTES,
        state=directory / "bisection.json",
    )
    bisection = pipeline.bisect(repository.work, plan, config=config, say=lambda _: None)
    answer, *_ = pipeline.bisection_text(bisection).split("\nAgain: ")
    say(indent(answer.rstrip(), "      "))
    return next((culprit.commit for culprit in bisection.outcome.culprits), None)


def diagnose(repository: DemoRepository, *, culprit: str | None, directory: Path) -> TreeComparison:
    """What the services' logs say of the culprit beside its parent, or of the whole pull request."""
    before, after = (f"{culprit}^", culprit) if culprit else (repository.main[-1], repository.head)
    trees = [checkout(repository, one, directory / name) for one, name in ((before, "parent"), (after, "culprit"))]
    logs: list[list[str]] = [[], []]
    (directory / "logs").mkdir()
    for number in range(PAIRS):
        for side in (0, 1) if number % 2 else (1, 0):
            log = directory / "logs" / f"{trees[side].name}-{number}.log"
            logs[side].append(str(run_program(trees[side], "serve.py", log)))
    return pipeline.diagnose_revisions(
        pipeline.RevisionsPlan(
            baseline=logs[0],
            target=logs[1],
            pattern="labelled",
            repository=repository.work,
            commit=culprit,
            base=None if culprit else before,
            head=None if culprit else after,
        )
    )


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
