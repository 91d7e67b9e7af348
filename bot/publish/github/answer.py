"""What a 200 has to be before anybody reads it: a proxy's page or half a document is no answer."""

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from github import GithubException
from github.Requester import Requester

NO_ANSWER: Final = "the answer is not what was asked for"
# As after a failed server.
WAITS_SECONDS: Final = (2.0, 4.0, 8.0)


class StrictRequester(Requester):
    """PyGithub's requester, which repeats a read whose answer is none. PyGithub would take it for an empty one."""

    def __init__(self, *, sleep: Callable[[float], None], **settings: Any) -> None:
        super().__init__(**settings)
        self.pause = sleep

    def requestJson(  # noqa: N802  # PyGithub's name
        self, verb: str, url: str, parameters: dict[str, Any] | None = None, *more: Any, **named: Any
    ) -> tuple[int, dict[str, Any], str]:
        # PyGithub and we ask for every listing by `per_page`, and GitHub's address of the next page holds it.
        is_listing = "per_page" in (parameters or {}) or "per_page=" in url
        waits = iter(WAITS_SECONDS)
        while True:
            status, headers, body = super().requestJson(verb, url, parameters, *more, **named)
            if verb != "GET" or status != 200 or is_answer(body, is_listing=is_listing):
                return status, headers, body
            wait_seconds = next(waits, None)
            if wait_seconds is None:
                raise GithubException(status, {"message": NO_ANSWER}, headers)
            self.pause(wait_seconds)


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
    """A file's content; a ValueError where it is not base64 or not as long as GitHub says."""
    data = base64.b64decode("".join(str(answer["content"]).split()), validate=True)
    if len(data) != answer["size"]:
        raise ValueError(f"{len(data)} bytes of {answer['size']}")
    return data
