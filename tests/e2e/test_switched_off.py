"""Pull requests that are not measured, that Dependabot opens, or that go to another pull request's branch."""

import re

import pytest

from tests.support.fake_github.state import PullRequest
from tests.support.git_repository import run_git
from tests.support.scenarios import LEVEL, SLOWER, Outcome, Project

SKIP = "[skip perf]"
OFF = "perf: off"
TITLE = f"switched off by mallory with {SKIP} in the title"
LABEL = f"switched off by hubot with the label {OFF}"


def open_pull(project: Project, *, level: int = SLOWER, fork: bool = False) -> PullRequest:
    pull = project.open_pull(7, base=project.main, level=level, merged_level=level, fork=fork)
    pull.author = "mallory"
    return pull


def run_pull(project: Project, pull: PullRequest) -> Outcome:
    outcome = project.report(project.run_pull(pull))
    assert not outcome.failed, outcome.log
    return outcome


def measured(outcome: Outcome) -> bool:
    return any(job.name == "measure" for job in outcome.jobs)


def checks(project: Project) -> list[tuple[str, str | None, str]]:
    return [(one.name, one.conclusion, one.output["title"]) for one in project.fake.state.check_runs.values()]


def test_a_title_switches_off_and_the_check_names_its_author(project: Project) -> None:
    pull = open_pull(project)
    pull.title = "Fold accents [Skip Perf]"  # GitHub's expressions ignore case
    outcome = run_pull(project, pull)
    assert not measured(outcome)
    assert checks(project) == [("perf-culprit (default)", "neutral", f"Not measured: {TITLE}")]
    assert not project.comments(7)
    # A later title does not repeat this event: GitHub runs it again as it was.
    pull.rename("Fold accents", actor="octocat")
    pull.head_sha = project.commit(project.main, level=SLOWER)
    run_git(project.folder, "update-ref", "refs/pull/7/head", pull.head_sha)
    outcome = run_pull(project, pull)
    assert measured(outcome)
    assert project.conclusion(pull.head_sha) == "failure"


@pytest.mark.parametrize("kind", ["label", "title"])
def test_who_set_it_is_named(project: Project, kind: str) -> None:
    pull = open_pull(project)
    if kind == "label":
        pull.set_label("bug", actor="octocat")
        pull.set_label(OFF, actor="hubot")
    else:
        pull.rename(f"{SKIP} Fold", actor="hubot")
        pull.rename(f"{SKIP} Fold accents", actor="octocat")
    assert not measured(run_pull(project, pull))
    expected = LABEL if kind == "label" else TITLE.replace("mallory", "hubot")
    assert checks(project) == [("perf-culprit (default)", "neutral", f"Not measured: {expected}")]


def test_a_fork_cannot_make_its_own_check_pass(project: Project) -> None:
    """Its title switches off, but the check is neutral, and one that was measured stays."""
    pull = open_pull(project, fork=True)
    pull.title = SKIP
    outcome = run_pull(project, pull)
    assert not measured(outcome)
    assert TITLE in outcome.log.replace("`", "")
    neutral = [("perf-culprit (default)", "neutral", f"Not measured: {TITLE}")]
    assert checks(project) == (neutral if project.split else [])


def test_what_was_measured_stays(project: Project) -> None:
    pull = open_pull(project)
    run_pull(project, pull)
    assert project.conclusion(pull.head_sha) == "failure"
    (before,) = project.comments(7)
    pull.rename(SKIP, actor="mallory")
    assert not measured(run_pull(project, pull))
    assert project.conclusion(pull.head_sha) == "failure"
    assert project.comments(7) == [before]


def test_a_comment_about_an_older_head_says_so(project: Project) -> None:
    pull = open_pull(project)
    run_pull(project, pull)
    pull.rename(SKIP, actor="mallory")
    pull.head_sha = project.commit(project.main, level=SLOWER)
    run_git(project.folder, "update-ref", "refs/pull/7/head", pull.head_sha)
    run_pull(project, pull)
    (comment,) = project.comments(7)
    assert "**Not measured:**" in comment
    assert "switched off by mallory" in comment
    assert project.conclusion(pull.head_sha) == "neutral"


def test_another_pull_request_of_the_commit_does_not_switch_it_off(project: Project) -> None:
    """Anybody who can read can open a pull request of our branch."""
    pull = open_pull(project)
    run_git(project.folder, "update-ref", "refs/heads/stable", project.main)
    other = project.add_pull(8, pull.head_sha, merged_level=SLOWER, base_branch="stable")
    other.author, other.title = "mallory", SKIP
    assert not measured(run_pull(project, other))
    assert checks(project) == []
    run_pull(project, pull)
    assert project.conclusion(pull.head_sha) == "failure"


def test_required_checks_of_all_suites_pass(project: Project) -> None:
    project.fake.state.required_checks["main"] = ["perf-culprit (parser)", "tests"]
    pull = open_pull(project)
    pull.set_label(OFF, actor="hubot")
    run_pull(project, pull)
    assert [(name, conclusion) for name, conclusion, _ in checks(project)] == [
        ("perf-culprit (default)", "neutral"),
        ("perf-culprit (parser)", "neutral"),
    ]


def test_a_title_can_be_refused(project: Project) -> None:
    """The default branch decides which words count, whatever the pull request's workflow skips."""
    project.configuration = "skip: {title: null}\n"
    project.main = project.commit(project.main)
    run_git(project.folder, "update-ref", "refs/heads/main", project.main)
    name = "perf-report" if project.split else "perf"
    steps = project.files[name]["jobs"]["report"]
    (steps if project.split else steps["steps"][-1])["with"] = {"mode": "publish", "config": "perf.yml"}
    if project.split:
        del steps["with"]["mode"]
    pull = open_pull(project)
    pull.title = SKIP
    assert not measured(run_pull(project, pull))
    ((_, conclusion, title),) = checks(project)
    assert (conclusion, title) == (
        ("neutral", "Not measured: nobody asked for a measurement") if project.split else ("failure", "Not measured")
    )


def test_dependabot_gets_a_comment_where_the_job_lists_its_permissions(project: Project) -> None:
    """Its token may only read by default. GitHub adds the permissions that a job lists."""
    pull = open_pull(project)
    pull.author, pull.head_branch = "dependabot[bot]", "dependabot/pip/numpy-2.4"
    run_pull(project, pull)
    (comment,) = project.comments(7)
    assert "🔴 1 of 2 benchmarks got slower" in comment
    assert project.conclusion(pull.head_sha) == "failure"


def test_dependabot_in_a_job_without_permissions_is_told_what_it_lacks(project: Project) -> None:
    if project.split:
        pytest.skip("GitHub refuses a called workflow whose caller grants less")
    workflow = project.files["perf"]
    del workflow["permissions"], workflow["jobs"]["report"]["permissions"]
    pull = open_pull(project)
    pull.author = "dependabot[bot]"
    outcome = project.run_pull(pull)
    assert outcome.failed
    assert "the token lacks a permission" in outcome.log
    assert "permissions: pull-requests: write" in outcome.log
    # The same job of a person has the repository's default.
    pull.author = "octocat"
    run_pull(project, pull)
    assert len(project.comments(7)) == 1


@pytest.mark.parametrize("level", [SLOWER, 2 * SLOWER], ids=["0%", "+100%"])
def test_a_stacked_pull_request_is_compared_with_the_branch_that_it_goes_to(project: Project, level: int) -> None:
    """Compared with the default branch, it would be 50% and 200% slower."""
    lower = project.commit(project.main, level=SLOWER)
    run_git(project.folder, "update-ref", "refs/heads/lower", lower)
    pull = project.add_pull(7, project.commit(lower, level=level), merged_level=level, base_branch="lower")
    pull.base_sha = lower
    outcome = run_pull(project, pull)
    assert f"baseline {lower[:12]}, the merge base" in outcome.log
    (comment,) = project.comments(7)
    assert f"base [`{lower[:7]}`]" in comment
    assert ("🟢" in comment) == (level == SLOWER)
    assert project.conclusion(pull.head_sha) == ("success" if level == SLOWER else "failure")
    if level > SLOWER:
        change = re.search(r"`parse` takes (\d+)[.\d]*% longer", comment)
        assert change is not None, comment
        assert 80 < int(change[1]) < 125


@pytest.mark.parametrize("base_branch", ["lower", "main"])
def test_stored_runs_do_not_blame_a_stacked_pull_request_for_the_lower_one(project: Project, base_branch: str) -> None:
    """Nothing is stored of the lower branch, so what main's runs suspect is measured next to it."""
    if not project.split:
        pytest.skip("one file measures in turn")
    project.files["perf"]["jobs"]["measure"]["with"]["screen"] = True
    for _ in range(6):
        assert not project.report(project.push(LEVEL)).failed
    lower = project.commit(project.main, level=SLOWER)
    run_git(project.folder, "update-ref", "refs/heads/lower", lower)
    pull = project.add_pull(7, project.commit(lower, level=SLOWER), merged_level=SLOWER, base_branch=base_branch)
    pull.base_sha = lower if base_branch == "lower" else project.main
    run_pull(project, pull)
    (comment,) = project.comments(7)
    assert ("🔴 1 of 2 benchmarks got slower" in comment) == (base_branch == "main"), comment
    assert (project.conclusion(pull.head_sha) == "failure") == (base_branch == "main")
    assert "measured again: 1 flagged benchmark" in comment


@pytest.mark.parametrize("fork", [False, True])
def test_documents_alone_are_not_measured_by_default(project: Project, *, fork: bool) -> None:
    pull = open_pull(project, level=LEVEL, fork=fork)
    blob = run_git(project.folder, "hash-object", "-w", "--stdin", stdin="more\n")
    listed = run_git(project.folder, "ls-tree", project.main)
    tree = run_git(project.folder, "mktree", stdin=f"{listed}\n100644 blob {blob}\tREADME.md\n")
    pull.head_sha = run_git(project.folder, "commit-tree", tree, "-p", project.main, "-m", "Explain")
    run_git(project.folder, "update-ref", "refs/pull/7/head", pull.head_sha)
    project.runner.programs = {"pytest": "#!/bin/sh\necho 'a benchmark ran' >&2\nexit 1\n"}
    outcome = run_pull(project, pull)
    assert "not measured: only documentation changed" in outcome.log
    told = "Not measured: nothing that changed reaches the benchmarks"
    assert told in outcome.log
    if fork and not project.split:
        assert checks(project) == []
        return
    assert project.conclusion(pull.head_sha) == "neutral"
    (comment,) = project.comments(7)
    assert told in comment
    assert "1 file of documentation" in comment
