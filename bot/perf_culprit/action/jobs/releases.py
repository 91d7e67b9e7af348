"""A release against the one before it, by runs that are stored anyway: nothing more is measured."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from msgspec import structs

from perf_culprit import git
from perf_culprit.config.settings import Config
from perf_culprit.files import temporary_folder
from perf_culprit.flows.compare_history import compare_run_with_history
from perf_culprit.flows.compared_commits import ReferenceCommit
from perf_culprit.github.host import Host
from perf_culprit.measure.package_manifests import MANIFESTS, PACKAGE_NAME, PACKAGE_VERSION, tag_of_version
from perf_culprit.model.finding import Level
from perf_culprit.model.report import Report
from perf_culprit.store.opening import OF_SEARCHES, HistoryPlace, open_history, suite_names
from perf_culprit.store.protocol import NamedRun

_NUMBER: Final = re.compile(r"\d+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Release:
    """A release as its commit names it. `before` is the version in the manifest before, of this `package`."""

    name: str
    package: str = ""
    before: str = ""


def bumped(file: str, before: bytes, after: bytes) -> Release | None:
    """Return the release that this change of a manifest makes, or None if the version stays or is missing."""
    manifest = MANIFESTS[file]
    try:
        contents = [manifest.load(content.decode()) for content in (before, after)]
    except (ValueError, RecursionError):
        return None
    old, new = (manifest.entry(content, "version", PACKAGE_VERSION) for content in contents)
    if old is None or new is None or old == new:
        return None
    return Release(name=new, package=manifest.entry(contents[1], "name", PACKAGE_NAME) or "", before=old)


def release_before(repository: Path, release: Release, *, commit: str) -> ReferenceCommit | None:
    """Return the release before that of `commit`: the tag of the manifest's version before, else the newest such tag.

    Tags on earlier commits that differ from this one's only in their numbers are preferred.
    """
    earlier = set(git.ancestors(repository, [commit])) - {commit}
    tags = {name: at for name, at in git.tags(repository).items() if at in earlier}
    same_form = [name for name in tags if _NUMBER.sub("0", name) == _NUMBER.sub("0", release.name)]
    of_version = tag_of_version(tags, release.package, release.before) if release.before else None
    name = of_version or next(reversed(same_form or list(tags)), None)
    return None if name is None else ReferenceCommit(name=name, commit=tags[name])


@dataclass(frozen=True, kw_only=True, slots=True)
class Releases:
    """The releases in a remote repository. `tags` are commits by name, and `repository` is a private copy."""

    repository: Path
    remote: git.Remote
    tags: dict[str, str]

    def of_push(self, host: Host, *, commit: str, base: str | None) -> Release | None:
        """Return the release that a push makes: a tag names its commit, or it changes the version in a manifest."""
        # Of v2 and v2.1.0 the longer one names this release, and the other one moves.
        tag = max((name for name, at in self.tags.items() if at == commit), key=len, default="")
        changed = host.modified_files(base=base, head=commit) if base else ()
        for file in MANIFESTS:
            if file in changed:
                before, after = (host.read_branch_file(path=file, branch=str(end)) or b"" for end in (base, commit))
                if (release := bumped(file, before, after)) is not None:
                    return replace(release, name=tag or release.name)
        return Release(name=tag) if tag else None

    def compared(self, release: Release, *, commit: str, config: Config, place: HistoryPlace) -> tuple[Report, ...]:
        """Compare the stored runs of the release with those of the one before; a report for each suite that has some.

        Empty for the first release, and if no run of the commit is stored.
        """
        references = [f"+{commit}:refs/perf-culprit/release", "+refs/tags/*:refs/tags/*"]
        git.fetch(self.repository, self.remote, references, object_filter="tree:0")
        reference = release_before(self.repository, release, commit=commit)
        if reference is None:
            return ()
        with open_history(config.history, place.repository, url=place.url, token=place.token) as history:
            suites = [suite for suite in suite_names(history) if not suite.endswith(OF_SEARCHES)]
            newest = [next(history.runs(suite, [commit]), None) for suite in suites]
        return tuple(
            compare_run_with_history(
                stored.run,
                config=config.model_copy(update={"suite": stored.run.suite}),
                base=None,
                place=replace(place, repository=self.repository),
                reference=reference,
            ).report
            for stored in newest
            if isinstance(stored, NamedRun)
        )


def unasked(report: Report, config: Config) -> Report:
    """Return the report of a comparison that nobody asked for: it only warns, unless a `levels.fail` is stated."""
    if any(levels.fail is not None for levels in (config.levels, *(one.levels for one in config.benchmarks))):
        return report
    findings = tuple(
        structs.replace(finding, level=Level.WARN) if finding.level is Level.FAIL else finding
        for finding in report.findings
    )
    warned = structs.replace(report, findings=findings)
    return structs.replace(warned, failed=warned.fails)


@contextmanager
def open_releases(remote: git.Remote) -> Iterator[Releases]:
    with temporary_folder() as folder:
        repository = git.init_private(folder / "releases.git")
        yield Releases(repository=repository, remote=remote, tags=git.remote_tags(repository, remote))
