"""The action on every event, in this process: real git, real history branch, the fake GitHub behind PyGithub."""

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from perf_culprit.cli.entry import main
from perf_culprit.config.settings import Config
from perf_culprit.flows.compare_history import compare_run_with_history
from perf_culprit.flows.record import record_run
from perf_culprit.say.certainty_words import NOT_PROVEN
from perf_culprit.store.opening import HistoryPlace
from tests.support.fake_github.server import FakeGitHub
from tests.support.fake_github.state import BOT, FORK_ID, REPOSITORY_ID, PullRequest
from tests.support.git_repository import chain, import_commits, init_repository, run_git
from tests.support.job import JobResult, Runner, zipped
from tests.support.measurements import measured, measured_in_turn_json, measured_json
from tests.support.webhooks import event

BASE_LEVELS = {"parse": 0.004, "render": 0.02, "load": 0.001}
SLOW_LEVELS = {**BASE_LEVELS, "parse": 0.0096}
MAIN = 6


@dataclass(frozen=True, kw_only=True, slots=True)
class Served:
    """The served repository: main1 <- … <- main6 on main, a branch of two commits from main6, maybe a history."""

    folder: Path
    commits: dict[str, str]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Served:
    """Record six runs once, to be copied: recording takes seconds."""
    folder = init_repository(tmp_path_factory.mktemp("recorded") / "served.git", bare=True)
    commits = import_commits(folder, {**chain("main", MAIN), **chain("branch", 2, start=[f"main{MAIN}"])})
    run_git(folder, "update-ref", "refs/heads/main", commits[f"main{MAIN}"])
    config = Config()
    for seed, commit in enumerate((commits[f"main{number}"] for number in range(1, MAIN + 1)), start=1):
        run = measured(BASE_LEVELS, seed=seed, commit=commit)
        judged = compare_run_with_history(
            run, config=config, base=None, place=HistoryPlace(repository=folder, url=str(folder))
        )
        record_run(run, report=judged.report, config=config, place=HistoryPlace(url=str(folder)))
    return Served(folder=folder, commits=commits)


@pytest.fixture
def served(tmp_path: Path, recorded: Served) -> Served:
    folder = Path(shutil.copytree(recorded.folder, tmp_path / "served.git"))
    return Served(folder=folder, commits=recorded.commits)


@pytest.fixture
def commits(served: Served) -> dict[str, str]:
    return served.commits


@pytest.fixture
def fake_with_git(served: Served) -> Iterator[FakeGitHub]:
    with FakeGitHub(git_dir=served.folder) as server:
        yield server
    assert not server.bad


@pytest.fixture
def runner(
    tmp_path: Path,
    fake_with_git: FakeGitHub,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Runner:
    workspace = tmp_path / "workspace"
    run_git(tmp_path, "clone", "--quiet", str(tmp_path / "served.git"), str(workspace))
    return Runner(
        fake=fake_with_git, workspace=workspace, temp=tmp_path / "temp", monkeypatch=monkeypatch, capture=capsys
    )


def push_event(sha: str) -> dict[str, Any]:
    return with_main(event("push", head_sha=sha, base_branch="main"))


def with_main(payload: dict[str, Any]) -> dict[str, Any]:
    payload["repository"]["default_branch"] = "main"
    return payload


def forget_history(runner: Runner) -> None:
    run_git(runner.workspace, "push", "--quiet", "origin", ":refs/heads/perf-history")


def push(runner: Runner, commit: str, *, seed: int, **inputs: str) -> JobResult:
    (runner.workspace / "bench.json").write_bytes(measured_json(BASE_LEVELS, seed=seed))
    return runner.run(
        "push", push_event(commit), sha=commit, ref="refs/heads/main", output_file_path="bench.json", **inputs
    )


def pull_request(
    runner: Runner,
    commits: dict[str, str],
    levels: dict[str, float],
    *,
    inputs: Mapping[str, str] = MappingProxyType({}),
    **facts: Any,
) -> Any:
    (runner.workspace / "bench.json").write_bytes(measured_json(levels, seed=99))
    head = commits["branch2"]
    payload = event("pull_request", number=7, head_sha=head, base_sha=commits[f"main{MAIN}"], **facts)
    where = {"sha": "e" * 40, "ref": "refs/pull/7/merge"}
    return runner.run("pull_request", payload, **where, output_file_path="bench.json", **inputs)


def rounds_of(runner: Runner, levels: dict[str, float]) -> dict[str, str]:
    """Write a second measurement, rounds that prove the suspected change, and return its inputs."""
    for seed, (name, side) in enumerate({"base": BASE_LEVELS, "head": levels}.items(), start=70):
        (runner.workspace / f"again-{name}.json").write_bytes(measured_in_turn_json(side, seed=seed))
    return {"confirm_file_path": "again-head.json", "confirm_baseline_file_path": "again-base.json"}


def test_pushes_are_judged_recorded_and_checked(runner: Runner, commits: dict[str, str]) -> None:
    forget_history(runner)
    first = push(runner, commits["main1"], seed=1)
    second = push(runner, commits["main2"], seed=2, html_report="true")
    assert (first.exit_code, second.exit_code) == (0, 0), first.log + second.log
    assert first.outputs["conclusion"] == "first_run"
    assert second.outputs["compared"] == "3"
    assert first.outputs["html-path"] == ""
    page = (runner.workspace / second.outputs["html-path"]).read_text()
    assert "explorer-data" in page
    assert re.search(r">octocat/hello</a> · \d{4}-\d\d-\d\d<", page)
    for result in (first, second):
        assert "recorded runs/default/" in result.log
    checks = list(runner.fake.state.check_runs.values())
    assert [check.status for check in checks] == ["completed", "completed"]
    assert [check.head_sha for check in checks] == [commits["main1"], commits["main2"]]


def test_a_budget_that_is_exceeded_is_told_where_only_regressions_are(runner: Runner, commits: dict[str, str]) -> None:
    quiet = "comment: {when: regression}\n"
    (runner.workspace / "perf.yml").write_text(quiet)
    pull_request(runner, commits, BASE_LEVELS, inputs={"config": "perf.yml"})
    assert not runner.fake.state.comments
    budget = "budgets: [{match: parse, limit: 1 ns, because: a frame takes that long}]\n"
    (runner.workspace / "perf.yml").write_text(quiet + budget)
    result = pull_request(runner, commits, BASE_LEVELS, inputs={"config": "perf.yml"})
    (comment,) = runner.fake.state.comments.values()
    assert "a frame takes that long" in comment.body
    assert result.outputs["failed"] == "true"
    assert list(runner.fake.state.check_runs.values())[-1].conclusion == "failure"


def test_regression_in_a_pull_request_is_told_in_one_comment_in_sight(runner: Runner, commits: dict[str, str]) -> None:
    suspected = pull_request(runner, commits, SLOW_LEVELS)
    assert (suspected.outputs["conclusion"], suspected.outputs["failed"]) == ("suspected", "false"), suspected.log
    (comment,) = runner.fake.state.comments.values()
    assert f"1 of 3 benchmarks looks slower, {NOT_PROVEN}" in comment.body
    assert list(runner.fake.state.check_runs.values())[-1].conclusion == "neutral"

    result = pull_request(runner, commits, SLOW_LEVELS, inputs=rounds_of(runner, SLOW_LEVELS))
    assert result.exit_code == 0, result.log
    before, comment = runner.fake.state.comments.values()
    assert (before.minimized, comment.minimized) == (True, False), "proven now"
    assert comment.issue == 7
    first, place, second, third = [line for line in comment.body.splitlines() if line][:4]
    assert first == "<!-- perf-culprit:v1:default -->"
    assert "octocat/hello" in place
    assert "1 of 3 benchmarks got slower" in second
    assert "`parse`" in third
    assert result.outputs["conclusion"] == "regression"
    assert result.outputs["failed"] == "true"
    assert result.outputs["regressions"] == "1"
    assert result.outputs["worst-benchmark"] == "parse"
    assert result.outputs["comment-url"].endswith(f"issuecomment-{comment.id}")
    report = json.loads((runner.workspace / result.outputs["report-path"]).read_text())
    assert report["target_commit"] == commits["branch2"]
    assert report["base_commit"] == commits[f"main{MAIN}"]
    last = list(runner.fake.state.check_runs.values())[-1]
    assert (last.head_sha, last.conclusion) == (commits["branch2"], "failure")
    assert "1 of 3 benchmarks got slower" in result.summary

    again = pull_request(runner, commits, BASE_LEVELS)
    assert again.outputs["conclusion"] == "no_change"
    *_, comment = runner.fake.state.comments.values()
    assert "🟢" in comment.body


def test_diagnoses_of_one_and_of_two_revisions_are_told_in_the_comment(
    runner: Runner, commits: dict[str, str], tmp_path: Path
) -> None:
    stacks = {name: tmp_path / f"{name}.txt" for name in ("before", "after")}
    for name, samples in (("before", 500), ("after", 1500)):
        stacks[name].write_text(f"main;parse;tokenize {samples}\nmain;parse;build 200\nmain;render 300\n")
    for name, arguments in (
        ("one.json", ["--profile", str(stacks["before"])]),
        ("two.json", ["--baseline", str(stacks["before"]), "--target", str(stacks["after"])]),
    ):
        assert main(["diagnose", *arguments, "--json", str(runner.workspace / name)]) == 0
    inputs = {"diagnosis_file_path": "two.json\none.json\nmissing.json", "html_report": "true"}
    result = pull_request(runner, commits, SLOW_LEVELS, inputs=inputs)
    assert result.exit_code == 0, result.log
    (comment,) = runner.fake.state.comments.values()
    assert f"1 of 3 benchmarks looks slower, {NOT_PROVEN}" in comment.body
    first, _, why = comment.body.split("\n\n", 1)[1].partition("Why: the call tree")
    assert "Look first at `tokenize`" in first
    assert "50%" in why
    assert "Why: the call tree, 1 suspect" in comment.body
    assert "Where the time goes: 5 methods in 1 service" in comment.body
    assert "no diagnosis: " in result.log
    page = (runner.workspace / result.outputs["html-path"]).read_text()
    assert "flame" in page
    assert re.search(r">octocat/hello</a> · <a [^>]+/pull/7\">#7</a> · \d{4}-\d\d-\d\d<", page)


def test_fail_on_alert_is_exit_code_1(runner: Runner, commits: dict[str, str]) -> None:
    (runner.workspace / "bench.json").write_bytes(measured_json(SLOW_LEVELS, seed=99))
    payload = event("pull_request", number=7, head_sha=commits["branch2"], base_sha=commits["main6"])
    for levels, exit_code in ((BASE_LEVELS, 0), (SLOW_LEVELS, 1)):
        again = rounds_of(runner, levels)
        result = runner.run("pull_request", payload, output_file_path="bench.json", fail_on_alert="true", **again)
        assert result.exit_code == exit_code, result.log


def test_paired_measurements_need_no_history(runner: Runner, commits: dict[str, str]) -> None:
    for seed, (name, levels) in enumerate({"base": BASE_LEVELS, "head": SLOW_LEVELS}.items()):
        for part in "abcdefgh":  # two of each side in each of four rounds
            data = measured_json(levels, seed=seed * 10 + ord(part))
            (runner.workspace / f"{name}-{part}.json").write_bytes(data)
    payload = event("pull_request", number=7, head_sha=commits["branch2"], base_sha=commits["main6"])
    result = runner.run(
        "pull_request", payload, output_file_path="head-*.json", baseline_file_path="base-*.json", mode="compare"
    )
    assert result.exit_code == 0, result.log
    assert result.outputs["regressions"] == "1"
    assert not runner.fake.state.comments
    assert not runner.fake.log


def fork_result(runner: Runner, commits: dict[str, str]) -> dict[str, bytes]:
    """Return the files that the measuring job of a fork's pull request writes."""
    result = pull_request(runner, commits, SLOW_LEVELS, inputs=rounds_of(runner, SLOW_LEVELS), head_owner="mallory")
    assert result.exit_code == 0, result.log
    folder = runner.workspace / "perf-culprit"
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def published(runner: Runner, files: dict[str, bytes], head: str, **inputs: str) -> JobResult:
    """Return the trusted job's result for these files of a fork's run for `head`."""
    add_pull(runner, head, head_owner="mallory")
    runner.fake.state.add_artifact(name="perf-culprit-report", run_id=55, head_sha=head, zip_bytes=zipped(files))
    payload = event("workflow_run", head_sha=head, head_owner="mallory", run_id=55, head_branch="faster")
    return runner.run("workflow_run", payload, **inputs)


def test_fork_run_writes_nothing_and_the_trusted_job_publishes(runner: Runner, commits: dict[str, str]) -> None:
    files = fork_result(runner, commits)
    assert [str(exchange) for exchange in runner.fake.log] == []

    head = commits["branch2"]
    shutil.rmtree(runner.workspace / "perf-culprit")
    result = published(runner, files, head, html_report="true")
    assert result.exit_code == 0, result.log
    (comment,) = runner.fake.state.comments.values()
    assert comment.author == BOT
    assert "1 of 3 benchmarks got slower" in comment.body
    assert "Look there first. This fails the check." in comment.body
    assert list(runner.fake.state.check_runs.values())[-1].head_sha == head
    assert result.outputs["regressions"] == "1"
    page = (runner.workspace / result.outputs["html-path"]).read_text()
    assert "1 of 3 benchmarks got slower" in page
    assert "script-src 'sha256-" in page


def test_a_forks_summary_speaks_of_no_check_that_its_job_cannot_write(runner: Runner, commits: dict[str, str]) -> None:
    again = rounds_of(runner, SLOW_LEVELS)
    summary = pull_request(runner, commits, SLOW_LEVELS, inputs=again, head_owner="mallory").summary
    assert "Look there first." in summary
    assert "the check." not in summary
    assert "This fails the check." in pull_request(runner, commits, SLOW_LEVELS, inputs=again).summary


def test_artifact_that_names_a_benchmark_twice_is_refused(runner: Runner, commits: dict[str, str]) -> None:
    files = fork_result(runner, commits)
    run = json.loads(files["run.json"])
    run["benchmarks"].append(run["benchmarks"][0])
    files["run.json"] = json.dumps(run).encode()
    result = published(runner, files, commits["branch2"])
    assert result.exit_code == 3
    assert "has the name and the metric of benchmarks.0" in result.log
    assert not runner.fake.state.comments


def test_artifact_that_speaks_of_another_commit_is_refused(runner: Runner, commits: dict[str, str]) -> None:
    result = published(runner, fork_result(runner, commits), commits["branch1"])
    assert result.exit_code == 3
    assert "another commit" in result.log
    assert not runner.fake.state.comments


def test_trusted_job_records_what_a_push_measured(runner: Runner, commits: dict[str, str]) -> None:
    commit = commits["main1"]
    forget_history(runner)
    measured_run = push(runner, commit, seed=1, mode="compare")
    assert measured_run.exit_code == 0, measured_run.log
    files = {path.name: path.read_bytes() for path in (runner.workspace / "perf-culprit").iterdir()}
    runner.fake.state.add_artifact(name="perf-culprit-report", run_id=55, head_sha=commit, zip_bytes=zipped(files))
    payload = with_main(event("workflow_run", head_sha=commit, run_id=55, run_event="push", head_branch="main"))
    result = runner.run("workflow_run", payload)
    assert result.exit_code == 0, result.log
    assert "recorded runs/default/" in result.log
    assert run_git(runner.workspace, "ls-remote", "origin", "refs/heads/perf-history")


def test_token_without_checks_still_comments_and_says_what_is_missing(runner: Runner, commits: dict[str, str]) -> None:
    runner.token = runner.fake.add_token("no-checks", {"contents": "read", "pull-requests": "write"})
    result = pull_request(runner, commits, SLOW_LEVELS)
    assert result.exit_code == 0, result.log
    assert "checks: write" in result.log
    assert runner.fake.state.comments
    assert "no-checks" not in result.log


def test_measured_nothing_is_no_pass(runner: Runner, commits: dict[str, str]) -> None:
    (runner.workspace / "bench.json").write_text('{"benchmarks": []}')
    commit = commits["main1"]
    result = runner.run("push", push_event(commit), sha=commit, ref="refs/heads/main", output_file_path="bench.json")
    assert result.exit_code == 3
    assert "::error title=perf-culprit::" in result.log
    assert list(runner.fake.state.check_runs.values())[-1].conclusion == "failure"


def test_an_error_shows_foreign_names_inert(runner: Runner, commits: dict[str, str]) -> None:
    name = "a\x1b[2J\u202eb ##[error]c\n::add-mask::d"
    results = {"benchmarks": [{"fullname": name, "stats": {"data": [1.0]}}] * 2, "machine_info": {}}
    (runner.workspace / "evil\x1b[2J.json").write_text(json.dumps(results))
    commit = commits["main1"]
    result = runner.run(
        "push", push_event(commit), sha=commit, ref="refs/heads/main", output_file_path="evil\x1b[2J.json"
    )
    assert result.exit_code == 3
    assert "is also at" in result.log
    assert not set("\x1b\u202e").intersection(result.log)
    assert not re.search(r"^\s*::add-mask|##\[", result.log, re.MULTILINE)


def merged_by_github(runner: Runner, commits: dict[str, str]) -> dict[str, str]:
    """Advance main by one commit and check out GitHub's merge of the branch; return the commits by name."""
    work = runner.workspace
    tree = run_git(work, "rev-parse", "main^{tree}")
    made = dict(commits)
    for name, parents in {"main7": ("main6",), "merge": ("main7", "branch2")}.items():
        options = [word for parent in parents for word in ("-p", made[parent])]
        made[name] = run_git(work, "commit-tree", tree, *options, "-m", name)
    run_git(work, "push", "--quiet", "origin", f"{made['main7']}:refs/heads/main", f"{made['merge']}:refs/pull/7/merge")
    return made


def judged_merge(runner: Runner, commits: dict[str, str], levels: dict[str, float], **inputs: str) -> JobResult:
    run_git(runner.workspace, "checkout", "--quiet", "--detach", commits["merge"])
    (runner.workspace / "bench.json").write_bytes(measured_json(levels, seed=99))
    payload = event("pull_request", number=7, head_sha=commits["branch2"], base_sha=commits["main7"])
    return runner.run("pull_request", payload, sha=commits["merge"], output_file_path="bench.json", **inputs)


def test_a_merge_is_judged_against_what_it_was_merged_into(runner: Runner, commits: dict[str, str]) -> None:
    """Main got slower after the branch started: the merge includes that, and the branch is not to blame."""
    commits = merged_by_github(runner, commits)
    (runner.workspace / "bench.json").write_bytes(measured_json(SLOW_LEVELS, seed=7))
    main7 = commits["main7"]
    run_git(runner.workspace, "checkout", "--quiet", "--detach", main7)
    runner.run("push", push_event(main7), sha=main7, ref="refs/heads/main", output_file_path="bench.json")
    result = judged_merge(runner, commits, SLOW_LEVELS)
    assert result.outputs["failed"] == "false", result.log
    assert result.outputs["regressions"] == "0"
    report = json.loads((runner.workspace / result.outputs["report-path"]).read_text())
    assert report["target_commit"] == commits["branch2"]
    assert report["merge_commit"] == commits["merge"]
    assert report["base_commit"] == main7
    assert json.loads((runner.workspace / "perf-culprit" / "run.json").read_text())["commit"] == commits["merge"]
    (comment,) = runner.fake.state.comments.values()
    assert f"measured as merged into base ([`{commits['merge'][:7]}`]" in comment.body
    assert list(runner.fake.state.check_runs.values())[-1].head_sha == commits["branch2"]


def test_what_an_unmeasured_base_may_have_brought_fails_no_check(runner: Runner, commits: dict[str, str]) -> None:
    commits = merged_by_github(runner, commits)
    result = judged_merge(runner, commits, SLOW_LEVELS, **rounds_of(runner, SLOW_LEVELS))
    assert result.outputs["conclusion"] == "regression"
    assert result.outputs["failed"] == "false"
    (comment,) = runner.fake.state.comments.values()
    assert "may come from commits of the base branch that were not measured" in comment.body
    assert list(runner.fake.state.check_runs.values())[-1].conclusion == "neutral"


def test_a_checkout_of_neither_head_nor_merge_is_remarked(runner: Runner, commits: dict[str, str]) -> None:
    result = pull_request(runner, commits, BASE_LEVELS)
    checked_out = run_git(runner.workspace, "rev-parse", "--short=10", "HEAD")
    (comment,) = runner.fake.state.comments.values()
    doubt = "neither the head nor GitHub's merge of it"
    assert f"\n\n**Maybe another commit:** the checkout holds `{checked_out}`, {doubt}" in comment.body
    assert doubt in result.log
    run_git(runner.workspace, "checkout", "--quiet", "--detach", commits["branch2"])
    assert "neither" not in pull_request(runner, commits, BASE_LEVELS).log
    assert "neither" not in comment.body


def add_pull(runner: Runner, head: str, *, head_owner: str) -> None:
    runner.fake.state.pulls[7] = PullRequest(
        number=7,
        head_sha=head,
        head_branch="faster",
        head_owner=head_owner,
        head_repository_id=REPOSITORY_ID if head_owner == "octocat" else FORK_ID,
    )


DESIGN = """\
name: shop
world-view: { components: { clients: {}, shop: {} } }
component:
  shop: { threads: 3, requests: { order: { processing: exponential(SERVICE) } } }
scenario:
  evening:
    arrivals: [{ from: clients, to: shop, request: order, rate: 2/s }]
    duration: 300 s
"""


def design_pull_request(runner: Runner, served: Served, *, before: str, after: str) -> JobResult:
    """Run a pull request with unchanged benchmarks and another service time in the model file."""
    workspace = runner.workspace
    ends = []
    for number, text in enumerate((before, after)):
        (workspace / "design.yml").write_text(text)
        run_git(workspace, "add", "design.yml")
        author = ("-c", "user.name=a", "-c", "user.email=a@b.c")
        run_git(workspace, *author, "commit", "--quiet", "--allow-empty", "-m", f"design {number}")
        ends.append(run_git(workspace, "rev-parse", "HEAD").strip())
        run_git(workspace, "checkout", "--quiet", "-B", "branch")
    base, head = ends
    run_git(workspace, "push", "--quiet", "origin", f"{base}:refs/heads/main", f"{head}:refs/heads/branch")
    config = Config()
    stored = measured(BASE_LEVELS, seed=20, commit=base)
    judged = compare_run_with_history(
        stored, config=config, base=None, place=HistoryPlace(repository=workspace, url=str(served.folder))
    )
    record_run(stored, report=judged.report, config=config, place=HistoryPlace(url=str(served.folder)))
    (workspace / ".github").mkdir(exist_ok=True)
    (workspace / ".github" / "perf-culprit.yml").write_text("simulate: ['*.yml']\n")
    (workspace / "bench.json").write_bytes(measured_json(BASE_LEVELS, seed=99))
    runner.monkeypatch.chdir(workspace)
    payload = event("pull_request", number=7, head_sha=head, base_sha=base)
    return runner.run("pull_request", payload, sha="e" * 40, ref="refs/pull/7/merge", output_file_path="bench.json")


def test_a_changed_model_gets_predicted_findings_apart_from_measured_ones(runner: Runner, served: Served) -> None:
    before, after = (DESIGN.replace("SERVICE", service) for service in ("1 s", "1.2 s"))
    result = design_pull_request(runner, served, before=before, after=after)
    assert result.exit_code == 0, result.log
    (comment,) = runner.fake.state.comments.values()
    assert "3 benchmarks unchanged within 5%" in comment.body
    who = "**Predicted** by `design.yml`, scenario `evening` (simulated, not measured)"
    assert f"{who}: 3 of 4 outputs get worse, 0 better." in comment.body
    assert "<details><summary>Predicted by simulation: 3 of 4 outputs get worse, 0 better</summary>" in comment.body
    assert "shop" in comment.body
    # A prediction fails nothing.
    assert (result.outputs["conclusion"], result.outputs["failed"]) == ("no_change", "false")
    report = json.loads((runner.workspace / result.outputs["report-path"]).read_text())
    assert [entry["model"] for entry in report["predictions"]] == ["design.yml"]


def test_a_model_that_is_wrong_holds_up_nothing(runner: Runner, served: Served) -> None:
    before = DESIGN.replace("SERVICE", "1 s")
    result = design_pull_request(runner, served, before=before, after=before.replace("1 s", "1"))
    assert result.exit_code == 0, result.log
    assert "no prediction: design.yml:4: component.shop.requests.order.processing: write it with its unit" in result.log
    (comment,) = runner.fake.state.comments.values()
    assert "Predicted" not in comment.body
