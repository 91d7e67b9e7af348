import pytest
import requests
from github import BadAttributeException, GithubException

from perf_culprit.errors import InfrastructureError
from perf_culprit.github.client import explained, message_of, permission_step, rate_limit_step
from perf_culprit.github.runner_files import MissingValueError

NOT_ACCESSIBLE = {"message": "Resource not accessible by integration"}


def explanation(error: Exception) -> InfrastructureError:
    with pytest.raises(InfrastructureError) as raised, explained("post the comment"):
        raise error
    assert raised.value.message.startswith("cannot post the comment: ")
    assert raised.value.next_step
    return raised.value


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (401, "the token is not accepted"),
        (403, "GitHub forbids it"),
        (404, "not found, or not visible"),
        (410, "it is gone"),
        (422, "request invalid"),
        (429, "the rate limit is used up"),
        (500, "servers failed"),
        (504, "servers failed"),
        (418, "unexpected answer"),
    ],
)
def test_every_status_has_a_text(status: int, expected: str) -> None:
    error = explanation(GithubException(status, None, None))
    assert expected in error.message
    assert error.message.endswith(f"(HTTP {status})")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (requests.exceptions.SSLError("x"), "REQUESTS_CA_BUNDLE"),
        (requests.ConnectTimeout("x"), "no answer in time"),
        (requests.ReadTimeout("x"), "no answer in time"),
        (requests.exceptions.ProxyError("x"), "HTTPS_PROXY"),
        (requests.ConnectionError("x"), "the connection failed"),
        (requests.exceptions.ChunkedEncodingError("x"), "the request failed (ChunkedEncodingError)"),
    ],
)
def test_every_network_failure_has_a_text(error: requests.RequestException, expected: str) -> None:
    assert expected in str(explanation(error))


def test_the_network_errors_own_text_is_left_out() -> None:
    assert "s3cr3t" not in str(explanation(requests.ConnectionError("https://x-access-token:s3cr3t@host/")))


@pytest.mark.parametrize(
    ("accepted", "permission"),
    [
        ("checks=write", "checks: write"),
        ("issues=write; pull_requests=write", "pull-requests: write"),
        ("issues=write, pull_requests=write", "pull-requests: write"),
        ("contents=read", "contents: read"),
    ],
)
def test_the_missing_permission_is_written_as_in_a_workflow(accepted: str, permission: str) -> None:
    error = GithubException(403, NOT_ACCESSIBLE, {"X-Accepted-GitHub-Permissions": accepted})
    assert f"add `permissions: {permission}` to the job" in str(explanation(error))


def test_an_unnamed_permission_still_has_a_next_step() -> None:
    assert permission_step({}).startswith("check the job's `permissions:`; runs of pull requests from forks")


@pytest.mark.parametrize("reset", ["", "soon", "9" * 40, "٣"])
def test_odd_reset_times_are_left_out(reset: str) -> None:
    step = rate_limit_step({"x-ratelimit-remaining": "0", "x-ratelimit-reset": reset})
    assert step.startswith("run the job again ")


def test_the_reset_time_is_named() -> None:
    step = rate_limit_step({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1767323045"})
    assert step.startswith("run the job again after 03:04 UTC")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, ""),
        (b"<html>", ""),
        ({"message": "Validation Failed"}, "Validation Failed"),
        ({"message": "Failed", "errors": [{"message": "too\nlong"}]}, "Failed too long"),
        ({"message": "Failed", "errors": ["too long"]}, "Failed too long"),
        ({"message": "Failed", "errors": []}, "Failed"),
        ({"message": "x" * 999}, "x" * 200),
    ],
)
def test_githubs_words_are_one_short_line(data: object, message: str) -> None:
    assert message_of(GithubException(422, data, None)) == message


@pytest.mark.parametrize(
    "error", [KeyError("x"), AttributeError("x"), BadAttributeException(1, (str, str), None), MissingValueError("x")]
)
def test_a_field_that_an_answer_lacks_is_the_hosts_failure(error: Exception) -> None:
    told = "cannot read the head: the answer is not what was asked for"
    with pytest.raises(InfrastructureError, match=told), explained("read the head"):
        raise error


def test_other_errors_pass() -> None:
    with pytest.raises(ZeroDivisionError), explained("post the comment"):
        raise ZeroDivisionError
