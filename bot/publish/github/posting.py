"""POST that leaves one result: a lost answer is looked for before it is sent again."""

from collections.abc import Callable
from typing import TypeVar

import requests
from github import GithubException

from bot.publish.github.client import Client, limit_wait_seconds, too_long
from bot.publish.github.failure import headers_of, is_rate_limit

ATTEMPTS = 3
# A new object may be missing from listings for some seconds, so one look is not enough.
LOOK_AGAIN_SECONDS = (1.0, 2.0, 4.0)

Result = TypeVar("Result")


def post_once(
    client: Client, *, post: Callable[[], Result], find: Callable[[], Result | None], attempts: int = ATTEMPTS
) -> Result:
    """`post()`'s result, or what `find()` sees of an attempt whose answer got lost.

    Refusals (4xx) are raised at once; rate limits are waited for; after a server or connection failure nobody knows
    whether the change was made, so it is looked for until it can no longer be hidden.
    """
    try:
        return post()
    except (GithubException, requests.RequestException) as error:
        if isinstance(error, GithubException) and is_rate_limit(error):
            wait_seconds = limit_wait_seconds(headers_of(error))
            if attempts == 1 or too_long(wait_seconds):
                raise
            client.sleep(wait_seconds)
        elif not isinstance(error, GithubException) or error.status >= 500:  # it may have been applied
            existing = look_again(client, find)
            if existing is not None:
                return existing
            if attempts == 1:
                raise
        else:
            raise
    return post_once(client, post=post, find=find, attempts=attempts - 1)


def look_again(client: Client, find: Callable[[], Result | None]) -> Result | None:
    for wait_seconds in LOOK_AGAIN_SECONDS:
        client.sleep(wait_seconds)
        existing = find()
        if existing is not None:
            return existing
    return None
