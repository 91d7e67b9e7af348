"""`perf-culprit bisect-job`: part of a bisection on this machine, and a whole one of such jobs on a real branch."""

import json
from pathlib import Path
from typing import Any

import pytest

from perf_culprit import git
from perf_culprit.action.jobs.proof import proven
from perf_culprit.cli.entry import main
from perf_culprit.config.reader import parse_config
from perf_culprit.config.settings import Config
from perf_culprit.dispatch.controller import Controller, advance_bisection
from perf_culprit.dispatch.start import DispatchPlan, start_bisection
from perf_culprit.dispatch.workflow_dispatcher import Workflow
from perf_culprit.errors import ConfigError
from perf_culprit.flows.compare import judge_run
from perf_culprit.model.bisection import OutcomeKind
from perf_culprit.model.count import Count
from perf_culprit.model.dispatch import Alarm, AlarmedMetric, BisectionStep, artifact_name
from perf_culprit.model.finding import Baseline, BaselineSource, Verdict
from perf_culprit.model.reason import Remark
from perf_culprit.model.report import Report
from perf_culprit.model.run import Benchmark, Direction, Metric, MetricKey
from perf_culprit.model.run import Run as ModelRun
from perf_culprit.say.bisection_answer import bisection_markdown
from perf_culprit.store.opening import GitBranch
from tests.support.git_repository import init_repository, run_git
from tests.support.measured_repository import COUNTER, RUN, line, measured_repository
from tests.support.reasons import words_of
from tests.support.runner_pool import Pool, Run, zipped

pytestmark = pytest.mark.slow  # whole searches of real worktrees and processes


@pytest.fixture(autouse=True)
def counter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(COUNTER, str(tmp_path / "counter"))


class Place:
    """A repository with a slow commit, a history next to it, and machines that run the command."""

    def __init__(self, folder: Path, *, bisect: str = "", run: str = RUN) -> None:
        self.folder = folder
        self.repository = folder / "repository"
        self.hashes = measured_repository(self.repository, line(9, step_at=5))
        self.history = git.Remote(url=str(init_repository(folder / "history.git", bare=True)))
        self.pool = Pool(slow_from=0)
        self.told: list[BisectionStep] = []
        self.controllers = 0
        self.config = config(bisect, run=run)

    def controller(self) -> Controller:
        self.controllers += 1
        store = GitBranch(self.history, self.folder / f"private{self.controllers}")
        return Controller(bisections=store, dispatcher=Workflow(self.pool), report=self.told.append, history=store)

    def start(self, **options: Any) -> BisectionStep:
        ends = {"good": self.hashes["c0"], "bad": self.hashes["c8"], "benchmark": "result", "metric": "value"}
        plan = DispatchPlan(**{"id": "7", **ends, **options})
        return start_bisection(self.repository, plan, config=self.config, controller=self.controller())

    def measure(self, run: Run, /, *, jobs: int | None = None, of: str = "7", **options: str) -> None:
        request = self.folder / "request.json"
        request.write_text(run.inputs["request"])
        for job in json.loads(run.inputs["jobs"])[:jobs]:
            out = self.folder / "out" / f"{run.id}-{job}"
            argv = ["bisect-job", "--repo", str(self.repository), "--request", str(request), "--job", job]
            more = [word for name, value in options.items() for word in (f"--{name}", value)]
            assert main([*argv, "--output", str(out), *more]) == 0
            run.artifacts.append(zipped(artifact_name(of, job), (out / "bisect-job.json").read_bytes()))
        run.completed = True


def config(bisect: str, *, run: str = RUN) -> Config:
    lines = [f"bisect: {{run: {json.dumps(run)}{bisect}}}"]
    return parse_config("\n".join(lines).encode(), place="config")


def test_a_bisection_of_real_commits_by_jobs_and_events(tmp_path: Path) -> None:
    place = Place(tmp_path)
    step = place.start(default_branch="main", pull_request=3)
    assert len(place.pool.runs) == 1
    assert step.bisection.metric is None
    place.start()
    assert len(place.pool.runs) == 1
    for _ in range(30):
        run = place.pool.runs[-1]
        place.measure(run)
        step = advance_bisection(place.controller(), run_id=run.id)
        if step.report is not None:
            break
    assert step.report is not None
    assert step.report.outcome.kind is OutcomeKind.CULPRIT
    assert [entry.commit for entry in step.report.outcome.culprits] == [place.hashes["c5"]]
    assert step.report.subjects[place.hashes["c5"]] == "commit c5"
    assert step.bisection.metric is not None
    assert step.bisection.metric.direction is Direction.LOWER_IS_BETTER
    assert step.bisection.pull_request == 3
    # All of the range is on the default branch: the measurements are kept, separate from baselines.
    files = run_git(Path(place.history.url), "ls-tree", "-r", "--name-only", "perf-history").splitlines()
    assert sum(name.startswith("runs/default-bisect-") for name in files) == len(step.report.measured)
    # The next search knows the metric, and starts from these rounds.
    again = place.start(id="8", benchmark=None, metric=None)
    assert again.bisection.key == step.bisection.key
    assert len(again.bisection.search.stored) == len(step.bisection.search.results)


def test_the_same_executions_give_the_numbers_of_further_metrics(tmp_path: Path) -> None:
    metric = Metric(name="value", unit="", direction=Direction.LOWER_IS_BETTER)
    keys = (MetricKey("result", "value"), MetricKey("result", "value"), MetricKey("gone", "value"))
    alarm = Alarm(metrics=tuple(AlarmedMetric(key=key, metric=metric, before=1.0, after=2.0) for key in keys))
    asked = tmp_path / "asked"
    place = Place(tmp_path, run=f'echo "$PERF_CULPRIT_BENCHMARKS" > {asked}; {RUN}')
    place.start(id="auto-1", alarm=alarm)
    run = place.pool.runs[-1]
    place.measure(run, of="auto-1")
    assert asked.read_text().split() == ["result", "gone"]
    bisection = advance_bisection(place.controller(), run_id=run.id).bisection
    values = [result for result in bisection.search.results if result.values]
    assert values
    for result in values:
        followed = bisection.followed[result.job_id]
        assert {commit: numbers[0] for commit, numbers in result.values.items()} == pytest.approx(
            {commit: numbers[0] for commit, numbers in followed.items()}, rel=1e-5
        )
        assert {numbers[1] for numbers in followed.values()} == {None}


@pytest.mark.parametrize(
    ("base", "head", "verdict"), [("c4", "c5", Verdict.REGRESSION), ("c3", "c4", Verdict.UNCHANGED)]
)
def test_a_job_proves_or_refutes_what_stored_runs_suspect(
    tmp_path: Path, base: str, head: str, verdict: Verdict
) -> None:
    place = Place(tmp_path)
    metric = Metric(name="value", unit="", direction=Direction.LOWER_IS_BETTER)

    def stored(value: float, commit: str) -> ModelRun:
        benchmark = Benchmark.of(name="result", metric=metric, samples=(value,))
        return ModelRun(benchmarks=(benchmark,), commit=place.hashes[commit])

    runs = tuple(stored(1000 + 3 * number, f"c{number % 3}") for number in range(9))
    target = stored(1300, head)
    first = judge_run(Baseline(runs=runs, source=BaselineSource.HISTORY), target, config=place.config)
    assert [one.verdict for one in first.findings] == [Verdict.SUSPECTED]

    def now() -> Report:
        before, controller = place.hashes[base], place.controller()
        return proven(first, target, base=before, run_id=41, config=place.config, controller=controller)

    assert now().notes[0].code is Remark.BEING_PROVEN
    (run,) = place.pool.runs
    place.measure(run, of=run.inputs["bisection"])
    answer = now()
    assert len(place.pool.runs) == 1
    assert [one.verdict for one in answer.findings] == [verdict], words_of(answer.notes)
    assert answer.cost is not None
    assert answer.cost.executions == 28


def test_nothing_of_a_pull_request_is_recorded(tmp_path: Path) -> None:
    place = Place(tmp_path)
    run_git(place.repository, "branch", "--force", "trunk", place.hashes["c3"])
    assert not place.start(default_branch="trunk").bisection.trusted
    assert not place.start(id="8").bisection.trusted
    assert place.start(id="9", default_branch="main").bisection.trusted


def test_a_job_that_runs_out_of_time_keeps_what_it_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = Place(tmp_path)
    place.start()
    run = place.pool.runs[0]
    request = tmp_path / "request.json"
    two = json.loads(run.inputs["request"])
    job = two["request"]["jobs"][0]
    job["rounds"] += [{**job["rounds"][0], "id": "round-9999"}]
    request.write_text(json.dumps(two))
    argv = ["bisect-job", "--repo", str(place.repository), "--request", str(request), "--output", str(tmp_path / "o")]
    assert main([*argv, "--job", "job-1", "--minutes", "0.00001"]) == 0
    assert "measured 1 of 2 rounds" in capsys.readouterr().out
    two["request"]["minutes"] = 0.00001
    request.write_text(json.dumps(two))
    assert main([*argv, "--job", "job-1"]) == 0
    assert "measured 1 of 2 rounds" in capsys.readouterr().out
    assert main([*argv, "--job", "job-9"]) == 3
    assert "use one of: job-1, job-2" in capsys.readouterr().err
    request.write_text("{}")
    assert main([*argv, "--job", "job-1"]) == 3
    assert "not a valid bisect-request-v1" in capsys.readouterr().err
    assert run_git(place.repository, "worktree", "list").count("\n") == 0


def test_failures_are_results_too(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.start()
    place.measure(place.pool.runs[0], jobs=1, run="echo no compiler >&2; exit 3")
    step = advance_bisection(place.controller(), run_id=place.pool.runs[0].id)
    (first, *_) = step.bisection.search.results
    assert not first.values
    assert all("no compiler" in failure.message for failure in first.failures.values())


def test_what_cannot_be_counted_is_said_and_times_take_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(tmp_path, bisect=", benchmark: result, metric: value")
    monkeypatch.setattr("perf_culprit.measure.quantities_of_commands.shutil.which", lambda _: None)
    place.start(benchmark=None, metric="instructions")
    place.measure(place.pool.runs[0], jobs=1)
    step = advance_bisection(place.controller(), run_id=place.pool.runs[0].id)
    assert step.report is not None
    assert step.report.outcome.kind is OutcomeKind.UNMEASURABLE
    assert "valgrind is not installed (package valgrind)" in bisection_markdown(step.report)

    auto = place.start(id="8", metric="auto")
    assert auto.bisection.commands.count is Count.INSTRUCTIONS
    place.measure(place.pool.runs[-1], jobs=1, of="8")
    step = advance_bisection(place.controller(), run_id=place.pool.runs[-1].id)
    assert step.report is None
    assert (step.bisection.key.metric, step.bisection.commands.count) == ("value", None)
    assert any("valgrind is not installed" in note for note in words_of(step.bisection.notes))


METRICS = 'echo "{\\"parse\\": {\\"cache-misses\\": {\\"value\\": $(cat value)}}}"'


def test_a_configured_direction_makes_a_metric_followable(tmp_path: Path) -> None:
    """The machines get no configuration: its settings of the metric are part of the request."""
    place = Place(tmp_path)
    directions = "benchmarks: [{match: parse, direction: higher_is_better}]"
    text = f"{directions}\nbisect: {{run: {json.dumps(METRICS)}, benchmark: parse, metric: cache-misses}}"
    place.config = parse_config(text.encode(), place="config")
    place.start(benchmark=None, metric=None)
    place.measure(place.pool.runs[0], jobs=1)
    step = advance_bisection(place.controller(), run_id=place.pool.runs[0].id)
    assert step.bisection.metric is not None
    assert step.bisection.metric.direction is Direction.HIGHER_IS_BETTER
    assert step.bisection.search.results[0].values


def test_without_a_command_nothing_is_begun(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.config = Config()
    with pytest.raises(ConfigError, match=r"bisect\.run is not set"):
        place.start()
    assert place.pool.runs == []
