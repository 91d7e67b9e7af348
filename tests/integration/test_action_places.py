"""The action on other hosts than github.com, at events other than pull requests, and at later attempts."""

import json
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from perf_culprit import git
from perf_culprit.config.settings import Config
from perf_culprit.errors import InfrastructureError
from perf_culprit.flows.compare import judge_run
from perf_culprit.flows.record import store_acceptance
from perf_culprit.flows.render import report_json
from perf_culprit.github.client import explained
from perf_culprit.model.finding import Baseline, BaselineSource
from perf_culprit.model.report import Report
from perf_culprit.store.opening import HistoryPlace, open_git_branch
from tests.support.fake_github.clients import connected
from tests.support.fake_github.server import BOT_TOKEN, FakeGitHub
from tests.support.fake_github.state import FORK_ID, PullRequest
from tests.support.git_repository import chain, import_commits, init_repository, run_git
from tests.support.job import JobResult, Runner, zipped
from tests.support.measurements import measured, measured_in_turn_json, measured_json
from tests.support.rounds import in_rounds
from tests.support.stored_runs import make_run
from tests.support.webhooks import event

FAST = {"parse": 0.004, "render": 0.02}
SLOW = {**FAST, "parse": 0.0096}
# With two benchmarks only, few stored runs raise no suspicion.
CALM = {f"steady-{number}": 0.004 for number in range(10)}


@pytest.fixture
def served(tmp_path: Path) -> Path:
    folder = init_repository(tmp_path / "served.git", bare=True)
    lines = {name: chain(name, count, start=["main3"]) for name, count in (("branch", 2), ("more", 4), ("squash", 2))}
    import_commits(folder, {**chain("main", 3), **lines["branch"], **lines["more"], **lines["squash"]})
    run_git(folder, "update-ref", "refs/heads/main", commit_of(folder, "main3"))
    return folder


on_either_server = pytest.mark.parametrize("prefix", ["", "/api/v3"])


@pytest.fixture
def prefix() -> str:
    """Return the API's prefix: GitHub Enterprise Server has one, github.com none."""
    return "/api/v3"


@pytest.fixture
def fake_anywhere(served: Path, prefix: str) -> Iterator[FakeGitHub]:
    with FakeGitHub(git_dir=served, prefix=prefix) as server:
        yield server
    assert not server.bad


@pytest.fixture
def runner(
    tmp_path: Path, fake_anywhere: FakeGitHub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Runner:
    workspace = tmp_path / "workspace"
    run_git(tmp_path, "clone", "--quiet", str(tmp_path / "served.git"), str(workspace))
    (workspace / "base.json").write_bytes(measured_in_turn_json(FAST, seed=1))
    (workspace / "head.json").write_bytes(measured_in_turn_json(SLOW, seed=2))
    return Runner(
        fake=fake_anywhere, workspace=workspace, temp=tmp_path / "temp", monkeypatch=monkeypatch, capture=capsys
    )


def commit_of(folder: Path, name: str) -> str:
    return run_git(folder, "rev-parse", name)


def on_pull_request(runner: Runner, served: Path, **inputs: str) -> JobResult:
    head, base = commit_of(served, "branch2"), commit_of(served, "main3")
    payload = event("pull_request", number=7, head_sha=head, base_sha=base)
    files = {"output_file_path": "head.json", "baseline_file_path": "base.json", **inputs}
    return runner.run("pull_request", payload, sha="e" * 40, ref="refs/pull/7/merge", **files)


def push_to_main(runner: Runner, commit: str, levels: dict[str, float], *, seed: int, **inputs: str) -> JobResult:
    (runner.workspace / "bench.json").write_bytes(measured_json(CALM | levels, seed=seed))
    payload = event("push", head_sha=commit, base_branch="main")
    payload["repository"]["default_branch"] = "main"
    return runner.run("push", payload, sha=commit, ref="refs/heads/main", output_file_path="bench.json", **inputs)


@on_either_server
def test_comment_and_check_run_on_either_server(runner: Runner, served: Path) -> None:
    result = on_pull_request(runner, served)
    assert result.exit_code == 0, result.log
    (comment,) = runner.fake.state.comments.values()
    assert "1 of 2 benchmarks got slower" in comment.body
    assert [check.conclusion for check in runner.fake.state.check_runs.values()] == ["failure"]
    assert json.loads(result.outputs["flagged"]) == ["parse"]


def test_a_re_run_edits_the_same_comment(runner: Runner, served: Path) -> None:
    on_pull_request(runner, served)
    again = on_pull_request(runner, served)
    assert again.exit_code == 0, again.log
    assert len(runner.fake.state.comments) == 1
    assert {check.status for check in runner.fake.state.check_runs.values()} == {"completed"}


@on_either_server
def test_history_is_read_and_written_on_either_server(runner: Runner, served: Path) -> None:
    results = [push_to_main(runner, commit_of(served, f"main{n}"), FAST, seed=n) for n in (1, 2, 3)]
    assert all("recorded runs/default/" in result.log for result in results)
    assert [result.outputs["conclusion"] == "first_run" for result in results] == [True, False, False]


def test_a_merge_queue_entry_gets_a_check_run_and_no_comment(runner: Runner, served: Path) -> None:
    runner.fetch_from_folder()
    push_to_main(runner, commit_of(served, "main2"), FAST, seed=1)
    push_to_main(runner, commit_of(served, "main3"), FAST, seed=2)
    head, base = commit_of(served, "branch2"), commit_of(served, "main3")
    payload = event("push", head_sha=head, base_branch="main")
    entry: dict[str, Any] = {
        "action": "checks_requested",
        "merge_group": {
            "head_sha": head,
            "head_ref": "refs/heads/gh-readonly-queue/main/pr-7-abc",
            "base_sha": base,
            "base_ref": "refs/heads/main",
        },
        "repository": payload["repository"] | {"default_branch": "main"},
    }
    ref = "refs/heads/gh-readonly-queue/main/pr-7-abc"
    result = runner.run("merge_group", entry, sha=head, ref=ref, output_file_path="head.json")
    assert result.exit_code == 0, result.log
    report = json.loads((runner.workspace / result.outputs["report-path"]).read_text())
    assert report["base_commit"] == base
    assert runner.fake.state.comments == {}
    assert list(runner.fake.state.check_runs.values())[-1].head_sha == head
    assert "recorded" not in result.log  # what may still be thrown out of the queue is no history


def test_confirm_in_two_steps(runner: Runner, served: Path) -> None:
    first = on_pull_request(runner, served, mode="compare")
    assert json.loads(first.outputs["flagged"]) == ["parse"]
    assert not runner.fake.state.comments
    (runner.workspace / "again.json").write_bytes(measured_in_turn_json({"parse": 0.004}, seed=3))
    (runner.workspace / "base-again.json").write_bytes(measured_in_turn_json({"parse": 0.004}, seed=4))
    second = on_pull_request(
        runner, served, confirm_file_path="again.json", confirm_baseline_file_path="base-again.json"
    )
    assert second.outputs["conclusion"] == "no_change"
    assert second.outputs["flagged"] == "[]"
    (comment,) = runner.fake.state.comments.values()
    assert "0 proven, 1 refuted" in comment.body


def test_a_regression_on_main_opens_an_issue_and_an_acceptance_closes_it(runner: Runner, served: Path) -> None:
    runner.fetch_from_folder()
    (runner.workspace / "perf.yml").write_text("issues: {when: regression}\n")
    commits = [commit_of(served, f"main{number}") for number in (1, 2, 3)]
    extra = {f"more{n}": commit_of(served, f"more{n}") for n in range(1, 5)}
    for seed, commit in enumerate([*commits, extra["more1"]], start=1):
        push_to_main(runner, commit, FAST, seed=seed, config="perf.yml")
    assert runner.fake.state.issues == {}
    answer = push_to_main(runner, extra["more2"], SLOW, seed=11, config="perf.yml")
    assert (answer.outputs["conclusion"], runner.fake.state.issues) == ("suspected", {}), answer.log
    rounds = {"confirm_file_path": "head.json", "confirm_baseline_file_path": "base.json"}
    answer = push_to_main(runner, extra["more2"], SLOW, seed=11, config="perf.yml", **rounds)
    assert answer.outputs["conclusion"] == "regression", answer.log
    (issue,) = runner.fake.state.issues.values()
    assert issue.state == "open"
    assert f"good={extra['more1']} bad={extra['more2']}" in (issue.body or "")
    store_acceptance(
        benchmark=None,
        reason="it does more now",
        author="ada",
        commit=extra["more2"],
        config=Config(),
        place=HistoryPlace(url=str(served)),
    )
    push_to_main(runner, extra["more3"], SLOW, seed=12, config="perf.yml")
    push_to_main(runner, extra["more4"], SLOW, seed=13, config="perf.yml")
    assert len(runner.fake.state.issues) == 1
    assert [check.conclusion for check in list(runner.fake.state.check_runs.values())[-2:]] == ["success"] * 2


def test_what_was_accepted_in_a_pull_request_survives_a_squash(runner: Runner, served: Path) -> None:
    runner.fetch_from_folder()
    head = commit_of(served, "branch2")
    extra = {f"squash{n}": commit_of(served, f"squash{n}") for n in range(1, 3)}
    for number in (1, 2, 3):
        push_to_main(runner, commit_of(served, f"main{number}"), FAST, seed=number)
    store_acceptance(
        benchmark=None,
        reason="worth it",
        author="ada",
        commit=head,
        config=Config(),
        place=HistoryPlace(url=str(served)),
        pull_request=7,
    )
    runner.fake.state.pulls[7] = PullRequest(
        number=7, head_sha=head, head_branch="b", state="closed", merge_commit_sha=extra["squash1"]
    )
    merged = push_to_main(runner, extra["squash1"], SLOW, seed=4)
    assert merged.outputs["conclusion"] == "no_change", merged.log
    assert "accepted from here on: 1 benchmarks" in merged.log
    assert push_to_main(runner, extra["squash2"], SLOW, seed=5).outputs["conclusion"] == "no_change"


def test_what_was_pushed_after_the_acceptance_is_not_accepted(runner: Runner, served: Path) -> None:
    runner.fetch_from_folder()
    extra = {f"squash{n}": commit_of(served, f"squash{n}") for n in range(1, 2)}
    for number in (1, 2, 3):
        push_to_main(runner, commit_of(served, f"main{number}"), FAST, seed=number)
    accepted = commit_of(served, "branch1")
    store_acceptance(
        benchmark=None,
        reason="r",
        author="ada",
        commit=accepted,
        config=Config(),
        place=HistoryPlace(url=str(served)),
        pull_request=7,
    )
    runner.fake.state.pulls[7] = PullRequest(
        number=7,
        head_sha=commit_of(served, "branch2"),
        head_branch="b",
        state="closed",
        merge_commit_sha=extra["squash1"],
    )
    assert push_to_main(runner, extra["squash1"], SLOW, seed=4).outputs["conclusion"] == "suspected"


def report_of(suite: str, levels: dict[str, float], *, commit: str) -> Report:
    config = Config(suite=suite)
    run = in_rounds(measured(levels, seed=5, commit=commit))
    paired = Baseline(runs=(in_rounds(measured(FAST, seed=6)),), source=BaselineSource.PAIRED)
    return judge_run(paired, replace(run, suite=suite), config=config)


def published(runner: Runner, served: Path, files: dict[str, bytes], **inputs: str) -> JobResult:
    head = commit_of(served, "branch2")
    runner.fake.state.pulls[7] = PullRequest(
        number=7, head_sha=head, head_branch="fix", head_owner="mallory", head_repository_id=FORK_ID
    )
    runner.fake.state.add_artifact(name="perf-culprit-report", run_id=31, head_sha=head, zip_bytes=zipped(files))
    payload = event("workflow_run", run_id=31, head_sha=head, head_branch="fix", head_owner="mallory")
    return runner.run("workflow_run", payload, sha=commit_of(served, "main3"), ref="refs/heads/main", **inputs)


def test_two_suites_share_a_joint_comment(runner: Runner, served: Path) -> None:
    blob = run_git(served, "hash-object", "-w", "--stdin", stdin="comment: {suites: joint}\n")
    tree = run_git(served, "mktree", stdin=f"100644 blob {blob}\tperf.yml\n")
    run_git(served, "update-ref", "refs/heads/main", run_git(served, "commit-tree", "-p", "main", "-m", "x", tree))
    head = commit_of(served, "branch2")
    files = {
        f"{suite}/report.json": report_json(report_of(suite, levels, commit=head))
        for suite, levels in (("calm", FAST), ("loud", SLOW))
    }
    result = published(runner, served, files, config="perf.yml")
    assert result.exit_code == 0, result.log
    (comment,) = runner.fake.state.comments.values()
    assert comment.body.index("`loud`") < comment.body.index("`calm`")
    assert comment.body.count("<!-- perf-culprit:v1:") == 1
    assert len(runner.fake.state.check_runs) == 2


def test_a_forged_acceptance_publishes_nothing(runner: Runner, served: Path) -> None:
    head = commit_of(served, "branch2")
    data = json.loads(report_json(report_of("default", SLOW, commit=head)))
    record = {"commit": head, "author": "octocat", "reason": "fine", "time": "2026-01-01T00:00:00Z"}
    data["findings"][0] |= {"verdict": "unchanged", "level": "note", "severity": None, "accepted": record}
    data |= {"conclusion": "no_change", "failed": False}
    result = published(runner, served, {"report.json": json.dumps(data).encode()})
    assert result.exit_code == 3
    assert "the history does not know of it" in result.log
    assert runner.fake.state.comments == {}


def test_an_own_certificate_authority_is_one_setting_for_the_api_and_git(
    served: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    self_signed = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost")
    files = ("-keyout", str(key), "-out", str(certificate), "-addext", "subjectAltName=DNS:localhost")
    subprocess.run(["openssl", *self_signed, *files], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with FakeGitHub(git_dir=served) as fake:
        fake.server.socket = context.wrap_socket(fake.server.socket, server_side=True)
        fake.api_url = f"https://localhost:{fake.server.server_port}"
        fake.state.pulls[7] = PullRequest(number=7, head_sha="a" * 40, head_branch="b")
        client, _ = connected(fake)
        remote = git.Remote(url=f"{fake.api_url}/octocat/hello.git", token=BOT_TOKEN)
        for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO"):
            monkeypatch.delenv(name, raising=False)
        with pytest.raises(InfrastructureError, match="certificate is not trusted"), explained("read it"):
            assert client.repository.get_pull(7).head.sha
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
        assert client.repository.get_pull(7).head.sha == "a" * 40
        with open_git_branch(remote) as history:
            assert history.append(make_run(1)).startswith("runs/default/")


def test_a_proxy_is_used_for_the_api_and_for_git(served: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeGitHub(git_dir=served) as fake:
        for name in ("http_proxy", "HTTP_PROXY"):
            monkeypatch.setenv(name, fake.url)
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        fake.state.pulls[7] = PullRequest(number=7, head_sha="a" * 40, head_branch="b")
        # Nobody resolves this name: only the proxy can answer for it.
        fake.api_url = "http://github.invalid"
        client, _ = connected(fake)
        assert client.repository.get_pull(7).head.sha == "a" * 40
        remote = git.Remote(url="http://github.invalid/octocat/hello.git", token=BOT_TOKEN)
        with open_git_branch(remote) as history:
            assert history.append(make_run(1)).startswith("runs/default/")
