"""An automatic search, killed before or after each of its writes: the answer is the same, only later."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import requests
from msgspec.structs import replace

from perf_culprit.action.jobs.culprit_issues import report_search
from perf_culprit.action.jobs.notices import Notices
from perf_culprit.config.database_url import parse_database
from perf_culprit.config.settings import Config
from perf_culprit.dispatch.automatic import automatic_searches, tend_searches
from perf_culprit.dispatch.controller import Controller
from perf_culprit.dispatch.workflow_dispatcher import Workflow
from perf_culprit.model.dispatch import Bisection
from perf_culprit.store.opening import open_sql, prepare_database
from perf_culprit.store.protocol import Store
from perf_culprit.store.sql.sql_store import SqlHistory
from tests.support.fake_github.clients import connected, destination
from tests.support.fake_github.server import FakeGitHub
from tests.support.fake_github.state import PullRequest, State
from tests.support.git_repository import init_repository, run_git
from tests.support.mainline import CONFIG, Line
from tests.support.runner_pool import KEY, Clock, Killed, Pool

QUIET, SLOW = 12, 3
MOST_EVENTS = 60


@dataclass
class Levels(Pool):
    levels: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    metric: Any = None

    def value(self, what: str, commit: str, machine: float) -> float:
        return super().value(what, f"{int(self.levels[commit]['parse'] > 0.004)}", machine)


@dataclass
class Writes:
    """A hook that kills the process once, around write `fatal`."""

    fatal: int = 0
    after: bool = False
    count: int = 0

    @property
    def died(self) -> bool:
        return 0 < self.fatal <= self.count

    def guarded(self, write: Callable[..., Any], is_write: Callable[..., bool] = lambda *_: True) -> Callable[..., Any]:
        def guard(*arguments: Any, **options: Any) -> Any:
            if not is_write(*arguments):
                return write(*arguments, **options)
            self.count += 1
            if self.count == self.fatal and not self.after:
                raise Killed
            answer = write(*arguments, **options)
            if self.count == self.fatal:
                raise Killed
            return answer

        return guard


@dataclass
class World:
    """The default branch with a culprit that the stored runs call a regression, before any search."""

    bare: Path
    database: Path
    levels: Mapping[str, Mapping[str, float]]
    culprit: str
    fake: FakeGitHub

    def answered(self, folder: Path, writes: Writes, patch: pytest.MonkeyPatch) -> tuple[State, Bisection, int]:
        """Send events until the answer is reported; return GitHub's state then, the search, and its dispatches."""
        file = Path(shutil.copy(self.database, folder / "history.db"))
        pool = Levels(slow_from=1, seed=1, levels=self.levels, metric=Pool(slow_from=0).metric)
        clock = Clock()
        self.fake.state = State()
        self.fake.state.pulls[9] = PullRequest(
            number=9, head_sha="9" * 40, head_branch="accents", state="closed", merge_commit_sha=self.culprit
        )
        with patch.context() as context, open_sql(parse_database(f"sqlite:///{file}")) as store:
            for name in ("store", "append"):
                context.setattr(SqlHistory, name, writes.guarded(getattr(SqlHistory, name)))
            context.setattr(pool, "send", writes.guarded(pool.send))
            request = requests.Session.request
            context.setattr(requests.Session, "request", writes.guarded(request, lambda _, verb, *__: verb != "GET"))
            for _ in range(MOST_EVENTS):
                try:
                    self.event(store, pool, clock)
                except Killed:
                    assert writes.died
                for run in (run for run in pool.runs if not run.completed):
                    pool.measure(run)
                clock.pass_minutes(10)
                searches = automatic_searches(store, "default")
                if searches and searches[0].alarm is not None and searches[0].alarm.reported:
                    break
            self.event(store, pool, clock)  # one more changes nothing
            (search,) = automatic_searches(store, "default")
        return self.fake.state, search, len(pool.runs)

    def event(self, store: Store, pool: Pool, clock: Clock) -> None:
        config = Config.model_validate(CONFIG)
        host = connected(self.fake)[0]

        def report(bisection: Bisection) -> bool:
            return report_search(
                host,
                destination(self.fake),
                bisection,
                config=config,
                repository=self.bare,
                branch="refs/heads/main",
                say=lambda _: None,
                notices=Notices(),
            )

        tend_searches(
            self.bare,
            branch="refs/heads/main",
            controller=Controller(bisections=store, dispatcher=Workflow(pool), history=store, now=clock),
            config=config,
            remote=None,
            report=report,
            say=lambda _: None,
        )


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("line")
    line = Line(bare=init_repository(folder / "served.git", bare=True))
    line.configure(CONFIG)
    commits = [line.commit() for _ in range(QUIET)]
    culprit = line.commit("Fold accents", parse=0.0096)
    commits += [culprit, *(line.commit() for _ in range(SLOW))]
    run_git(line.bare, "update-ref", "refs/heads/main", commits[-1])
    url = parse_database(f"sqlite:///{folder}/history.db")
    prepare_database(url)
    with open_sql(url) as store:
        pushed = [*commits[: QUIET - 3], *commits[QUIET + 1 :]]
        runs = [line.run(commit) for commit in pushed]
        marks = [(KEY,) if commit in commits[QUIET + 1 :] else () for commit in pushed]
        store.append_all([replace(run, regressions=keys) for run, keys in zip(runs, marks, strict=True)])
    with FakeGitHub(git_dir=line.bare) as fake:
        yield World(bare=line.bare, database=folder / "history.db", levels=line.levels, culprit=culprit, fake=fake)
    assert not fake.bad


@pytest.mark.slow  # some twenty searches
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_killed_at_any_write_it_tells_the_same_once(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    calm_writes = Writes()
    calm, search, dispatches = world.answered(tmp_path, calm_writes, monkeypatch)
    (title,) = (issue.title for issue in calm.issues.values())
    assert title.endswith(world.culprit[:7])
    assert len(calm.comments) == 1
    last = calm_writes.count
    # All of the first and of the last ones; the dispatches between them are all alike.
    for number in sorted({*range(1, 6), *range(6, last, 5), *range(last - 5, last + 1)}):
        writes = Writes(fatal=number, after=after)
        state, again, sent = world.answered(tmp_path, writes, monkeypatch)
        assert writes.died
        assert [issue.title for issue in state.issues.values()] == [title], number
        assert [comment.body for comment in state.comments.values()] == [c.body for c in calm.comments.values()], number
        assert again.search == search.search, number
        assert sent == dispatches, number
