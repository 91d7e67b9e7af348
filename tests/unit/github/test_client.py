import time

import pytest

from perf_culprit.github.client import limit_wait_seconds


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 60.0),
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "soon"}, 60.0),
        ({"x-ratelimit-remaining": "0"}, 60.0),
        ({"x-ratelimit-remaining": "5", "x-ratelimit-reset": "99999999999"}, 60.0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1000"}, 1.0),
    ],
)
def test_how_long_github_asks_to_wait(headers: dict[str, str], *, seconds: float) -> None:
    assert limit_wait_seconds(headers) == seconds


def test_waits_until_the_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 1000.0)
    assert limit_wait_seconds({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1030"}) == 31.0
