from random import Random

import pytest

from perf_culprit.errors import InfrastructureError
from perf_culprit.progress import listen
from perf_culprit.store.retention import Patience


def refused() -> None:
    raise InfrastructureError("connection refused", next_step="start it")


@pytest.mark.parametrize(("writes", "step"), [(True, "start it; doing it twice does no harm"), (False, "start it")])
def test_only_who_wrote_is_told_that_writing_again_does_no_harm(*, writes: bool, step: str) -> None:
    with pytest.raises(InfrastructureError, match="after one attempt: connection refused") as caught:
        Patience(attempts=1).persist(
            refused, is_transient=lambda _: True, failure="failed", place="here", writes=writes, random=Random(1)
        )
    assert caught.value.next_step == step


def test_who_waits_hears_what_for() -> None:
    heard: list[str] = []
    stop = listen(heard.append)
    try:
        with pytest.raises(InfrastructureError, match="could not be read after 3 attempts"):
            Patience(attempts=3).persist(
                refused,
                is_transient=lambda _: True,
                failure="could not be read",
                place="a database",
                writes=False,
                random=Random(1),
                sleep=lambda _: None,
            )
    finally:
        stop()
    assert heard == ["trying a database again, attempt 2", "trying a database again, attempt 3"]
