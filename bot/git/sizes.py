"""What objects weigh in a repository's packs."""

from dataclasses import dataclass
from pathlib import Path

from bot.git.command import NETWORK_TIMEOUT_SECONDS, run_git


@dataclass(frozen=True, slots=True)
class PackedObject:
    """`path` is one under which it was reached: a file's, a folder's, or empty (a commit). `size` in bytes, on disk."""

    name: str
    path: str
    size: int


def packed_objects(repository: Path, commit: str) -> tuple[PackedObject, ...]:
    """All that `commit` and its past hold, with what each takes on disk; a delta without what it is a delta of."""
    listed = run_git(repository, "rev-list", "--objects", "--end-of-options", commit)
    lines = [line.partition(" ") for line in listed.decode(errors="surrogateescape").splitlines()]
    names = "".join(f"{name}\n" for name, _, _ in lines).encode()
    sizes = run_git(repository, "cat-file", "--batch-check=%(objectsize:disk)", "--buffer", stdin=names).split()
    return tuple(PackedObject(name, path, int(size)) for (name, _, path), size in zip(lines, sizes, strict=True))


def packed_size(repository: Path, commit: str, *, folder: Path) -> int:
    """Bytes of a pack of all that `commit` holds; it is written to `folder`, for a moment."""
    prefix = folder / "measured"
    arguments = ("--revs", "-q", str(prefix))
    run_git(repository, "pack-objects", *arguments, stdin=commit.encode(), timeout_seconds=NETWORK_TIMEOUT_SECONDS)
    packs = list(folder.glob(f"{prefix.name}-*"))
    size = sum(path.stat().st_size for path in packs if path.suffix == ".pack")
    for path in packs:
        path.unlink()
    return size
