"""The connection to one repository on GitHub, and its patience: what is retried, and how long it waits."""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import github
from github.Consts import DEFAULT_USER_AGENT
from github.Repository import Repository

from bot.errors import InfrastructureError, UsageError
from bot.publish.github.answer import StrictRequester

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse
    from urllib3.connectionpool import ConnectionPool

# The name of GITHUB_TOKEN. `GET /user` is forbidden to that token, so the name cannot be asked for.
ACTIONS_BOT = "github-actions[bot]"
API_VERSION = "2022-11-28"
API_URL_STEP = "write https://api.github.com, or https://HOST/api/v3 for GitHub Enterprise Server"
REPOSITORY = re.compile(r"[\w.-]{1,100}/[\w.-]{1,100}", re.ASCII)

RETRIES = 5
RETRIED_STATUSES = (429, 500, 502, 503, 504)
# Not POST: an answer that got lost must not make a second comment (posting.py).
RETRIED_METHODS = frozenset({"GET", "PATCH", "PUT", "DELETE"})
# GitHub asks for at least a minute after a secondary limit that names no time.
SECONDARY_LIMIT_WAIT_SECONDS = 60.0
MAXIMUM_LIMIT_WAIT_SECONDS = 120.0
# A job needs about ten. GitHub allows GITHUB_TOKEN 1,000 an hour in a repository, and other workflows need some too: a
# thread or a run that somebody filled up must not use them all.
MAXIMUM_REQUESTS = 250

Sleep = Callable[[float], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Client:
    """A repository as `bot_login` sees it. `sleep` waits between attempts."""

    repository: Repository
    bot_login: str
    sleep: Sleep


def connect(
    *,
    token: str,
    api_url: str,
    repository: str,
    bot_login: str = ACTIONS_BOT,
    timeout_seconds: int = 15,
    request_pause_seconds: float = 0.25,
    write_pause_seconds: float = 1.0,
    sleep: Sleep = time.sleep,
) -> Client:
    """Sends nothing yet. The pauses are GitHub's advice against secondary rate limits."""
    token = token.strip()
    if not token or not token.isascii() or not token.isprintable():
        raise UsageError(
            "there is no GitHub token, or it is malformed", next_step="pass `github-token: ${{ github.token }}`"
        )
    if not api_url.startswith(("https://", "http://")):
        raise UsageError(f"not a web address: {api_url[:100]!r}", place="GITHUB_API_URL", next_step=API_URL_STEP)
    if REPOSITORY.fullmatch(repository) is None:
        raise UsageError(f"not a repository: {repository[:100]!r}", next_step="write it as owner/name")
    requester = StrictRequester(
        sleep=sleep,
        base_url=api_url.rstrip("/"),
        auth=BudgetedToken(token),
        api_version=API_VERSION,
        lazy=True,
        per_page=100,
        user_agent=DEFAULT_USER_AGENT,
        verify=True,
        pool_size=None,
        timeout=timeout_seconds,
        seconds_between_requests=request_pause_seconds,
        seconds_between_writes=write_pause_seconds,
        retry=PatientRetry(
            sleep=sleep,
            total=RETRIES,
            backoff_factor=1,
            allowed_methods=RETRIED_METHODS,
            status_forcelist=list(RETRIED_STATUSES),
            secondary_rate_wait=SECONDARY_LIMIT_WAIT_SECONDS,
            max_rate_limit_wait=MAXIMUM_LIMIT_WAIT_SECONDS,
            # The last answer reaches PyGithub, so that the message can say what it was.
            raise_on_status=False,
        ),
    )
    return Client(repository=Repository(requester, url=f"/repos/{repository}"), bot_login=bot_login, sleep=sleep)


class BudgetedToken(github.Auth.Token):
    """The token of a job, for at most `MAXIMUM_REQUESTS` requests. PyGithub asks it to sign each one."""

    def __init__(self, token: str) -> None:
        super().__init__(token)
        self.left = MAXIMUM_REQUESTS

    def authentication(self, headers: dict[str, Any]) -> None:
        if self.left == 0:
            raise InfrastructureError(
                f"this job has sent {MAXIMUM_REQUESTS} requests, as many as one may",
                place="GitHub",
                next_step="look for what is so long: a thread of thousands of comments, or as many artifacts",
            )
        self.left -= 1
        super().authentication(headers)


class PatientRetry(github.GithubRetry):
    """PyGithub's retry, which also waits after a 429 without Retry-After and gives up on long waits."""

    def __init__(self, *, sleep: Sleep, **settings: Any) -> None:
        super().__init__(**settings)
        self.pause = sleep

    def new(self, **settings: Any) -> Self:
        return super().new(sleep=self.pause, **settings)

    def increment(
        self,
        method: str | None = None,
        url: str | None = None,
        response: "BaseHTTPResponse | None" = None,
        error: Exception | None = None,
        _pool: "ConnectionPool | None" = None,
        _stacktrace: TracebackType | None = None,
    ) -> Self:
        if response is not None and names_wait(response) and too_long(limit_wait_seconds(response.headers)):
            message = {"message": "told to wait too long"}
            raise github.GithubException(response.status, message, dict(response.headers))
        following: Self = super().increment(method, url, response, error, _pool, _stacktrace)  # type: ignore[arg-type,assignment]  # PyGithub annotates a subclass of what urllib3 passes
        return following

    def sleep(self, response: "BaseHTTPResponse | None" = None) -> None:
        if response is not None and names_wait(response):
            self.pause(limit_wait_seconds(response.headers))
        else:
            self.pause(self.get_backoff_time())


def too_long(wait_seconds: float) -> bool:
    return wait_seconds > MAXIMUM_LIMIT_WAIT_SECONDS


def names_wait(response: "BaseHTTPResponse") -> bool:
    return response.status == 429 or "Retry-After" in response.headers


def limit_wait_seconds(headers: Mapping[str, str]) -> float:
    """How long GitHub asks to wait: Retry-After, else until the hour's reset if nothing remains, else a minute."""
    by_name = {name.lower(): value for name, value in headers.items()}
    retry_after, reset = by_name.get("retry-after", ""), by_name.get("x-ratelimit-reset", "")
    if retry_after.isdecimal():
        return float(retry_after)
    if by_name.get("x-ratelimit-remaining") == "0" and reset.isdecimal():
        # One second more: it is not clear when in its second the reset happens.
        return max(0.0, float(reset) - time.time()) + 1
    return SECONDARY_LIMIT_WAIT_SECONDS
