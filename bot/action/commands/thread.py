"""What a command has in hand: the job, the connection, and the thread that it answers in."""

from dataclasses import dataclass

from bot import git
from bot.action.commands.comment import CommandComment
from bot.action.job import Job
from bot.config import Config
from bot.config.reader import parse_config
from bot.errors import BotError, UsageError
from bot.publish.host import Host
from bot.publish.markers import answer_marker
from bot.publish.text import cut_at_line

MAXIMUM_BODY_CHARACTERS = 65_000
UNREADABLE = "could not read the configuration"
CUT_POINTER = "\n\nCut here: a comment holds no more.\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class Thread:
    job: Job
    host: Host
    comment: CommandComment

    def answer(self, body: str) -> None:
        """The one answer to this command; further ones replace it."""
        put_answer(self.host, number=self.comment.number, comment_id=self.comment.id, body=body)


def put_answer(host: Host, *, number: int, comment_id: int, body: str) -> str | None:
    cut = cut_at_line(body, limit=MAXIMUM_BODY_CHARACTERS, pointer=CUT_POINTER)
    return host.upsert_comment(number=number, mark=answer_marker(comment_id), body=cut)


def default_branch(job: Job) -> str:
    name = job.context.default_branch
    if name is None:
        raise UsageError(
            "repository.default_branch is missing",
            place="event file (GITHUB_EVENT_PATH)",
            next_step="run on issue_comment or workflow_run",
        )
    return name


def trusted_config(job: Job, host: Host) -> Config:
    """The default branch's configuration, whatever is checked out here. The defaults only where it has none."""
    path, branch = job.inputs.config_path.as_posix(), default_branch(job)
    try:
        data = host.read_branch_file(path=path, branch=branch)
        config = Config() if data is None else parse_config(data, place=f"{path} of {branch}")
    except BotError as error:
        message = f"{UNREADABLE}: {error.message}"
        raise type(error)(message, place=error.place, next_step=error.next_step) from error
    return job.inputs.configure(config)


def remote(job: Job) -> git.Remote:
    return git.Remote(url=job.context.git_url, token=job.inputs.token or None)
