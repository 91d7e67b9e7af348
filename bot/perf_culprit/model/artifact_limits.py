"""Limit what is taken from GitHub, from artifacts of other jobs and from the history branch.

An artifact is written by a job that runs foreign code, and a thread or a branch may be filled up by anybody. All
beyond a limit is refused or not read.
"""

from typing import Final, NamedTuple


class ArtifactLimits(NamedTuple):
    """The limits; counts are named by what is counted."""

    # Answers of GitHub.
    # A job needs about ten requests. GitHub allows GITHUB_TOKEN 1,000 an hour in a repository, and other workflows need
    # some too: a thread or a run that somebody filled up must not use them all.
    requests: int = 250
    waiting_s: float = 120.0
    # GitHub ignores a `head` that it does not understand and lists every open pull request.
    pull_requests: int = 300
    # Anybody who can read can open pull requests of one head into every branch; at most this number is answered.
    answered_pull_requests: int = 3
    events: int = 300  # the newest of a pull request, among which its last label or title is searched for
    rules: int = 100
    check_runs: int = 100
    artifact_pages: int = 10  # in runs with more artifacts, one can be found by name only
    issues: int = 1_000  # newest first; an issue further back is not found, and a new one is opened
    artifacts: int = 50
    zip_bytes: int = 64 << 20
    artifacts_bytes: int = 64 << 20  # all together
    download_s: float = 60.0
    answer_s: float = 15.0
    api_file_bytes: int = 256 * 1024
    event_bytes: int = 32 << 20
    checked_commands: int = 5  # of a thread, for a bisection that still runs
    fork_comments: int = 3  # and check runs of a fork's run; more suites share one
    waiting_acceptances: int = 20  # for their pull request to be merged: one request each
    reports: int = 20  # of a run; each part of a suite leaves one
    # A command in a comment.
    command_characters: int = 1_000
    command_jobs: int = 20
    command_executions: int = 10_000
    command_minutes: int = 1_440
    command_rounds: int = 100
    command_benchmarks: int = 20
    # A report.
    predictions: int = 20
    environment_changes: int = 500
    # A job's part of a search.
    job_bytes: int = 1 << 20
    job_rounds: int = 64
    job_commits: int = 16
    job_values: int = 10_000
    job_components: int = 50
    failure_characters: int = 400
    job_s: float = 5 * 86_400.0  # GitHub ends a job on a self-hosted runner after five days
    request_bytes: int = 60_000  # GitHub accepts at most 65,535 characters for all inputs of a dispatch
    # A stored search.
    search_bytes: int = 256 << 20
    listed_suspects: int = 200
    subject_characters: int = 200  # of a commit, and of its author's name
    environments: int = 20
    executed_names: int = 100  # of executed code, per candidate
    alarm_metrics: int = 500  # further ones get a later search, which joins its issue
    followed_metrics: int = 200
    fruitless_dispatches: int = 3  # in a row: the search ends
    # The history branch.
    bisections: int = 200  # of each kind
    acceptances: int = 5_000  # a suite with more has other problems; the rest is not read
    acceptance_bytes: int = 16 * 1024
    reason_characters: int = 300
    author_characters: int = 100
    benchmark_characters: int = 500
    traded_changes: int = 20  # of each direction
    conflicts: int = 30  # in a row, with other writers
    remembered_tips: int = 4  # by a process


ARTIFACT_LIMITS: Final = ArtifactLimits()
