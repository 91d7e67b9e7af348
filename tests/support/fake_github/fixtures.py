"""`fake`: a running fake GitHub. The test fails if a request or an answer differs from GitHub's description."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.fake_github.server import FakeGitHub


@pytest.fixture
def fake() -> "Iterator[FakeGitHub]":
    # Imported here: tests without GitHub do not pay for jsonschema.
    from tests.support.fake_github.server import FakeGitHub

    with FakeGitHub() as server:
        yield server
    assert not server.bad
