"""Jobs of the action whose n-th call fails: each runs in a child, against the fake GitHub of this process."""

import re
from typing import Final

from perf_culprit.config.database_url import HISTORY_URL
from tests.support.adversary import Scene
from tests.support.fault_table import note_figures
from tests.support.faulted_jobs import JOBS, Before, Job, outcome
from tests.support.job import JobResult
from tests.support.nth_call import Calls, Ended, chosen, remove_locks, wrong_of
from tests.support.nth_call_scenes import Database

KILLED: Final = -9
# What GitHub's runner writes before the job begins.
OF_RUNNER: Final = re.compile(r"/temp(/run-\d+(/event\.json)?)?[\">]")


def wrong_job_cells(scene: Scene, name: str, calls: Calls, database: Database | None = None) -> dict[str, str]:
    """Return the wrong cells of the named job's table: each chosen call, with a fault in turn."""
    scene.runner.fetch_from_folder()
    if database:
        scene.runner.monkeypatch.setenv(HISTORY_URL, database.url)
        scene.database = database.files
    job = JOBS[name](scene)
    before = Before(scene)
    if database:
        database.keep()

    def table() -> dict[str, str]:
        if database:
            database.put_back()
        cells = _table(scene, job, before, calls, database)
        back_end = type(database).__name__ if database else "branch"
        note_figures(f"job {name}, {back_end}, {type(calls).__name__}", f"{len(cells)} calls", cells.values())
        return cells

    return wrong_of(table)


def _table(scene: Scene, job: Job, before: Before, calls: Calls, database: Database | None) -> dict[str, str]:
    def action() -> int:
        return job.run(scene).exit_code

    before.put_back(scene)
    undisturbed, everything = calls.of(action)
    scene.runner.runs += 1  # which only the child has counted
    listed = [call for call in everything if not OF_RUNNER.search(call.what)]
    assert undisturbed.code == 0, undisturbed.output
    job.right(scene, 0)
    cells: dict[str, str] = {}
    for at in chosen(len(listed)):
        before.put_back(scene)
        if database:
            database.put_back()
        fault = calls.faults[at % len(calls.faults)]
        result = calls.disturbed(action, listed[at], fault)
        scene.runner.runs += 1
        scene.fake.wait_for_git()
        if fault == "killed":
            assert scene.fake.git_dir is not None
            remove_locks(scene.fake.git_dir)
        cells[f"{listed[at]}, {fault}"] = outcome(scene, job, _as_result(result)) if result.hit else "not met"
    return cells


def _as_result(ended: Ended) -> JobResult:
    code = KILLED if ended.code is None else ended.code
    return JobResult(exit_code=code, log=ended.output, outputs={}, summary="")
