"""What GitHub or the network refused, in the user's terms: what is missing and what to do next."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime

import requests
from github import BadAttributeException, GithubException, RateLimitExceededException

from bot.errors import InfrastructureError
from bot.publish.event import MissingValueError
from bot.publish.github.answer import NO_ANSWER

SHOWN_CHARACTERS = 200
# What reading a field raises that is missing from an answer or of the wrong kind, in PyGithub as in our code.
INCOMPLETE = (MissingValueError, BadAttributeException, AttributeError, LookupError, TypeError, ValueError)

FORK_HINT = (
    "runs of pull requests from forks get a read-only token whatever the file says: "
    "publish from a workflow on `workflow_run`"
)


@contextmanager
def explained(doing: str) -> Iterator[None]:
    """Turns every failure of a GitHub call inside into an InfrastructureError. `doing`: "post the comment"."""
    try:
        yield
    except GithubException as error:
        raise refused(error, doing=doing) from None
    except requests.RequestException as error:
        raise unreachable(error, doing=doing) from None
    except INCOMPLETE as error:
        raise InfrastructureError(f"cannot {doing}: {NO_ANSWER}", place="GitHub", next_step=SERVER_STEP) from error


def refused(error: GithubException, *, doing: str) -> InfrastructureError:
    """GitHub answered, but not with what was asked for."""
    message, headers = message_of(error), headers_of(error)
    if is_rate_limit(error):
        what, next_step = "the rate limit is used up", rate_limit_step(headers)
    elif error.status == 403 and "locked" in message:
        what, next_step = "the conversation is locked", "unlock it, or read the report in the job summary"
    elif error.status == 403 and ("not accessible" in message or "x-accepted-github-permissions" in headers):
        what, next_step = "the token lacks a permission", permission_step(headers)
    else:
        what, next_step = STATUS_TEXTS.get(error.status, (message or "unexpected answer", SERVER_STEP))
        if error.status in (403, 422) and message:
            what = f"{what}: {message}"
    return InfrastructureError(f"cannot {doing}: {what} (HTTP {error.status})", place="GitHub", next_step=next_step)


def unreachable(error: requests.RequestException, *, doing: str) -> InfrastructureError:
    """No answer at all. The error's own text is left out: it may hold addresses and headers."""
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
    """GitHub's own words, with the first detail, on one short line."""
    data = error.data if isinstance(error.data, Mapping) else {}
    errors = data.get("errors")
    first = errors[0] if isinstance(errors, list) and errors else None
    detail = first.get("message") if isinstance(first, Mapping) else first
    words = " ".join(str(part) for part in (data.get("message"), detail) if part)
    return " ".join(words.split())[:SHOWN_CHARACTERS]


def is_rate_limit(error: GithubException) -> bool:
    limited = isinstance(error, RateLimitExceededException) or error.status == 429
    return limited or (error.status == 403 and "retry-after" in headers_of(error))


def rate_limit_step(headers: Mapping[str, str]) -> str:
    reset = headers.get("x-ratelimit-reset", "")
    exhausted = headers.get("x-ratelimit-remaining") == "0" and reset.isdecimal() and len(reset) <= 10
    when = f"after {datetime.fromtimestamp(int(reset), UTC):%H:%M} UTC" if exhausted else "in some minutes"
    return f"run the job again {when}; GITHUB_TOKEN allows 1,000 requests an hour in a repository"


def permission_step(headers: Mapping[str, str]) -> str:
    """The missing permission as it is written in a workflow: `pull-requests: write`."""
    accepted = headers.get("x-accepted-github-permissions", "")
    names = [part.strip().replace("_", "-").replace("=", ": ") for part in accepted.replace(",", ";").split(";")]
    # Comments on pull requests are open to `issues` and to `pull-requests`; the second is the narrower one to give.
    names.sort(key=lambda name: not name.startswith("pull-requests"))
    wanted = f"add `permissions: {names[0]}` to the job" if names[0] else "check the job's `permissions:`"
    if len(names) > 1 and names[1].startswith("issues"):
        wanted += f" (in an issue: `{names[1]}`)"
    return f"{wanted}; {FORK_HINT}"
