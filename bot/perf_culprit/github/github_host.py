"""The functions of this package as methods of one object that implements `perf_culprit.github.host.Host`."""

from perf_culprit.github import posting, pull_requests, workflow_runs
from perf_culprit.github.client import ACTIONS_BOT, Client
from perf_culprit.github.client import create_client as connect_client


class GitHub(Client):
    """A connection (`perf_culprit.github.client.create_client`) with all methods of `Host`."""

    __slots__ = ()

    find_pull_request = pull_requests.find_pull_request
    find_skip = pull_requests.find_skip
    is_current = pull_requests.has_judged_head
    commit_facts = pull_requests.read_commit_facts
    modified_files = pull_requests.modified_files
    merged_as = pull_requests.merged_as
    merged_pull_request = pull_requests.merged_pull_request
    read_pull_request = pull_requests.read_pull_request
    may_write = pull_requests.may_write
    read_branch_file = pull_requests.read_branch_file
    acknowledge = pull_requests.acknowledge
    cancel_run = pull_requests.cancel_run
    upsert_comment = posting.upsert_comment
    prefix_comments = posting.prefix_comments
    results = posting.results
    answered_commands = posting.answered_commands
    check_run = posting.check_run
    has_check = posting.has_check
    continued_check = posting.continued_check
    fetch_artifacts = workflow_runs.fetch_artifacts
    dispatcher = workflow_runs.dispatcher
    read_run = workflow_runs.read_run
    run_again = pull_requests.run_again
    may = pull_requests.may
    refusing_rules = pull_requests.refusing_rules
    required_checks = pull_requests.required_checks
    tracked_issues = posting.tracked_issues
    open_issue = posting.open_issue
    reopen_issue = posting.reopen_issue
    close_issue = posting.close_issue


def connect_github(*, token: str, api_url: str, repository: str, bot_login: str = ACTIONS_BOT) -> GitHub:
    """Connect for a job. It sends about ten requests, four of them writes: far below every limit, so without pauses."""
    client = connect_client(
        token=token,
        api_url=api_url,
        repository=repository,
        bot_login=bot_login,
        request_pause_seconds=0,
        write_pause_seconds=0,
    )
    return GitHub(repository=client.repository, bot_login=client.bot_login, sleep=client.sleep)
