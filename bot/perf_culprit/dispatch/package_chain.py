"""A line of commits from good's packages to bad's: each changes the version of one package in the lock files.

The search goes over them as over any other commits. They are on no branch, and git removes them some day.
"""

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from perf_culprit import git
from perf_culprit.dispatch.lock_files import LOCK_FORMATS, LockFormat
from perf_culprit.errors import list_names
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.read.results.locked_packages import ecosystem_of

GONE: Final = "none"
# Lock files that nothing here reads, so that the answer can say why their packages are not searched.
UNREAD: Final = frozenset(
    {
        "bun.lock",
        "bun.lockb",
        "composer.lock",
        "Gemfile.lock",
        "go.sum",
        "gradle.lockfile",
        "mix.lock",
        "packages.lock.json",
        "pdm.lock",
        "Pipfile.lock",
        "pixi.lock",
        "pnpm-lock.yaml",
        "yarn.lock",
    }
)


@dataclass(frozen=True, kw_only=True, slots=True)
class PackageChain:
    """`last` is the commit with good's files and all of bad's packages; `packages` counts those that differ.

    `left_out` says why other lock files that differ are not part of it; `is_all`: no other file differs.
    """

    last: str
    packages: int
    left_out: str
    is_all: bool

    @property
    def is_one(self) -> bool:
        """Nothing but one package differs."""
        return self.packages == 1 and self.is_all


@dataclass(kw_only=True, slots=True)
class _Lock:
    """A lock file on its way from good's packages to bad's, with its manifests by path: its own text, and bad's."""

    form: LockFormat
    path: str
    text: str
    bads: str
    manifests: dict[str, tuple[str, str]]
    before: Mapping[str, str] = field(init=False)
    after: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.before, self.after = self.form.versions(self.text), self.form.versions(self.bads)

    def differs(self, package: str) -> bool:
        return self.before.get(package) != self.after.get(package)

    def move(self, package: str) -> Iterator[tuple[str, str]]:
        """Take bad's version of the package, and yield the files that this changes."""
        self.text = self.form.moved(self.text, self.bads, package)
        yield self.path, self.text
        for path, (own, bads) in self.manifests.items():
            required = self.form.required(own, bads, package)
            self.manifests[path] = required, bads
            yield path, required


def changed_locks(repository: Path, good: str, bad: str) -> dict[str, str]:
    """Return the lock files that differ and can be taken apart, each with the command that installs it."""
    changed = (one.path for one in git.file_changes(repository, good, bad))
    return {path: LOCK_FORMATS[form].install for path in changed if (form := _form(path))}


def package_chain(repository: Path, good: str, bad: str) -> PackageChain | str:
    """Write the commits. If there is nothing to search, return the reason; "" if the packages are the same."""
    files = git.file_changes(repository, good, bad)
    changed = {one.path: one for one in files if _is_lock(one.path)}
    split = {path: one for path, one in changed.items() if one.status == "M" and _form(path)}
    left_out = _left_out(changed.keys() - split.keys())
    texts = _texts(repository, [blob or "" for one in split.values() for blob in (one.old_blob, one.blob)])
    locks: list[_Lock] = []
    for path in split:
        form = LOCK_FORMATS[_form(path)]
        old, new = next(texts), next(texts)
        try:
            manifests = _manifests(repository, path, form.manifests(old), good=good, bad=bad)
            locks.append(_Lock(form=form, path=path, text=old, bads=new, manifests=manifests))
            _groups(locks[-1:])
            form.moved(old, new, "")
            for own, bads in manifests.values():
                form.required(own, bads, "")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return f"{path} or its manifest does not have the form of {form.written_by}'s files"
    forms = dict.fromkeys(lock.form.written_by for lock in locks)
    by_form = [[lock for lock in locks if lock.form.written_by == form] for form in forms]
    steps = [(same, group) for same in by_form for group in _groups(same)]
    packages = sum(len(group) for _, group in steps)
    if packages > FILE_LIMITS.packages:
        return f"more than {FILE_LIMITS.packages:,} packages differ"
    tip = good
    for same, group in steps:
        moves = (move for package in group for lock in same if lock.differs(package) for move in lock.move(package))
        edits = {path: text.encode(errors="surrogateescape") for path, text in moves}
        tip = git.edited(repository, tip, edits, message=_step(same, group))
    written = {path for lock in locks for path in (lock.path, *lock.manifests)}
    is_all = {one.path for one in files} <= written
    return PackageChain(last=tip, packages=packages, left_out=left_out, is_all=is_all) if steps else left_out


def _step(locks: Sequence[_Lock], group: Sequence[str]) -> str:
    package, *others = group
    sides = ([lock.before.get(package) for lock in locks], [lock.after.get(package) for lock in locks])
    before, after = (", ".join(dict.fromkeys(filter(None, side))) or GONE for side in sides)
    return f"{package} {before} → {after}" + (
        f" (with {list_names(sorted(others), most=TEXT_LIMITS.names)})" if others else ""
    )


def _groups(locks: Sequence[_Lock]) -> list[list[str]]:
    """Return the packages that differ, one to move at a time: what it needs moves before it.

    With it move the packages that are new or gone because of it. So few of the states between lack a package.
    """
    before = {name for lock in locks for name in lock.before}
    after = {name for lock in locks for name in lock.after}
    changed = {name for lock in locks for name in before & after if lock.differs(name)}
    needs = _needs(locks)
    groups: list[list[str]] = []
    seen = set[str]()
    for start in (*sorted(changed), *sorted(after - before)):
        new: list[str] = []
        for name in _with_needed(start, needs, seen):
            if name in changed or name == start:
                groups.append([name, *new])
                new = []
            elif name in after - before:
                new.append(name)
    for name in sorted(before - after):
        above = _with_dependents(name, needs)
        last = next((group for group in reversed(groups) if not above.isdisjoint(group)), None)
        if last is None:
            groups.append([name])
        else:
            last.append(name)
    return groups


def _needs(locks: Iterable[_Lock]) -> dict[str, set[str]]:
    needs: dict[str, set[str]] = {}
    for lock in locks:
        for text in (lock.text, lock.bads):
            for name, needed in lock.form.needs(text).items():
                needs.setdefault(name, set()).update(needed)
    return needs


def _with_needed(name: str, needs: Mapping[str, set[str]], seen: set[str]) -> Iterator[str]:
    """Yield all unseen packages that this one needs, each after those that it needs itself."""
    if name not in seen:
        seen.add(name)
        for needed in sorted(needs.get(name, ())):
            yield from _with_needed(needed, needs, seen)
        yield name


def _with_dependents(name: str, needs: Mapping[str, set[str]]) -> set[str]:
    reached, edge = set[str](), {name}
    while edge:
        reached |= edge
        edge = {above for above, needed in needs.items() if needed & edge} - reached
    return reached


def _manifests(repository: Path, lock: str, paths: Iterable[str], *, good: str, bad: str) -> dict[str, tuple[str, str]]:
    """Return the manifests that both commits have, with both texts."""
    both: dict[str, tuple[str, str]] = {}
    for relative in paths:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(lock), relative))
        blobs = [blob for blob in git.tree_names(repository, (good, bad), path) if blob]
        if len(blobs) == len((good, bad)):
            own, bads = _texts(repository, blobs)
            both[path] = own, bads
    return both


def _texts(repository: Path, blobs: list[str]) -> Iterator[str]:
    return (blob.decode(errors="surrogateescape") for blob in git.read_blobs(repository, blobs))


def _left_out(paths: Iterable[str]) -> str:
    names = sorted({posixpath.basename(path) for path in paths})
    alone, unknown = [name for name in names if _form(name)], [name for name in names if not _form(name)]
    forms = list_names(list(LOCK_FORMATS), most=len(LOCK_FORMATS))
    why = [f"{list_names(unknown, most=5)} cannot be taken apart, only {forms}"] if unknown else []
    why += [f"{list_names(alone, most=5)} is not in both commits"] if alone else []
    return "; ".join(why)


def _is_lock(path: str) -> bool:
    name = posixpath.basename(path)
    return bool(_form(path) or ecosystem_of(name)) or name in UNREAD


def _form(path: str) -> str:
    """Return the pattern of a lock file that can be taken apart; "" for others."""
    return next((pattern for pattern in LOCK_FORMATS if fnmatchcase(posixpath.basename(path), pattern)), "")
