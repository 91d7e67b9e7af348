"""A history of version 1 is continued: no issue for an old step, the acceptance holds, the open search resumes."""

import gzip
import itertools
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from perf_culprit import git
from perf_culprit.config.database_url import HISTORY_URL, parse_database
from perf_culprit.store.opening import open_git_branch, open_sql
from perf_culprit.store.protocol import NamedRun, Store
from tests.support import postgresql
from tests.support.fake_github.state import Issue, WorkflowRun
from tests.support.git_repository import init_repository, run_git
from tests.support.mainline import CONFIG, Mainline, Recorded, open_mainline

pytestmark = pytest.mark.slow  # each a dozen jobs of the action

HISTORY = Path(__file__).parents[1] / "golden/version1/history"


@pytest.fixture(scope="module")
def server() -> Iterator[Callable[[], postgresql.Server]]:
    with postgresql.when_needed() as start:
        yield start


@pytest.fixture
def github() -> dict[str, Any]:
    return dict(json.loads((HISTORY / "github.json").read_text()))


@pytest.fixture(params=["git branch", "sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path, server: Callable[[], postgresql.Server]) -> str | None:
    """Return the database's URL; None if the history is a branch."""
    if request.param == "sqlite":
        (tmp_path / "history.db").write_bytes(gzip.decompress((HISTORY / "history.db.gz").read_bytes()))
        return f"sqlite:///{tmp_path / 'history.db'}"
    if request.param == "postgresql":
        filled = server().fresh()
        dump = gzip.decompress((HISTORY / "history.sql.gz").read_bytes())
        subprocess.run(
            ["psql", "--quiet", "--set=ON_ERROR_STOP=1", filled], input=dump, check=True, capture_output=True
        )
        return filled
    return None


@pytest.fixture
def mainline(
    url: str | None,
    tmp_path: Path,
    github: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Mainline]:
    """Yield the default branch and GitHub's state as version 1 left them."""
    bare = init_repository(tmp_path / "recorded/served.git", bare=True)
    run_git(bare, "fetch", "--quiet", str(HISTORY / "history.bundle"), "+refs/*:refs/*")
    run_git(bare, "config", "uploadpack.allowAnySHA1InWant", "true")
    if url:
        run_git(bare, "update-ref", "-d", "refs/heads/perf-history")
        monkeypatch.setenv(HISTORY_URL, url)
    recorded = Recorded(folder=bare.parent, levels=github["levels"], commits=list(github["levels"]))
    with open_mainline(recorded, tmp_path, monkeypatch, capsys) as opened:
        state = opened.fake.state
        state.ids = itertools.count(2000)
        state.issues = {issue["number"]: Issue(**issue) for issue in github["issues"]}
        state.runs = {github["run"]["id"]: WorkflowRun(**github["run"])}
        state.dispatches = [github["dispatch"]]
        yield opened


@contextmanager
def history_of(mainline: Mainline) -> Iterator[Store]:
    url = os.environ.get(HISTORY_URL)
    branch = git.Remote(url=str(mainline.bare))
    with open_sql(parse_database(url, with_secret=True)) if url else open_git_branch(branch) as history:
        yield history


def test_it_goes_on_under_this_version(mainline: Mainline, github: dict[str, Any]) -> None:
    state, culprits = mainline.fake.state, github["culprits"]
    # The limit of searches per day must not be the reason why none begins.
    mainline.configure({**CONFIG, "bisect": {**CONFIG["bisect"], "searches-per-day": 9}})
    pushed = []
    for _ in range(3):
        pushed.append(mainline.commit())
        result = mainline.push()
        assert result.exit_code == 0, result.log
    # No old step is searched or reported again; the steps that were not accepted still are regressions.
    assert (len(state.dispatches), len(state.issues)) == (1, 2)
    with history_of(mainline) as history:
        assert [entry.benchmark for entry in history.accepted("default")] == ["parse"]
        runs = [entry.run for entry in history.runs("default", pushed) if isinstance(entry, NamedRun)]
    assert [{key.benchmark for key in run.regressions} for run in runs] == [{"encode", "render"}] * 3
    # The waiting dispatch is measured, and its search ends at the culprit.
    mainline.search()
    told = [issue.title[-7:] for issue in state.issues.values()]
    assert told == [culprits[name][:7] for name in ("parse", "render", "encode")]
    mainline.commit()
    mainline.push()
    mainline.search()
    assert len(state.issues) == 3
    assert {dispatch["inputs"]["bisection"] for dispatch in state.dispatches} == {
        github["dispatch"]["inputs"]["bisection"]
    }
