"""Measuring again: the newest run of a workflow on a commit, and a second attempt of it."""

from itertools import islice

from github import UnknownObjectException

from bot.errors import UsageError
from bot.publish.github.client import Client
from bot.publish.github.failure import explained
from bot.publish.github.posting import post_once
from bot.publish.host import Again, Attempt

MAXIMUM_LISTED = 100


def run_again(client: Client, *, workflow: str, head_sha: str) -> Attempt | None:
    """Repeats the failed jobs of the newest run of `workflow` on `head_sha`, or all jobs where none failed.

    None where there is no run. What is repeated has the event, the commit and the rights of its first attempt.
    """
    repository = client.repository
    with explained(f"find the runs of {workflow}"):
        try:
            listed = repository.get_workflow(workflow).get_runs(event="pull_request", head_sha=head_sha)
            newest = next(iter(islice(listed, MAXIMUM_LISTED)), None)
        except UnknownObjectException:
            raise UsageError(
                f"there is no workflow {workflow}",
                place="input measure-workflow",
                next_step="name the file of the workflow that measures, such as perf.yml",
            ) from None
    if newest is None:
        return None
    if newest.status != "completed":
        return Attempt(run_id=newest.id, url=newest.html_url, repeats=Again.NOTHING)
    if newest.conclusion == "action_required":
        # Letting a newcomer's code run is a decision of its own, with his changes in view.
        raise UsageError(
            f"{workflow} waits for an approval", place="the run", next_step="approve it in the pull request"
        )
    repeats = Again.ALL_JOBS if newest.conclusion == "success" else Again.FAILED_JOBS
    action = "rerun" if repeats is Again.ALL_JOBS else "rerun-failed-jobs"
    url = f"{repository.url}/actions/runs/{newest.id}"

    def post() -> bool:
        repository.requester.requestJsonAndCheck("POST", f"{url}/{action}")
        return True

    def find() -> bool | None:
        _, run = repository.requester.requestJsonAndCheck("GET", url)
        return True if run["run_attempt"] > newest.run_attempt else None

    with explained(f"run {workflow} again"):
        # Repeated without a look, an attempt whose answer was lost would be refused as under way.
        post_once(client, post=post, find=find)
    return Attempt(run_id=newest.id, url=newest.html_url, repeats=repeats)
