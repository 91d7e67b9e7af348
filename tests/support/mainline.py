"""A repository whose default branch gets pushes, with automatic searches: real git, fake GitHub, scripted machines.

Every commit has a level per benchmark. A measurement of it, by a push or by a job of a search, is that level times the
machine's, with seeded noise. Nothing is executed.
"""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray

from perf_culprit.config.settings import Config
from perf_culprit.model.bisection import Result
from perf_culprit.model.bisection_files import decode_request, encode_job_result
from perf_culprit.model.dispatch import BisectJob, BisectJobResult, BisectRequest, artifact_name
from perf_culprit.model.run import Environment, Run
from perf_culprit.model.run_file import encode_run
from perf_culprit.store.opening import open_history
from tests.support.fake_github.server import FakeGitHub
from tests.support.git_repository import init_repository, run_git, write_object
from tests.support.job import JobResult, Runner, zipped
from tests.support.measurements import MACHINE, SECONDS, measured
from tests.support.webhooks import event

CONFIG: Mapping[str, Any] = {
    "issues": {"when": "regression", "labels": ["performance"]},
    "bisect": {"automatic": True, "run": "./bench", "jobs-per-round": 2, "rounds-per-job": 4, "profile-seconds": 0},
}
MOST_DISPATCHES = 60
START = datetime(2026, 11, 1, tzinfo=UTC)


@dataclass(kw_only=True, slots=True)
class Line:
    """The default branch's commits, and `levels` by commit.

    `image`, `speed` and, by benchmark, `slowness` are the machines' current state; `time` is the runs' time.
    """

    bare: Path
    noise: float = 0.01
    levels: dict[str, Mapping[str, float]] = field(default_factory=dict)
    now: dict[str, float] = field(default_factory=lambda: {"parse": 0.004, "render": 0.02})
    commits: list[str] = field(default_factory=list)
    image: str = "ubuntu24 20261101.1"
    speed: float = 1.0
    slowness: dict[str, float] = field(default_factory=dict)
    time: datetime | None = None
    seed: int = 0

    def configure(self, config: Mapping[str, Any]) -> None:
        """Set the configuration of all later commits."""
        (self.bare / "refs/tags/config").write_text(write_object(self.bare, "blob", json.dumps(config).encode()) + "\n")

    def commit(self, message: str = "", **levels: float) -> str:
        """Add a commit to the default branch; `levels` change from it on. Its hash is the same in all test runs."""
        self.now = {**self.now, **levels}
        number = len(self.levels)
        blobs = {
            ".perf-culprit.yml": (self.bare / "refs/tags/config").read_text().strip(),
            "value": write_object(self.bare, "blob", f"{number} {sorted(self.now.items())}".encode()),
        }
        entries = [f"100644 {name}\0".encode() + bytes.fromhex(blob) for name, blob in blobs.items()]
        parents = "".join(f"parent {parent}\n" for parent in self.commits[-1:])
        ada = f"Ada <ada@example.org> {START.timestamp() + 3600 * number:.0f} +0000"
        text = f"tree {write_object(self.bare, 'tree', b''.join(entries))}\n{parents}author {ada}\ncommitter {ada}\n\n"
        made = write_object(self.bare, "commit", f"{text}{message or f'commit {number}'}\n".encode())
        self.levels[made] = self.now
        self.commits.append(made)
        return made

    def run(self, commit: str, time: datetime | None = None) -> Run:
        """Return a machine's measurement of the commit."""
        self.seed += 1
        levels = {name: self.level(commit, name) for name in self.levels[commit]}
        machine = Environment(components={**MACHINE.components, "runner_image": self.image})
        noise = self.noise
        run = measured(levels, seed=self.seed, commit=commit, environment=machine, noise=noise, run_noise=noise / 2)
        return replace(run, time=time or self.time)

    def level(self, commit: str, benchmark: str) -> float:
        return self.levels[commit][benchmark] * self.speed * self.slowness.get(benchmark, 1.0)


@dataclass(kw_only=True, slots=True)
class Mainline(Line):
    """A line on which the action runs at every push and after every dispatch."""

    fake: FakeGitHub
    runner: Runner
    served: int = 0
    job_seconds: float = 60.0
    suite_seconds: float = 30.0

    def push(self) -> JobResult:
        """Push the commits so far, measure the head and run the action."""
        head = self.commits[-1]
        # The effect of push and fetch, without their processes: the workspace has the served repository's objects.
        for reference in (self.bare / "refs/heads/main", self.runner.workspace / ".git/refs/remotes/origin/main"):
            reference.parent.mkdir(parents=True, exist_ok=True)
            reference.write_text(f"{head}\n")
        self.runner.checkout(head)
        (self.runner.workspace / "bench.json").write_bytes(encode_run(self.run(head)))
        payload = event("push", head_sha=head, base_branch="main")
        payload["repository"]["default_branch"] = "main"
        return self.runner.run(
            "push", payload, sha=head, ref="refs/heads/main", output_file_path="bench.json", config=".perf-culprit.yml"
        )

    def measure(self, *, tells: bool = True) -> JobResult | None:
        """Run the next waiting dispatch: its jobs measure and, unless the event is lost, its last job reports."""
        dispatch = self.fake.state.dispatches[self.served]
        self.served += 1
        run = self.fake.state.runs[dispatch["run_id"]]
        request = decode_request(dispatch["inputs"]["request"].encode(), place="request")
        for place, job in enumerate(request.jobs):
            content = encode_job_result(self._measured(request, job, place))
            self.fake.state.add_artifact(
                name=artifact_name(request.bisection, job.id),
                run_id=run.id,
                head_sha=run.head_sha,
                zip_bytes=zipped({"bisect-job.json": content}),
            )
        run.status, run.conclusion = "completed", "success"
        if not tells:
            return None
        payload = event("workflow_dispatch", inputs=dispatch["inputs"], workflow=run.workflow)
        payload["repository"]["default_branch"] = "main"
        self.runner.run_id = str(run.id)
        try:
            return self.runner.run(
                "workflow_dispatch", payload, ref="refs/heads/main", mode="bisect", config=".perf-culprit.yml"
            )
        finally:
            self.runner.run_id = "55"

    def search(self) -> str:
        """Measure all waiting dispatches; return the jobs' logs."""
        messages = []
        while self.served < len(self.fake.state.dispatches):
            result = self.measure()
            messages.append("" if result is None else result.log)
            assert len(messages) < MOST_DISPATCHES
        return "\n".join(messages)

    def factors(self, benchmarks: Sequence[str], count: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw the noise of `count` successive executions on one machine, shape (count, benchmarks)."""
        noise: NDArray[np.float64] = np.exp(rng.normal(0, 3 * self.noise, (count, len(benchmarks))))
        return noise

    def _measured(self, request: BisectRequest, job: BisectJob, place: int) -> BisectJobResult:
        # The names of dispatches are random.
        rng = np.random.default_rng([self.seed, self.served, place])
        offset = float(np.exp(rng.normal(0, 0.05)))

        keys = (request.key, *request.followed)
        executions = sum(len(entry.commits) for entry in job.rounds)
        factors = iter(offset * self.factors([key.benchmark for key in keys], executions, rng))

        def values(commit: str) -> tuple[float, ...]:
            level = np.array([self.level(commit, key.benchmark) for key in keys])
            return tuple((level * next(factors)).tolist())

        measured = {each.id: {name: values(name) for name in each.commits} for each in job.rounds}
        rounds = tuple(
            Result(job_id=number, values={name: numbers[:1] for name, numbers in commits.items()})
            for number, commits in measured.items()
        )
        return BisectJobResult(
            bisection=request.bisection,
            dispatch=request.dispatch,
            job=job.id,
            rounds=rounds,
            metric=SECONDS,
            environment={**MACHINE.components, "runner_image": self.image},
            elapsed_seconds=self.job_seconds + executions * self.suite_seconds,
            followed={
                number: {name: numbers[1:] for name, numbers in commits.items()}
                for number, commits in measured.items()
                if request.followed
            },
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Recorded:
    """A served repository with quiet runs, to copy: recording them takes seconds."""

    folder: Path
    levels: Mapping[str, Mapping[str, float]]
    commits: Sequence[str]


def recorded_mainline(
    folder: Path, *, config: Mapping[str, Any] = CONFIG, runs: int = 12, levels: Mapping[str, float] | None = None
) -> Recorded:
    """Record a main line of `runs` quiet pushes, stored as the action stores them."""
    bare = init_repository(folder / "served.git", bare=True)
    run_git(bare, "config", "uploadpack.allowAnySHA1InWant", "true")
    run_git(bare, "config", "uploadpack.allowFilter", "true")
    line = Line(bare=bare) if levels is None else Line(bare=bare, now=dict(levels))
    line.configure(config)
    made = [line.commit() for _ in range(runs)]
    run_git(bare, "update-ref", "refs/heads/main", made[-1])
    with open_history(Config().history, url=str(bare)) as history:
        history.append_all([line.run(commit, START + timedelta(hours=at)) for at, commit in enumerate(made)])
    return Recorded(folder=folder, levels=line.levels, commits=line.commits)


@contextmanager
def open_mainline(
    recorded: Recorded,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capture: pytest.CaptureFixture[str],
    kind: type[Mainline] = Mainline,
) -> Iterator[Mainline]:
    bare = Path(shutil.copytree(recorded.folder / "served.git", folder / "served.git"))
    workspace = init_repository(folder / "workspace")
    run_git(workspace, "remote", "add", "origin", str(bare))
    (workspace / ".git/objects/info/alternates").write_text(f"{bare}/objects\n")
    with FakeGitHub(git_dir=bare) as fake:
        runner = Runner(fake=fake, workspace=workspace, temp=folder / "temp", monkeypatch=monkeypatch, capture=capture)
        runner.fetch_from_folder()
        yield kind(
            fake=fake,
            runner=runner,
            bare=bare,
            levels=dict(recorded.levels),
            now=dict(recorded.levels[recorded.commits[-1]]),
            commits=list(recorded.commits),
            seed=len(recorded.commits),
        )
    assert not fake.bad
