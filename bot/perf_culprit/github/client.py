"""The connection to one repository on GitHub: checked answers, retries, and refusals in the user's terms."""

import base64
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

import github
import requests
from github import BadAttributeException, GithubException, RateLimitExceededException
from github.Consts import DEFAULT_USER_AGENT
from github.Repository import Repository
from github.Requester import Requester

from perf_culprit.errors import InfrastructureError, UsageError, visible
from perf_culprit.github.runner_files import MissingValueError
from perf_culprit.model.artifact_limits import ARTIFACT_LIMITS
from perf_culprit.model.maintenance import protection_step
from perf_culprit.model.text_limits import TEXT_LIMITS

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse
    from urllib3.connectionpool import ConnectionPool


NO_ANSWER: Final = "the answer is not what was asked for"
# The same waits as after a server failure.
WAITS_SECONDS: Final = (2.0, 4.0, 8.0)


class StrictRequester(Requester):
    """PyGithub's requester, but repeats reads and edits with an invalid answer, which PyGithub would accept."""

    def __init__(self, *, sleep: Callable[[float], None], **settings: Any) -> None:
        super().__init__(**settings)
        self.pause = sleep

    def requestJson(  # noqa: N802  # PyGithub's name
        self,
        verb: str,
        url: str,
        parameters: dict[str, Any] | None = None,
        headers: dict[str, Any] | None = None,
        input: Any = None,  # noqa: A002  # its name too
        *more: Any,
        **named: Any,
    ) -> tuple[int, dict[str, Any], str]:
        # PyGithub and we request every listing with `per_page`, and GitHub's address of the next page contains it.
        is_listing = "per_page" in (parameters or {}) or "per_page=" in url
        waits = iter(WAITS_SECONDS)
        while True:
            answer = super().requestJson(verb, url, parameters, headers, _visible_texts(input), *more, **named)
            status, answered, body = answer
            if verb == "GET":
                is_fine = status != 200 or is_answer(body, is_listing=is_listing)
            else:
                is_fine = status not in (200, 201) or is_done(url, status, body)
            if is_fine:
                return answer
            wait_seconds = None if verb == "POST" else next(waits, None)
            if wait_seconds is None:
                # Whether a POST took effect is unknown, as after a server failure.
                raise GithubException(502 if verb == "POST" else status, {"message": NO_ANSWER}, answered)
            self.pause(wait_seconds)


# Addresses where something is posted or edited and the answer is its new state.
WRITTEN: Final = re.compile(r"/(?:check-runs|comments|issues)(?:/\d+)?$")


# Answered by 201 and an empty object.
REPEATED: Final = re.compile(r"/rerun(?:-failed-jobs)?$")


def is_done(url: str, status: int, body: str) -> bool:
    if REPEATED.search(url):
        return status == 201
    if not WRITTEN.search(url):
        return True
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, Mapping) and isinstance(value.get("id"), int)


# The parts of a request that people see: one line, and Markdown or plain text.
SHOWN_LINES: Final = frozenset({"name", "title"})
SHOWN_TEXTS: Final = frozenset({"body", "message", "summary", "text"})


def _visible_texts(value: Any, key: str = "") -> Any:
    """Make every text for GitHub visible: the only place where invisible characters are removed, from any source."""
    match value:
        case str() if key in SHOWN_LINES:
            return visible(value)
        case str() if key in SHOWN_TEXTS:
            return visible(value.replace("\r\n", "\n"), harmless="\n\t\N{NO-BREAK SPACE}")
        case Mapping():
            return {name: _visible_texts(member, name) for name, member in value.items()}
        case list():
            return [_visible_texts(entry) for entry in value]
        case _:
            return value


def is_answer(body: str, *, is_listing: bool) -> bool:
    try:
        value = json.loads(body)
        if is_listing:
            return is_list(value) or any(map(is_list, value.values()))
        if isinstance(value, Mapping) and value.get("encoding") == "base64":
            file_bytes(value)
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError):
        return False
    return isinstance(value, Mapping | list) and value != {}


def is_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(entry, Mapping) for entry in value)


def file_bytes(answer: Mapping[str, Any]) -> bytes:
    """Decode a file's content. Raise a ValueError if it is not base64 or not as long as GitHub states."""
    data = base64.b64decode("".join(str(answer["content"]).split()), validate=True)
    if len(data) != answer["size"]:
        raise ValueError(f"{len(data)} bytes of {answer['size']}")
    return data


# Exceptions of reading a field that is missing or of the wrong kind, in PyGithub as in our code.
INCOMPLETE = (MissingValueError, BadAttributeException, AttributeError, LookupError, TypeError, ValueError)

FORK_HINT = (
    "runs of pull requests from forks get a read-only token whatever the file says: "
    "publish from a workflow on `workflow_run`"
)


@contextmanager
def explained(doing: str) -> Iterator[None]:
    """Turn every failure of a GitHub call inside into an InfrastructureError. `doing`: "post the comment"."""
    try:
        yield
    except GithubException as error:
        raise refused(error, doing=doing) from None
    except requests.RequestException as error:
        raise unreachable(error, doing=doing) from None
    except INCOMPLETE as error:
        raise InfrastructureError(f"cannot {doing}: {NO_ANSWER}", place="GitHub", next_step=SERVER_STEP) from error


def refused(error: GithubException, *, doing: str) -> InfrastructureError:
    """Return the error for an answer from GitHub that is not the requested one."""
    message, headers = message_of(error), headers_of(error)
    if is_rate_limit(error):
        what, next_step = "the rate limit is used up", rate_limit_step(headers)
    elif error.status == 403 and "locked" in message:
        what, next_step = "the conversation is locked", "unlock it, or read the report in the job summary"
    elif protection := protection_step(message):
        what, next_step = message, protection
    elif error.status == 403 and ("not accessible" in message or "x-accepted-github-permissions" in headers):
        what, next_step = "the token lacks a permission", permission_step(headers)
    else:
        what, next_step = STATUS_TEXTS.get(error.status, (message or "unexpected answer", SERVER_STEP))
        if error.status in (403, 422) and message:
            what = f"{what}: {message}"
    return InfrastructureError(f"cannot {doing}: {what} (HTTP {error.status})", place="GitHub", next_step=next_step)


def unreachable(error: requests.RequestException, *, doing: str) -> InfrastructureError:
    """Return the error for no answer at all. It omits the original text, which may hold addresses and headers."""
    for kind, what, next_step in NETWORK_TEXTS:
        if isinstance(error, kind):
            return InfrastructureError(f"cannot {doing}: {what}", place="GitHub", next_step=next_step)
    what = f"the request failed ({type(error).__name__})"
    return InfrastructureError(f"cannot {doing}: {what}", place="GitHub", next_step="run the job again")


SERVER_STEP = "GitHub has trouble (https://www.githubstatus.com): run the job again later"
STATUS_TEXTS: dict[int, tuple[str, str]] = {
    401: (
        "the token is not accepted",
        "pass `github-token: ${{ github.token }}`; a job's token ends with its job",
    ),
    403: (
        "GitHub forbids it",
        f"check the workflow's `permissions:` and the repository's rules for workflows; {FORK_HINT}",
    ),
    404: (
        "not found, or not visible to this token",
        "check the repository's name and GITHUB_API_URL; private repositories also need `permissions: contents: read`",
    ),
    410: ("it is gone", "run the benchmarks again: artifacts expire, and issues may be switched off"),
    422: ("GitHub calls the request invalid", "this is a bug of perf-culprit: please report it with this line"),
} | dict.fromkeys((500, 502, 503, 504), ("GitHub's servers failed, repeatedly", SERVER_STEP))

# First match wins: SSLError and ConnectTimeout are ConnectionErrors too.
NETWORK_TEXTS: tuple[tuple[type[requests.RequestException], str, str], ...] = (
    (
        requests.exceptions.SSLError,
        "the server's certificate is not trusted",
        "with an own certificate authority set REQUESTS_CA_BUNDLE to its file",
    ),
    (requests.Timeout, "no answer in time", SERVER_STEP),
    (
        requests.exceptions.ProxyError,
        "the proxy does not let the request through",
        "check HTTPS_PROXY and NO_PROXY",
    ),
    (
        requests.ConnectionError,
        "the connection failed",
        "check GITHUB_API_URL and the runner's network, then run the job again",
    ),
)


def headers_of(error: GithubException) -> Mapping[str, str]:
    return {name.lower(): value for name, value in (error.headers or {}).items()}


def message_of(error: GithubException) -> str:
    """GitHub's own message, with the first detail, on one short line."""
    data = error.data if isinstance(error.data, Mapping) else {}
    errors = data.get("errors")
    first = errors[0] if isinstance(errors, list) and errors else None
    detail = first.get("message") if isinstance(first, Mapping) else first
    words = " ".join(str(part) for part in (data.get("message"), detail) if part)
    return " ".join(words.split())[: TEXT_LIMITS.answer_characters]


def is_rate_limit(error: GithubException) -> bool:
    limited = isinstance(error, RateLimitExceededException) or error.status == 429
    return limited or (error.status == 403 and "retry-after" in headers_of(error))


def rate_limit_step(headers: Mapping[str, str]) -> str:
    reset = headers.get("x-ratelimit-reset", "")
    exhausted = headers.get("x-ratelimit-remaining") == "0" and reset.isdecimal() and len(reset) <= 10
    when = f"after {datetime.fromtimestamp(int(reset), UTC):%H:%M} UTC" if exhausted else "in some minutes"
    return f"run the job again {when}; GITHUB_TOKEN allows 1,000 requests an hour in a repository"


def permission_step(headers: Mapping[str, str]) -> str:
    """Return the missing permission in the form of a workflow file: `pull-requests: write`."""
    accepted = headers.get("x-accepted-github-permissions", "")
    names = [part.strip().replace("_", "-").replace("=", ": ") for part in accepted.replace(",", ";").split(";")]
    # Comments on pull requests are open to `issues` and to `pull-requests`; the second is the narrower one to give.
    names.sort(key=lambda name: not name.startswith("pull-requests"))
    wanted = f"add `permissions: {names[0]}` to the job" if names[0] else "check the job's `permissions:`"
    if len(names) > 1 and names[1].startswith("issues"):
        wanted += f" (in an issue: `{names[1]}`)"
    return f"{wanted}; {FORK_HINT}"


# The name of GITHUB_TOKEN's account. That token may not call `GET /user`, so the name is fixed here.
ACTIONS_BOT = "github-actions[bot]"
API_VERSION = "2022-11-28"
API_URL_STEP = "write https://api.github.com, or https://HOST/api/v3 for GitHub Enterprise Server"
REPOSITORY = re.compile(r"[\w.-]{1,100}/[\w.-]{1,100}", re.ASCII)

RETRIES = 5
RETRIED_STATUSES = (429, 500, 502, 503, 504)
# Not POST: an answer that got lost must not make a second comment (posting.py).
RETRIED_METHODS = frozenset({"GET", "PATCH", "PUT", "DELETE"})
# GitHub requires at least a minute after a secondary limit that states no time.
SECONDARY_LIMIT_WAIT_SECONDS = 60.0

Sleep = Callable[[float], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Client:
    """A repository as `bot_login` sees it. `sleep` waits between attempts."""

    repository: Repository
    bot_login: str
    sleep: Sleep


def create_client(
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
    """Create a client without sending anything. The pauses follow GitHub's advice against secondary rate limits."""
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
            max_rate_limit_wait=ARTIFACT_LIMITS.waiting_s,
            # PyGithub gets the last answer, so that the message can include it.
            raise_on_status=False,
        ),
    )
    return Client(repository=Repository(requester, url=f"/repos/{repository}"), bot_login=bot_login, sleep=sleep)


class BudgetedToken(github.Auth.Token):
    """The token of a job, for at most `ARTIFACT_LIMITS.requests` requests. PyGithub calls it to sign each one."""

    def __init__(self, token: str) -> None:
        super().__init__(token)
        self.left = ARTIFACT_LIMITS.requests

    def authentication(self, headers: dict[str, Any]) -> None:
        if self.left == 0:
            raise InfrastructureError(
                f"this job has sent {ARTIFACT_LIMITS.requests} requests, as many as one may",
                place="GitHub",
                next_step="look for what is so long: a thread of thousands of comments, or as many artifacts",
            )
        self.left -= 1
        super().authentication(headers)


class PatientRetry(github.GithubRetry):
    """PyGithub's retry that also waits after a 429 without Retry-After and gives up on long waits."""

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
    return wait_seconds > ARTIFACT_LIMITS.waiting_s


def names_wait(response: "BaseHTTPResponse") -> bool:
    return response.status == 429 or "Retry-After" in response.headers


def limit_wait_seconds(headers: Mapping[str, str]) -> float:
    """Return GitHub's required wait: Retry-After, else until the hour's reset if nothing remains, else 60 seconds."""
    by_name = {name.lower(): value for name, value in headers.items()}
    retry_after, reset = by_name.get("retry-after", ""), by_name.get("x-ratelimit-reset", "")
    if retry_after.isdecimal():
        return float(retry_after)
    if by_name.get("x-ratelimit-remaining") == "0" and reset.isdecimal():
        # One second more: it is not clear when in its second the reset happens.
        return max(0.0, float(reset) - time.time()) + 1
    return SECONDARY_LIMIT_WAIT_SECONDS
