"""Limit what is taken from GitHub, from artifacts of other jobs and from the history branch.

An artifact is written by a job that runs foreign code, and a thread or a branch may be filled up by anybody. All
beyond a limit is refused or not read.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True)
class ArtifactLimits:
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
    subject_characters: int = 200
    environments: int = 20
    executed_names: int = 100  # of executed code, per candidate
    # The history branch.
    bisections: int = 200  # of each kind
    acceptances: int = 5_000  # a suite with more has other problems; the rest is not read


ARTIFACT_LIMITS: Final = ArtifactLimits()
