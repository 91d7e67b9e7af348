"""What git says about the commits between good and bad, in the words of the search."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bot import git
from bot.bisect.graph import cut_range, parse_parents
from bot.errors import UsageError
from bot.model.bisection import CommitRange

FETCHED_REFS: Final = "refs/perf-culprit/bisect"
FETCH_ALL: Final = "fetch the whole history (actions/checkout: `fetch-depth: 0`; git fetch --unshallow)"


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidates:
    """The range and the first lines of its commits' messages."""

    commit_range: CommitRange
    subjects: Mapping[str, str]


def find_candidates(
    repository: Path, *, good: str, bad: str, first_parent: bool = False, paths: Sequence[str] = ()
) -> Candidates:
    """The commits that may have brought a change. Those that change nothing under `paths` cannot have."""
    good, bad = git.resolve_commit(repository, good), git.resolve_commit(repository, bad)
    messages = git.messages(repository, good=good, bad=bad)
    graph = parse_parents(git.parents_text(repository, [good, bad]))
    try:
        commit_range = cut_range(
            graph,
            good=good,
            bad=bad,
            first_parent=first_parent,
            messages=messages,
            build_inputs=_build_inputs(repository, [good, *messages], paths),
        )
    except UsageError as error:
        if git.is_shallow(repository):
            raise UsageError(
                f"{error.message}; this is a shallow clone", place=str(repository), next_step=FETCH_ALL
            ) from None
        raise
    cut_off = set(commit_range.commits) & set(git.shallow_commits(repository))
    if cut_off:
        raise UsageError(
            f"the history between good and bad is cut off at {min(cut_off)[:12]}: this is a shallow clone",
            place=str(repository),
            next_step=FETCH_ALL,
        )
    if paths and len(commit_range.unchanged) == len(commit_range.commits):
        raise UsageError(
            f"no commit between good and bad changes {', '.join(paths)}",
            place="--paths",
            next_step="check the spelling; paths are relative to the top of the repository",
        )
    (_, headline) = git.headlines(repository, [good])[good]
    subjects = {commit: message.lstrip().partition("\n")[0] for commit, message in messages.items()}
    return Candidates(commit_range=commit_range, subjects={**subjects, good: headline})


def fetch_missing(repository: Path, revisions: Sequence[str], remote: git.Remote | None) -> None:
    """Commits that the checkout lacks, such as those of forks: a host knows them by their full hash."""
    hashes = [revision for revision in dict.fromkeys(revisions) if git.FULL_HASH.fullmatch(revision)]
    missing = git.missing_commits(repository, hashes)
    if missing and remote is not None:
        git.fetch(repository, remote, [f"+{commit}:{FETCHED_REFS}/{commit}" for commit in missing])


def _build_inputs(repository: Path, commits: Sequence[str], paths: Sequence[str]) -> dict[str, str]:
    """By commit, one name for all that the build reads: everything, or what lies under `paths`."""
    columns = [git.tree_names(repository, commits, path.strip("/")) for path in paths or ("",)]
    return {
        commit: hashlib.sha256("\n".join(str(name) for name in names).encode()).hexdigest()
        for commit, *names in zip(commits, *columns, strict=True)
    }
