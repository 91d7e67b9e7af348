"""A release against the one before it, by runs that are stored anyway: nothing more is measured."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from perf_culprit import git
from perf_culprit.config.settings import Config
from perf_culprit.files import temporary_folder
from perf_culprit.flows.compare_history import compare_run_with_history
from perf_culprit.flows.registry_release import MANIFESTS, Release, bumped, release_before
from perf_culprit.github.host import Host
from perf_culprit.model.report import Report
from perf_culprit.store.opening import OF_SEARCHES, HistoryPlace, open_history, suite_names
from perf_culprit.store.protocol import NamedRun


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


@contextmanager
def open_releases(remote: git.Remote) -> Iterator[Releases]:
    with temporary_folder() as folder:
        repository = git.init_private(folder / "releases.git")
        yield Releases(repository=repository, remote=remote, tags=git.remote_tags(repository, remote))
