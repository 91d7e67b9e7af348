"""kill -9 around every step of a write, also after push or commit: it is whole or absent, a retry stores it once."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from perf_culprit.store import git_branch
from perf_culprit.store.opening import stored_bisections
from perf_culprit.store.protocol import Store
from tests.integration.test_history_contract import ACCEPTANCE, BACK_ENDS, BISECTION, Opener
from tests.support import postgresql
from tests.support.killed import dies_at_git_call, dies_at_statement
from tests.support.stored_runs import make_run

MOST_STEPS: Final = 60
WRITES: Final[dict[str, Callable[[Store], object]]] = {
    "run": lambda store: store.append(make_run(1)),
    "acceptance": lambda store: store.accept((ACCEPTANCE,)),
    "bisection": lambda store: store.store(BISECTION, expected=None),
}


@pytest.fixture(scope="module")
def server() -> Iterator[Callable[[], postgresql.Server]]:
    with postgresql.when_needed() as start:
        yield start


def stored(opener: Opener) -> int:
    git_branch._tips.clear()  # as another job sees it
    with opener() as store:
        return (
            sum(store.commits("default").values())
            + len(store.accepted(ACCEPTANCE.suite))
            + len(stored_bisections(store))
        )


def write(opener: Opener, name: str) -> None:
    with opener() as store:
        WRITES[name](store)


@pytest.mark.slow  # a process for each step of each write
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_killed_around_any_step_a_write_is_whole_or_not_there_and_once_by_the_next(
    server: Callable[[], postgresql.Server], tmp_path: Path, back_end: str, name: str, *, after: bool
) -> None:
    dies = partial(dies_at_git_call, at_end=True) if back_end == "git branch" else dies_at_statement
    lasting: list[int] = []
    for step in range(1, MOST_STEPS):
        folder = tmp_path / f"{step}"
        folder.mkdir()
        opener = BACK_ENDS[back_end](folder, server)
        if not dies(step, lambda opener=opener: write(opener, name), after=after):  # type: ignore[misc]  # bound now
            break
        lasting.append(stored(opener))
        # A bisection's next version is written by a job that has read the previous one.
        if not (lasting[-1] and name == "bisection"):
            write(opener, name)
        assert stored(opener) == 1, step
    else:
        pytest.fail("a write has fewer steps")
    # At first nothing is stored, in the end all of it, although the job died there, too.
    assert (lasting[0], lasting[-1]) == (0, 1)
    assert lasting == sorted(lasting)
    assert len(lasting) > 2
