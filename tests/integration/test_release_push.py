"""A push that changes the version, or whose commit has a tag, is compared with the release before, by stored runs."""

from pathlib import Path

import pytest

from perf_culprit import git
from perf_culprit.action.jobs.releases import Release, bumped, release_before, unasked
from perf_culprit.config.reader import parse_config
from perf_culprit.flows.compared_commits import ReferenceCommit
from perf_culprit.github.host import CheckConclusion, check_conclusion
from perf_culprit.say.comment import render_markdown
from tests.support.fake_github.faults import Fault
from tests.support.git_repository import chain, import_commits, init_repository, run_git
from tests.support.reports import every_conclusion
from tests.support.scenarios import LEVEL, SLOWER, Outcome, Project, form, project
from tests.support.webhooks import event

__all__ = ["form", "project"]

CHECK = "perf-culprit (default) against a release"


def pyproject(version: str, name: str = "hello") -> str:
    return f'[project]\nname = "{name}"\nversion = "{version}"\n'


def tag(project: Project, name: str) -> None:
    run_git(project.folder, "update-ref", f"refs/tags/{name}", project.main)


def pushed(project: Project, *levels: int, version: str = "") -> Outcome:
    if version:
        project.manifest = pyproject(version)
    outcome = project.report(project.push(*levels))
    assert project.main in project.recorded(), "a release is recorded like every push"
    return outcome


def checked(project: Project) -> list[str]:
    """The commits that were compared with a release."""
    return [check.head_sha for check in project.fake.state.check_runs.values() if check.name == CHECK]


def test_a_push_with_another_version_is_compared_with_the_tag_of_the_version_before(project: Project) -> None:
    pushed(project, LEVEL, version="1.0")
    assert checked(project) == [], "the file is new"
    tag(project, "v1.0")
    project.manifest = pyproject("1.0", name="renamed")
    assert "Against" not in pushed(project, LEVEL).log, "the version stays"
    outcome = pushed(project, SLOWER, version="1.1")
    assert "### 🔴 1 of 2 benchmarks got slower" in outcome.log, "the push's own verdict stays"
    assert "Against `v1.0`: " in outcome.log
    assert f"base [`{run_git(project.folder, 'rev-parse', '--short=7', 'v1.0')}`]" in outcome.log
    assert checked(project) == [project.main]


def test_a_tag_on_the_commit_makes_it_a_release(project: Project) -> None:
    pushed(project, LEVEL)
    tag(project, "v1.9.0")
    pushed(project, LEVEL)
    tag(project, "nightly")
    project.main = project.commit(project.main)
    tag(project, "v2")
    tag(project, "v2.0.0")
    project.main = run_git(project.folder, "rev-parse", "v2^")
    assert "Against" not in pushed(project, LEVEL).log
    run_git(project.folder, "update-ref", "-d", "refs/tags/v2")
    tag(project, "v2.0.0")
    outcome = project.report(project.push())
    assert "Against `v1.9.0`: " in outcome.log
    assert checked(project) == [project.main]


def push_tag(project: Project, name: str, *, sha: str = "") -> Outcome:
    payload = {"repository": event("push")["repository"], "ref": f"refs/tags/{name}", "workflow": "perf"}
    sha = sha or project.main
    outcome = project.report(project.start("push", payload, sha=sha, ref=f"refs/tags/{name}", branch=name))
    assert not outcome.failed, outcome.log
    return outcome


def test_a_pushed_tag_measures_nothing_and_is_compared(project: Project) -> None:
    pushed(project, LEVEL)
    tag(project, "v1.0")
    pushed(project, SLOWER)
    recorded, measured = project.recorded(), len(project.fake.state.artifacts)
    tag(project, "v1.1")
    outcome = push_tag(project, "v1.1")
    assert "Against `v1.0`: " in outcome.log
    assert len(project.fake.state.artifacts) == measured, "nothing was measured"
    assert checked(project) == [project.main]
    assert project.recorded() == recorded
    project.main = project.commit(project.main)
    tag(project, "v1.2")
    outcome = push_tag(project, "v1.2")
    assert "`v1.2` is not compared: no run of its commit is stored" in outcome.log
    assert len(checked(project)) == 1


@pytest.mark.parametrize("form", ["split"])  # in one file GitHub's own reference tells
def test_a_branch_with_the_name_of_a_tag_is_no_release(project: Project) -> None:
    pushed(project, LEVEL)
    tag(project, "v1.0")
    pushed(project, LEVEL)
    push_tag(project, "v1.0")
    assert checked(project) == []


def test_the_first_release_has_nothing_before_it(project: Project) -> None:
    pushed(project, LEVEL, version="0.1")
    outcome = pushed(project, LEVEL, version="1.0")
    assert "`1.0` is not compared: no run of its commit is stored, or no earlier release has a tag" in outcome.log
    assert checked(project) == []
    assert not outcome.failed


def test_a_pull_request_is_no_release(project: Project) -> None:
    pushed(project, LEVEL, version="1.0")
    tag(project, "v1.0")
    project.manifest = pyproject("9.9")
    outcome = project.report(
        project.run_pull(project.open_pull(7, base=project.main, level=LEVEL, merged_level=LEVEL, fork=True))
    )
    assert "Against" not in outcome.log
    assert checked(project) == []


def test_an_unreadable_manifest_is_a_warning(project: Project) -> None:
    pushed(project, LEVEL, version="1.0")
    tag(project, "v1.0")
    project.fake.faults.append(Fault(request=r"GET /repos/octocat/hello/contents/pyproject.toml", status=403, times=9))
    outcome = pushed(project, SLOWER, version="1.1")
    assert "::warning title=perf-culprit::comparison with the release before: " in outcome.log
    assert "1 of 2 benchmarks got slower" in outcome.log
    assert checked(project) == []


@pytest.mark.parametrize(
    ("configuration", "conclusion"),
    [
        (b"levels: {warn: 5%}", CheckConclusion.NEUTRAL),
        (b"levels: {fail: 10%}", CheckConclusion.FAILURE),
        (b"benchmarks: [{match: parse, levels: {fail: 10%}}]", CheckConclusion.FAILURE),
    ],
)
def test_a_comparison_that_nobody_asked_for_fails_only_by_a_stated_level(
    configuration: bytes, conclusion: CheckConclusion
) -> None:
    failing = every_conclusion()["regression-fails"]
    assert check_conclusion([failing]) is CheckConclusion.FAILURE
    report = unasked(failing, parse_config(configuration, place="perf.yml"))
    assert check_conclusion([report]) is conclusion
    says = "This fails the check." if report.failed else "This does not fail the check."
    assert says in render_markdown(report)


POETRY = '[tool.poetry]\nversion = "{}"'
NPM = '{{"version": "{}"}}'
CARGO = '[workspace.package]\nversion = "{}"\n[package]\nname = "acme"\nversion.workspace = true\n'


@pytest.mark.parametrize(
    ("file", "before", "after", "release"),
    [
        ("pyproject.toml", pyproject("1.0"), pyproject("1.1"), Release(name="1.1", package="hello", before="1.0")),
        ("pyproject.toml", POETRY.format(1), POETRY.format(2), Release(name="2", before="1")),
        ("Cargo.toml", CARGO.format("1.0"), CARGO.format("1.1"), Release(name="1.1", package="acme", before="1.0")),
        ("package.json", NPM.format("1.0.0"), NPM.format("2.0.0-rc.1"), Release(name="2.0.0-rc.1", before="1.0.0")),
        ("pyproject.toml", pyproject("1.0"), pyproject("1.0", name="other"), None),
        ("pyproject.toml", pyproject("1.0"), '[project]\nname = "hello"\ndynamic = ["version"]\n', None),
        ("pyproject.toml", pyproject("1.0"), "[project]\nversion = 2\n", None),
        ("package.json", "[]", NPM.format(1), None),
        ("package.json", NPM.format(1), NPM.format(2)[:-2], None),
        ("package.json", NPM.format(1), NPM.format("2\\n::error::"), None),
    ],
)
def test_a_change_of_the_version_in_a_manifest(file: str, before: str, after: str, release: Release | None) -> None:
    assert bumped(file, before.encode(), after.encode()) == release


@pytest.mark.parametrize(
    ("release", "before"),
    [
        (Release(name="2.0", package="@acme/parse", before="1.0"), "parse@1.0"),
        (Release(name="parse@2.0", package="@acme/parse", before="1.5-dev"), "parse@1.1"),
        (Release(name="v3"), "v2"),
        (Release(name="2026.1"), "nightly-9"),
    ],
)
def test_the_release_before(tmp_path: Path, release: Release, before: str) -> None:
    folder = init_repository(tmp_path / "repository")
    commits = import_commits(folder, chain("main", 6))
    names = ("parse@1.0", "v2", "parse@1.1", "nightly-9", "parse@2.0", "v9")
    for number, name in enumerate(names, start=1):
        run_git(folder, "tag", name, commits[f"main{number}"])
    reference = release_before(folder, release, commit=commits["main5"])
    assert reference == ReferenceCommit(name=before, commit=git.tags(folder)[before])


def test_no_tag_before(tmp_path: Path) -> None:
    folder = init_repository(tmp_path / "repository")
    commits = import_commits(folder, chain("main", 2))
    run_git(folder, "tag", "v1", commits["main2"])
    assert release_before(folder, Release(name="v1"), commit=commits["main2"]) is None
