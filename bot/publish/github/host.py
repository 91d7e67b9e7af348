"""The functions of this package as the methods of one object: what `bot.publish.host.Host` asks for."""

from bot.publish.github import artifacts, branch_file, check, comment, conversation, dispatch, pull_request, tracking
from bot.publish.github.client import ACTIONS_BOT, Client
from bot.publish.github.client import connect as connect_client


class GitHub(Client):
    """A connection (`bot.publish.github.client.connect`) with everything that is asked of it."""

    __slots__ = ()

    find_pull_request = pull_request.find_pull_request
    is_current = pull_request.is_current
    commit_facts = pull_request.commit_facts
    merged_as = pull_request.merged_as
    merged_pull_request = pull_request.merged_pull_request
    read_pull_request = conversation.read_pull_request
    may_write = conversation.may_write
    read_branch_file = branch_file.read_branch_file
    acknowledge = conversation.acknowledge
    cancel_run = conversation.cancel_run
    upsert_comment = comment.upsert_comment
    prefix_comments = comment.prefix_comments
    results = comment.results
    answered_commands = comment.answered_commands
    check_run = check.check_run
    continued_check = check.continued_check
    fetch_artifacts = artifacts.fetch_artifacts
    dispatcher = dispatch.dispatcher
    run_again = conversation.run_again
    may = conversation.may
    refusing_rules = conversation.refusing_rules
    tracked_issues = tracking.tracked_issues
    open_issue = tracking.open_issue
    reopen_issue = tracking.reopen_issue
    close_issue = tracking.close_issue


def connect(*, token: str, api_url: str, repository: str, bot_login: str = ACTIONS_BOT) -> GitHub:
    """For a job: about ten requests, four of them writes, far below every limit, so it need not pause between them."""
    client = connect_client(
        token=token,
        api_url=api_url,
        repository=repository,
        bot_login=bot_login,
        request_pause_seconds=0,
        write_pause_seconds=0,
    )
    return GitHub(repository=client.repository, bot_login=client.bot_login, sleep=client.sleep)
