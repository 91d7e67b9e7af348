"""Jobs of the action that anything may disturb: how each begins, what it does, and whether all of it was done once."""

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec.structs import replace

from perf_culprit.git.objects import remove_kept
from perf_culprit.github import client
from perf_culprit.github.bot_texts import comment_marker
from perf_culprit.model.bisection import Result
from perf_culprit.model.bisection_files import decode_request, decode_stored
from perf_culprit.model.dispatch import BisectJobResult
from perf_culprit.model.finding import Verdict
from perf_culprit.model.report import Conclusion, encode_report
from perf_culprit.store import git_branch
from perf_culprit.store.retention import Patience
from tests.support import history_check, reports
from tests.support.adversary import INNOCENT_PULL, MALLORY_PULL, WORKFLOW, Scene, open_scene
from tests.support.fake_github.state import BOT, Comment
from tests.support.git_repository import run_git
from tests.support.job import JobResult, zipped
from tests.support.measurements import SECONDS, measured_in_turn_json
from tests.support.runner_pool import packed
from tests.support.webhooks import event

LEVELS: Final = {"parse": 0.004, "render": 0.02, "load": 0.001}
SLOWER: Final = LEVELS | {"parse": 0.0096}
ISSUES: Final = "issues: {when: regression}\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """A job. `right` raises if something is missing or done twice; it gets the number of earlier attempts."""

    name: str
    payload: dict[str, Any]
    right: Callable[[Scene, int], None]
    options: dict[str, Any] = field(default_factory=dict)
    run_id: str = "55"

    def run(self, scene: Scene, *, attempt: str = "1") -> JobResult:
        git_branch._tips.clear()  # another job has seen nothing yet
        remove_kept()
        scene.runner.run_id = self.run_id
        return scene.runner.run(self.name, self.payload, attempt=attempt, **self.options)


def own(scene: Scene) -> list[Comment]:
    return [comment for comment in scene.fake.state.comments.values() if comment.author == BOT]


def stored(scene: Scene, folder: str = "") -> list[str]:
    assert scene.fake.git_dir is not None
    if scene.database is not None:
        return [name for name in scene.database() if name.startswith(folder)]
    if "perf-history" not in scene.refs:
        return []
    names = run_git(scene.fake.git_dir, "ls-tree", "-r", "--name-only", "perf-history").splitlines()
    return [name for name in names if name.startswith(folder)]


def checked(scene: Scene, earlier: int, *, conclusion: str) -> None:
    """Check the newest check run. A job that is run again has its own, of the same name; GitHub shows the newest."""
    *older, newest = scene.fake.state.check_runs.values()
    assert (newest.status, newest.conclusion) == ("completed", conclusion)
    assert {check.conclusion for check in older} <= {None, conclusion}
    assert len(older) <= earlier


def with_main(payload: dict[str, Any]) -> dict[str, Any]:
    payload["repository"]["default_branch"] = "main"
    return payload


def publish(scene: Scene) -> Job:
    slower = reports.finding("parse", 100, 150, verdict=Verdict.REGRESSION, rate=1e-6)
    report = replace(reports.report(Conclusion.REGRESSION, slower), target_commit=scene.head, suite="default")
    content = zipped({"report.json": encode_report(report)})
    scene.fake.state.add_artifact(name="perf-culprit-report", run_id=55, head_sha=scene.head, zip_bytes=content)
    facts = {"head_sha": scene.head, "head_owner": "mallory", "head_branch": "faster", "run_id": 55}

    def right(scene: Scene, earlier: int) -> None:
        (comment,) = own(scene)
        assert comment.issue == MALLORY_PULL
        assert comment.body.startswith(comment_marker("default"))
        checked(scene, earlier, conclusion="neutral")
        assert stored(scene) == []

    return Job(name="workflow_run", payload=with_main(event("workflow_run", workflow=WORKFLOW, **facts)), right=right)


def commanded(scene: Scene, body: str, right: Callable[[Scene, int], None]) -> Job:
    comment = scene.fake.state.add_comment(issue=MALLORY_PULL, author="octocat", body=body)
    facts = {"number": MALLORY_PULL, "comment_id": comment.id, "comment_body": body, "author": "octocat"}
    return Job(name="issue_comment", payload=with_main(event("issue_comment", **facts)), right=right)


def accept(scene: Scene) -> Job:
    def right(scene: Scene, _: int) -> None:
        (comment,) = own(scene)
        assert "**Accepted**" in comment.body
        assert len(stored(scene, "accepted/")) == 1

    return commanded(scene, f"/perf-accept {scene.head} parse wanted", right)


def retry(scene: Scene) -> Job:
    scene.fake.state.runs[55].conclusion = "failure"

    def right(scene: Scene, _: int) -> None:
        (comment,) = own(scene)
        assert "Measuring again" in comment.body or "still under way" in comment.body
        assert scene.fake.state.runs[55].attempt == 2

    return commanded(scene, "/perf-retry", right)


def bisect(scene: Scene) -> Job:
    scene.runner.monkeypatch.setenv("INPUT_CONFIG", scene.configure())

    def right(scene: Scene, _: int) -> None:
        (comment,) = own(scene)
        assert comment.issue == MALLORY_PULL
        assert len(scene.fake.state.dispatches) == 1
        assert len(stored(scene, "bisections/")) == 1

    return commanded(scene, f"/perf-bisect {scene.head}", right)


def report(scene: Scene) -> Job:
    """Return the last job of the first dispatched run, after its machines have measured."""
    asked = bisect(scene)
    assert asked.run(scene).exit_code == 0
    state = scene.fake.state
    (dispatch,) = state.dispatches
    run, request = state.runs[dispatch["run_id"]], decode_request(dispatch["inputs"]["request"].encode(), place="it")
    run.status = "in_progress"
    for job in request.jobs:
        rounds = tuple(
            Result(job_id=one.id, values={commit: (1.0 + (commit == scene.head),) for commit in one.commits})
            for one in job.rounds
        )
        result = BisectJobResult(
            bisection=request.bisection,
            dispatch=request.dispatch,
            job=job.id,
            rounds=rounds,
            metric=SECONDS,
            elapsed_seconds=1.0,
        )
        left = packed(request, job, result)
        state.add_artifact(name=left.name, run_id=run.id, head_sha=run.head_sha, zip_bytes=left.zip_bytes)
    expected = sum(len(job.rounds) for job in request.jobs)

    def right(scene: Scene, _: int) -> None:
        (comment,) = own(scene)
        assert comment.writes > 1
        assert len(scene.fake.state.dispatches) == 2
        (name,) = stored(scene, "bisections/")
        assert scene.fake.git_dir is not None
        files = history_check.on_branch(scene.fake.git_dir) if scene.database is None else scene.database()
        bisection = decode_stored(files[name], place=name)
        assert len(bisection.search.results) == expected
        assert len(bisection.dispatches) == 2

    facts = {"inputs": dispatch["inputs"], "workflow": run.workflow}
    return Job(
        name="workflow_dispatch",
        payload=with_main(event("workflow_dispatch", **facts)),
        right=right,
        options={"mode": "bisect"},
        run_id=str(run.id),
    )


def measured(scene: Scene) -> dict[str, Any]:
    """Write the measurements of the job's earlier step: rounds of both sides, in which one benchmark got slower."""
    workspace = scene.runner.workspace
    if not (workspace / ".git").exists():
        run_git(scene.folder, "clone", "--quiet", str(scene.fake.git_dir), str(workspace))
        for name, levels in {"base": LEVELS, "head": SLOWER}.items():
            (workspace / f"{name}.json").write_bytes(measured_in_turn_json(levels, seed=len(name)))
        (workspace / ".github").mkdir()
        (workspace / ".github/perf-culprit.yml").write_text(ISSUES)
    return {"output_file_path": "head.json", "baseline_file_path": "base.json"}


def pushed(scene: Scene, right: Callable[[Scene, int], None], **inputs: str) -> Job:
    main = scene.commits["main2"]
    payload = with_main(event("push", head_sha=main, base_sha=scene.commits["main1"], base_branch="main"))
    where = {"sha": main, "ref": "refs/heads/main"}
    return Job(name="push", payload=payload, right=right, options=measured(scene) | where | inputs)


def push(scene: Scene) -> Job:
    def right(scene: Scene, earlier: int) -> None:
        checked(scene, earlier, conclusion="failure")
        assert "slower" in list(scene.fake.state.check_runs.values())[-1].output["title"]
        assert len(stored(scene, "runs/")) == 1
        assert len(scene.fake.state.issues) == 1

    return pushed(scene, right)


def record(scene: Scene) -> Job:
    def right(scene: Scene, _: int) -> None:
        assert len(stored(scene, "runs/")) == 1

    return pushed(scene, right, mode="record")


def pull(scene: Scene) -> Job:
    """Return the job of a pull request from the same repository, so that one job measures and writes."""
    head = scene.fake.state.pulls[INNOCENT_PULL].head_sha
    facts = {"number": INNOCENT_PULL, "head_sha": head, "head_branch": "innocent", "base_sha": scene.commits["main2"]}

    def right(scene: Scene, earlier: int) -> None:
        (comment,) = own(scene)
        assert comment.issue == INNOCENT_PULL
        assert "got slower" in comment.body
        checked(scene, earlier, conclusion="failure")
        assert "slower" in list(scene.fake.state.check_runs.values())[-1].output["title"]
        assert stored(scene) == []

    where = {"sha": "e" * 40, "ref": f"refs/pull/{INNOCENT_PULL}/merge"}
    payload = with_main(event("pull_request", **facts))
    return Job(name="pull_request", payload=payload, right=right, options=measured(scene) | where)


JOBS: Final[dict[str, Callable[[Scene], Job]]] = {
    "publish": publish,
    "accept": accept,
    "retry": retry,
    "bisect": bisect,
    "report": report,
    "push": push,
    "record": record,
    "pull": pull,
}


@contextmanager
def patient_scene(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]
) -> Iterator[Scene]:
    """Open a scene in which requests are retried once or twice, without a wait."""
    assert Patience.__init__.__kwdefaults__ is not None
    monkeypatch.setitem(Patience.__init__.__kwdefaults__, "attempts", 2)
    monkeypatch.setattr(client, "RETRIES", 2)
    with open_scene(folder, monkeypatch, capture) as opened:
        yield opened


class Before:
    """The state of the repository and of GitHub before a job, to be restored."""

    def __init__(self, scene: Scene) -> None:
        state = scene.fake.state
        self.state = {one.name: getattr(state, one.name) for one in fields(state) if one.name != "ids"}
        self.state = deepcopy(self.state)
        assert scene.fake.git_dir is not None
        self.refs, self.kept = scene.fake.git_dir / "refs", scene.folder / "refs-before"
        shutil.copytree(self.refs, self.kept)

    def put_back(self, scene: Scene) -> None:
        for name, value in deepcopy(self.state).items():
            setattr(scene.fake.state, name, value)
        shutil.rmtree(self.refs)
        shutil.copytree(self.kept, self.refs)
        scene.fake.faults, scene.fake.git_faults = [], []
        scene.fake.log.clear()
        shutil.rmtree(scene.runner.temp, ignore_errors=True)
        shutil.rmtree(scene.runner.workspace / "perf-culprit", ignore_errors=True)


def twice(scene: Scene) -> list[str]:
    state = scene.fake.state
    files = Counter(name.partition("/")[0] for name in stored(scene))
    # Dispatches are numbered.
    sent = Counter(one["inputs"]["dispatch"].partition("-")[0] for one in state.dispatches)
    counts = {
        "comments": len(own(scene)),
        **{folder: files[folder] for folder in ("accepted", "bisections", "runs")},
        "issues": len(state.issues),
        "dispatches": max(sent.values(), default=0),
        "attempts": state.runs[55].attempt - 1,
        "check runs": len(state.check_runs),
        "green checks": 2 * len([1 for one in state.check_runs.values() if one.conclusion == "success"]),
    }
    return [what for what, count in counts.items() if count > 1]


def outcome(scene: Scene, job: Job, result: JobResult) -> str:
    """Classify the result: right at once; reported (failure or warning) and right by the next attempt; or wrong."""
    if "this is a bug" in result.log or "Traceback" in result.log:
        return f"wrong: {result.log[-300:]}"
    if doubled := twice(scene):
        return f"wrong: twice {doubled}"
    try:
        job.right(scene, 0)
    except (AssertionError, ValueError) as error:
        if result.exit_code == 0 and "::warning" not in result.log:
            return f"wrong: silent: {str(error)[:300]}"
    else:
        return "right"
    scene.fake.faults, scene.fake.git_faults = [], []
    # A failing check reports it; that of the next attempt is listed above it.
    checks = scene.fake.state.check_runs
    scene.fake.state.check_runs = {number: check for number, check in checks.items() if check.conclusion != "failure"}
    # By hand, from the Actions page: a command that was answered is done again.
    again = job.run(scene, attempt="2")
    try:
        assert again.exit_code == 0, again.log
        job.right(scene, 1)
    except (AssertionError, ValueError) as error:
        return f"wrong: lost: {str(error)[:400]}"
    return "said"
