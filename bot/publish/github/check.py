"""The check run: started before the work, completed whatever happens, so that nobody waits for it in vain."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from github.CheckRun import CheckRun as RemoteCheckRun
from github.GithubObject import NotSet

from bot.errors import BotError
from bot.publish.check import Annotation, CheckConclusion, CheckResult
from bot.publish.github.client import Client
from bot.publish.github.failure import explained
from bot.publish.github.posting import post_once
from bot.publish.text import cut_at_line, fenced

MAXIMUM_TEXT_CHARACTERS = 65_535
MAXIMUM_TITLE_CHARACTERS = 255
ANNOTATIONS_PER_REQUEST = 50
CUT_POINTER = "\n\nCut here. The whole report is in the job summary."


class CheckRun:
    """A check run in progress. Made by `check_run`."""

    def __init__(self, remote: RemoteCheckRun) -> None:
        self.remote = remote
        self.completed = False

    @property
    def url(self) -> str:
        return self.remote.html_url

    def update(self, *, title: str, summary: str) -> None:
        """How far it is; the check run stays in progress."""
        with explained("update the check run"):
            self.remote.edit(status="in_progress", output=_output(title, summary))

    def complete(self, result: CheckResult) -> None:
        """The first request concludes; further ones only append annotations, which GitHub takes 50 at a time.

        GitHub only appends: annotations of a request whose answer got lost may be shown twice.
        """
        output = _output(result.title, result.summary)
        if result.text:
            output["text"] = cut_at_line(result.text, limit=MAXIMUM_TEXT_CHARACTERS, pointer=CUT_POINTER)
        annotations = [_as_json(annotation) for annotation in result.annotations]
        with explained("complete the check run"):
            self.remote.edit(
                status="completed",
                conclusion=result.conclusion.value,
                output=output | {"annotations": annotations[:ANNOTATIONS_PER_REQUEST]},
            )
            self.completed = True
            for start in range(ANNOTATIONS_PER_REQUEST, len(annotations), ANNOTATIONS_PER_REQUEST):
                self.remote.edit(output=output | {"annotations": annotations[start : start + ANNOTATIONS_PER_REQUEST]})


def _as_json(annotation: Annotation) -> dict[str, str | int]:
    return {
        "path": annotation.path,
        "start_line": annotation.line,
        "end_line": annotation.line,
        "annotation_level": annotation.level,
        "message": annotation.message,
        "title": annotation.title[:MAXIMUM_TITLE_CHARACTERS],
    }


def _output(title: str, summary: str) -> dict[str, Any]:
    return {
        "title": title[:MAXIMUM_TITLE_CHARACTERS],
        "summary": cut_at_line(summary, limit=MAXIMUM_TEXT_CHARACTERS, pointer=CUT_POINTER),
    }


def continued_check(
    client: Client, *, name: str, head_sha: str, external_id: str, details_url: str | None = None
) -> CheckRun:
    """The check run of that external id, which an earlier job has started, or a new one."""
    with explained("find the check run"):
        existing = _find(client, name=name, head_sha=head_sha, external_id=external_id)
    if existing is not None:
        return CheckRun(existing)
    return CheckRun(start(client, name=name, head_sha=head_sha, external_id=external_id, details_url=details_url))


@contextmanager
def check_run(
    client: Client, *, name: str, head_sha: str, external_id: str, details_url: str | None = None
) -> Iterator[CheckRun]:
    """Starts a check run on `head_sha`; completes it as failed if the block raises or never completes it.

    `external_id` (such as the id and attempt of the workflow's run) tells this check run from those of other runs.
    """
    check = CheckRun(start(client, name=name, head_sha=head_sha, external_id=external_id, details_url=details_url))
    try:
        yield check
    except BaseException as error:
        if not check.completed:
            complete_after(error, check)
        raise
    if not check.completed:
        check.complete(NO_RESULT)


def start(client: Client, *, name: str, head_sha: str, external_id: str, details_url: str | None) -> RemoteCheckRun:
    def post() -> RemoteCheckRun:
        return client.repository.create_check_run(
            name,
            head_sha,
            status="in_progress",
            external_id=external_id,
            details_url=NotSet if details_url is None else details_url,
        )

    with explained("start the check run"):
        return post_once(
            client, post=post, find=lambda: _find(client, name=name, head_sha=head_sha, external_id=external_id)
        )


def _find(client: Client, *, name: str, head_sha: str, external_id: str) -> RemoteCheckRun | None:
    started = client.repository.get_commit(head_sha).get_check_runs(check_name=name, filter="all")
    return next((check for check in started if check.external_id == external_id), None)


def complete_after(error: BaseException, check: CheckRun) -> None:
    """Says what went wrong, without a traceback. `error` is on its way up: a second failure only adds a note to it."""
    try:
        check.complete(result_of(error))
    except BotError as second:
        error.add_note(second.message)


def result_of(error: BaseException) -> CheckResult:
    if isinstance(error, BotError):
        # The message may quote names from a fork's files.
        return CheckResult(conclusion=CheckConclusion.FAILURE, title="No verdict", summary=fenced(str(error)))
    if isinstance(error, Exception):
        return CheckResult(
            conclusion=CheckConclusion.FAILURE,
            title="No verdict: internal error",
            summary="This is a bug of perf-culprit. The job's log has the details.",
        )
    return CheckResult(
        conclusion=CheckConclusion.CANCELLED, title="Cancelled", summary="The job was stopped before it had a verdict."
    )


NO_RESULT = CheckResult(
    conclusion=CheckConclusion.FAILURE, title="No verdict", summary="The job ended without a result. See its log."
)
