from random import Random

import pytest

from bot.errors import InfrastructureError
from bot.history.patience import Patience
from bot.progress import listen


def test_who_waits_hears_what_for() -> None:
    def refused() -> None:
        raise InfrastructureError("connection refused", next_step="start it")

    heard: list[str] = []
    stop = listen(heard.append)
    try:
        with pytest.raises(InfrastructureError, match="could not be read after 3 attempts"):
            Patience(attempts=3).persist(
                refused,
                is_transient=lambda _: True,
                failure="could not be read",
                place="a database",
                random=Random(1),
                sleep=lambda _: None,
            )
    finally:
        stop()
    assert heard == ["trying a database again, attempt 2", "trying a database again, attempt 3"]
