"""The controller of bisections in a job on GitHub: kept on the history branch, measured by the bisect workflow."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bot import git
from bot.config import Config
from bot.model.dispatch import Bisection, BisectionStep, Objection
from bot.pipeline.bisect_controller import Controller, no_objection

if TYPE_CHECKING:
    from bot.publish.host import Host


@contextmanager
def open_controller(
    host: "Host",
    *,
    config: Config,
    history: git.Remote,
    default_branch: str,
    report: Callable[[BisectionStep], None],
    objection: Callable[[Bisection], Objection | None] = no_objection,
) -> Iterator[Controller]:
    """`config` and `default_branch` (a name without refs/heads/) are the repository's own, never a pull request's."""
    from bot.history.bisections import open_bisections
    from bot.history.retention import Retention

    retention = Retention(raw_runs=config.history.raw_runs, branch_bytes=config.history.size_limit)
    with open_bisections(history, branch=config.history.branch, retention=retention) as bisections:
        dispatcher = host.dispatcher(workflow=config.bisect.workflow, ref=default_branch)
        yield Controller(
            bisections=bisections, dispatcher=dispatcher, report=report, history=bisections, objection=objection
        )
