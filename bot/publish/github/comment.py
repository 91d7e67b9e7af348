"""The sticky comment: one per suite and pull request, edited in place."""

from github import UnknownObjectException
from github.IssueComment import IssueComment

from bot.errors import InfrastructureError
from bot.publish.github.client import Client
from bot.publish.github.failure import explained
from bot.publish.github.posting import post_once
from bot.publish.markers import ANSWER, ANSWER_START

MAXIMUM_BODY_CHARACTERS = 65_536
# Begins the line that says that a result is of an older head; a new result replaces the whole comment.
OUTDATED = "> ⚠️ "


def answered_commands(client: Client, *, number: int) -> tuple[int, ...]:
    """The comments of a thread that the bot has answered as commands, newest first."""
    with explained(f"read the comments of #{number}"):
        answers = own_comments(client, number=number, mark=ANSWER_START)
    matches = (ANSWER.match(answer.body or "") for answer in answers)
    return tuple(sorted({int(match[1]) for match in matches if match}, reverse=True))


def upsert_comment(client: Client, *, number: int, mark: str, body: str, create: bool = True) -> str | None:
    """Edits the bot's comment of that first line on pull request or issue `number`, or posts one (if `create`).

    With `create=False` (nothing changed, and the user asked for silence) an earlier comment still gets the new text:
    a red verdict must not outlive its cause. The comment's address, None where there is none.
    """
    body = body if body.startswith(mark) else f"{mark}\n{body}"
    if len(body) > MAXIMUM_BODY_CHARACTERS:
        raise InfrastructureError(
            f"the comment has {len(body):,} characters; GitHub takes {MAXIMUM_BODY_CHARACTERS:,}",
            next_step="read the report in the job summary, and report this bug of perf-culprit",
        )
    issue = client.repository.get_issue(number)
    with explained(f"read the comments of #{number}"):
        existing = own_comments(client, number=number, mark=mark)
    if not existing and not create:
        return None
    if not existing:
        with explained(f"post the comment on #{number}"):
            posted = post_once(
                client,
                post=lambda: issue.create_comment(body),
                find=lambda: next(iter(own_comments(client, number=number, mark=mark)), None),
            )
        return posted.html_url
    kept, *duplicates = existing
    with explained(f"edit the comment on #{number}"):
        # Two jobs that raced may both have posted.
        for duplicate in duplicates:
            delete(duplicate)
        if not same_text(kept.body, body):
            kept.edit(body)
    return kept.html_url


def prefix_comments(client: Client, *, number: int, start: str, line: str) -> None:
    """`line` below the marker of each of the bot's results; it takes the place of an earlier such line."""
    for comment in _results(client, number=number, start=start):
        mark, _, rest = comment.body.replace("\r\n", "\n").partition("\n")
        if rest.startswith(OUTDATED):
            rest = rest.partition("\n")[2].lstrip("\n")
        body = f"{mark}\n{line}\n\n{rest}"
        if len(body) <= MAXIMUM_BODY_CHARACTERS and not same_text(comment.body, body):
            with explained(f"edit the comment on #{number}"):
                comment.edit(body)


def results(client: Client, *, number: int, start: str) -> tuple[str, ...]:
    """The texts of the bot's results, the oldest first."""
    return tuple(comment.body for comment in _results(client, number=number, start=start))


def _results(client: Client, *, number: int, start: str) -> list[IssueComment]:
    with explained(f"read the comments of #{number}"):
        comments = own_comments(client, number=number, mark=start)
    return [comment for comment in comments if not comment.body.startswith(ANSWER_START)]


def own_comments(client: Client, *, number: int, mark: str) -> list[IssueComment]:
    """Oldest first. Anybody can paste the marker, so the author counts too."""
    comments = client.repository.get_issue(number).get_comments()
    own = [
        comment
        for comment in comments
        # The author of a comment is null where the account is gone.
        if getattr(comment.user, "login", "").lower() == client.bot_login.lower()
        and (comment.body or "").startswith(mark)
    ]
    return sorted(own, key=lambda comment: comment.id)


def delete(comment: IssueComment) -> None:
    try:
        comment.delete()
    except UnknownObjectException:
        # Another job was faster, or the answer to the first attempt got lost.
        return


def same_text(stored: str, new: str) -> bool:
    # GitHub may store other line ends and trim the text's end.
    return stored.replace("\r\n", "\n").strip() == new.replace("\r\n", "\n").strip()
