"""The connection: its requests, its waits, and its messages without an answer."""

import socket
from collections.abc import Iterator

import pytest

from perf_culprit.errors import InfrastructureError, UsageError
from perf_culprit.github.bot_texts import comment_marker
from perf_culprit.github.client import create_client
from perf_culprit.github.posting import upsert_comment
from tests.support.fake_github.clients import Waits, connected
from tests.support.fake_github.faults import Fault
from tests.support.fake_github.server import FakeGitHub


@pytest.fixture
def closed_port() -> Iterator[int]:
    """Yield a port without a listener, bound so that no other process takes it."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        yield reserved.getsockname()[1]


def test_connecting_sends_nothing(fake: FakeGitHub) -> None:
    connected(fake)
    assert not fake.log


def test_pins_the_version_of_the_api(fake: FakeGitHub) -> None:
    client, _ = connected(fake)
    upsert_comment(client, number=1, mark=comment_marker("default"), body="x")
    assert {exchange.request.headers["x-github-api-version"] for exchange in fake.log} == {"2022-11-28"}
    assert [exchange.status for exchange in fake.log] == [200, 201]


def test_backs_off_exponentially(fake: FakeGitHub) -> None:
    fake.faults.append(Fault(request=r"GET .*", status=502, times=4))
    client, waits = connected(fake)
    upsert_comment(client, number=1, mark=comment_marker("default"), body="x", create=False)
    assert waits.seconds == [0.0, 2.0, 4.0, 8.0]


def test_gives_up_after_five_retries(fake: FakeGitHub) -> None:
    fake.faults.append(Fault(request=r"GET .*", status=503, times=99))
    client, _ = connected(fake)
    with pytest.raises(InfrastructureError, match=r"GitHub's servers failed, repeatedly \(HTTP 503\)"):
        upsert_comment(client, number=1, mark=comment_marker("default"), body="x")
    assert len(fake.log) == 6


def test_reconnects_after_a_dropped_connection(fake: FakeGitHub) -> None:
    fake.faults.append(Fault(request=r"GET .*", drop=True, times=2))
    client, _ = connected(fake)
    upsert_comment(client, number=1, mark=comment_marker("default"), body="x")
    assert [exchange.status for exchange in fake.log] == [None, None, 200, 201]


def test_says_that_nobody_answers(closed_port: int) -> None:
    client = create_client(
        token="s3cr3t",
        api_url=f"http://127.0.0.1:{closed_port}",
        repository="octocat/hello",
        request_pause_seconds=0,
        write_pause_seconds=0,
        sleep=Waits(),
    )
    with pytest.raises(InfrastructureError, match="cannot read the comments of #1: the connection failed") as raised:
        upsert_comment(client, number=1, mark=comment_marker("default"), body="x")
    assert "GITHUB_API_URL" in str(raised.value.next_step)
    assert "s3cr3t" not in str(raised.value)


def test_says_that_the_repository_is_not_visible(fake: FakeGitHub) -> None:
    client = create_client(
        token="bot-token", api_url=f"{fake.api_url}/", repository="octocat/other", request_pause_seconds=0
    )
    with pytest.raises(InfrastructureError, match=r"not found, or not visible[\s\S]*contents: read"):
        upsert_comment(client, number=1, mark=comment_marker("default"), body="x")


@pytest.mark.parametrize("token", ["", " \n", "s3cr3t\nHost: x", "s3cr3tö"])
def test_refuses_a_token_that_is_none_without_showing_it(token: str) -> None:
    with pytest.raises(UsageError, match="there is no GitHub token, or it is malformed") as raised:
        create_client(token=token, api_url="https://api.github.com", repository="octocat/hello")
    assert "s3cr3t" not in str(raised.value)


def test_trims_the_token(fake: FakeGitHub) -> None:
    client, _ = connected(fake, token="bot-token\n")
    upsert_comment(client, number=1, mark=comment_marker("default"), body="x")
    assert len(fake.state.comments) == 1


@pytest.mark.parametrize("name", ["", "hello", "octocat/hello/x", "octocat/hello?x=1", "octocat/", "o/h\n", "ö/h"])
def test_refuses_what_is_no_repository(name: str) -> None:
    with pytest.raises(UsageError, match="write it as owner/name"):
        create_client(token="t", api_url="https://api.github.com", repository=name)


@pytest.mark.parametrize("url", ["", "api.github.com", "file:///etc/passwd"])
def test_refuses_what_is_no_web_address(url: str) -> None:
    with pytest.raises(UsageError, match=r"write https://api\.github\.com, or"):
        create_client(token="t", api_url=url, repository="octocat/hello")
