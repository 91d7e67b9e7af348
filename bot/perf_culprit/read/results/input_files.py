"""Opening of the user's inputs (files, patterns, directories, zip archives, `-`) as sources."""

import errno
import glob
import io
import os
import stat
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, BinaryIO

from perf_culprit.errors import DataError
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.read.results.content import shown
from perf_culprit.read.results.source import (
    LARGE_HEAD_BYTES,
    STDIN_NAME,
    LargeFile,
    Source,
    open_file,
    open_stream,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Input:
    """The files of one name. `is_search`: files were found, not named, so those of unknown formats are skipped.

    `is_tree`: the files are in one directory or archive and do not just match one pattern.
    """

    sources: tuple[Source, ...]
    is_search: bool
    is_tree: bool


def read_inputs(paths: Sequence[str], *, stdin: BinaryIO | None = None) -> tuple[Input, ...]:
    """Return one input per path. A file that is reached twice counts once; otherwise its samples would count double."""
    inputs: list[Input] = []
    seen: set[str] = set()
    budget = FILE_LIMITS.total_bytes
    for path in paths:
        if path == STDIN_NAME:
            files, is_search = [STDIN_NAME], False
        else:
            files, is_search = _files(path)
        sources: list[Source] = []
        for file in files:
            identity = file if file == STDIN_NAME else os.path.realpath(file)
            if identity in seen:
                continue
            seen.add(identity)
            source = open_stream(file, stdin or sys.stdin.buffer) if file == STDIN_NAME else open_file(file)
            budget -= len(source.data)
            if budget < 0 or len(seen) > FILE_LIMITS.files:
                raise DataError(
                    f"is more than {FILE_LIMITS.files:,} files or {FILE_LIMITS.total_bytes:,} bytes together with the "
                    "inputs before it",
                    place=shown(path),
                    next_step="name the result files only",
                )
            sources.append(source)
        is_tree = is_search and Path(path).is_dir()
        inputs.extend(_opened(sources, is_search=is_search, is_tree=is_tree))
    return tuple(inputs)


def _opened(sources: list[Source], *, is_search: bool, is_tree: bool) -> Iterator[Input]:
    """Yield the inputs. Each archive becomes a separate input, which is a tree."""
    if plain := tuple(source for source in sources if not is_archive(source.data)):
        yield Input(sources=plain, is_search=is_search, is_tree=is_tree)
    for source in sources:
        if is_archive(source.data):
            yield Input(sources=read_archive(source.content(), name=source.name), is_search=True, is_tree=True)


def _files(path: str) -> tuple[list[str], bool]:
    """Return the files that `path` names, and whether they were searched for."""
    if os.path.isdir(path):  # noqa: PTH112 - a Path cannot be made of every string that a user gives
        return list(_walk(path)), True
    # A file name may contain a bracket, like those of parametrised benchmarks.
    if glob.has_magic(path) and not os.path.lexists(path):
        matches = sorted(name for name in glob.iglob(path, recursive=True) if Path(name).is_file())  # noqa: PTH207 - same
        if not matches:
            raise DataError(
                "matches no file", place=shown(path), next_step="check the pattern and the working directory"
            )
        return matches, True
    return [path], False


def _walk(path: str) -> Iterator[str]:
    count = 0
    for folder, folders, files in os.walk(path):
        folders[:] = sorted(set(folders) - {".git"})
        for name in sorted(files):
            file = Path(folder) / name
            # A link in a foreign tree may lead anywhere. Tools leave a .gitignore next to their results.
            if name.startswith(".") or file.is_symlink() or not file.is_file():
                continue
            count += 1
            yield str(file)
    if not count:
        raise DataError("holds no file", place=shown(path), next_step="check that the benchmark step wrote its results")


RATIO_FREE_BYTES = 1 << 20

_SIGNATURES = (b"PK\x03\x04", b"PK\x05\x06")
_ENTRY = b"PK\x01\x02"
_READABLE = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1
# The errors that zipfile raises for archives that are broken on purpose.
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
)


def is_archive(data: bytes) -> bool:
    return data.startswith(_SIGNATURES)


def read_archive(data: bytes, *, name: str) -> tuple[Source, ...]:
    """Read the files of a zip archive; raise DataError with the reason if the archive is rejected.

    Foreign archives are read in memory: nothing is written to disk, and no member's name becomes a path.
    """
    if data.count(_ENTRY) > FILE_LIMITS.members:
        # Members are counted before zipfile creates an object for each.
        raise _refusal(name, f"holds more than {FILE_LIMITS.members:,} files")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [member for member in archive.infolist() if not member.filename.endswith("/")]
            _check(members, name)
            return tuple(_members(archive, members, name, data))
    except _BROKEN as error:
        raise _refusal(name, f"is a broken zip archive ({shown(str(error)) or type(error).__name__})") from None


def _check(members: list[zipfile.ZipInfo], name: str) -> None:
    """Reject an archive by its own metadata, before anything is unpacked."""
    if not members:
        raise _refusal(name, "holds no file")
    seen: set[str] = set()
    for member in members:
        reason = _member_refusal(member) or ("stands there twice" if member.filename in seen else None)
        if reason:
            raise _refusal(name, f"`{shown(member.filename)}` {reason}")
        seen.add(member.filename)
    _check_total([member.file_size for member in members], name)


def _check_total(sizes: list[int], name: str) -> None:
    in_memory = sum(size for size in sizes if size <= FILE_LIMITS.file_bytes)
    for size, limit in ((in_memory, FILE_LIMITS.member_bytes), (sum(sizes), FILE_LIMITS.large_file_bytes)):
        if size > limit:
            raise _refusal(name, f"unpacks to more than {limit:,} bytes")


def _member_refusal(member: zipfile.ZipInfo) -> str | None:
    # zipfile cuts names at zero bytes and converts its own system's separator to slashes.
    path = member.orig_filename
    ratio = member.file_size / max(member.compress_size, 1)
    refusals = (
        (not member.filename, "has no name"),
        (path.startswith("/"), "is an absolute path"),
        ("\\" in path, "holds a backslash"),
        (":" in path.partition("/")[0], "names a drive"),
        (".." in path.split("/"), "leads out of the archive"),
        ("\x00" in path, "holds a zero byte in its name"),
        (stat.S_ISLNK(member.external_attr >> 16), "is a link"),
        (bool(member.flag_bits & _ENCRYPTED), "is encrypted"),
        (member.compress_type not in _READABLE, "is compressed in a way that is not read here"),
        (member.file_size > FILE_LIMITS.large_file_bytes, f"is larger than {FILE_LIMITS.large_file_bytes:,} bytes"),
        (
            member.file_size > RATIO_FREE_BYTES and ratio > FILE_LIMITS.unpacked_ratio,
            f"unpacks to more than {FILE_LIMITS.unpacked_ratio} times its size",
        ),
    )
    return next((reason for refused, reason in refusals if refused), None)


def _members(archive: zipfile.ZipFile, members: list[zipfile.ZipInfo], name: str, packed: bytes) -> Iterator[Source]:
    sizes: list[int] = []
    for member in members:
        is_large = member.file_size > FILE_LIMITS.file_bytes
        with archive.open(member) as stream:
            # The declared size may be false, so the size that is read counts.
            data = stream.read(LARGE_HEAD_BYTES if is_large else FILE_LIMITS.file_bytes + 1)
        sizes.append(len(data))
        _check_total(sizes, name)
        path = f"{name}/{member.filename}"
        yield LargeFile(path, data, opened=partial(_unpacked, packed, member)) if is_large else Source(path, data)


def _unpacked(packed: bytes, member: zipfile.ZipInfo) -> BinaryIO:
    return io.BufferedReader(_Unpacked(zipfile.ZipFile(io.BytesIO(packed)).open(member)))


class _Unpacked(io.RawIOBase):
    """The unpacked bytes of a member. A broken member raises OSError, like a disk."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        target = memoryview(buffer)
        try:
            piece = self._stream.read(len(target))
        except _BROKEN:
            raise OSError(errno.EIO, "its zip archive is broken") from None
        target[: len(piece)] = piece
        return len(piece)


def _refusal(name: str, reason: str) -> DataError:
    return DataError(
        reason, place=shown(name), next_step="upload only the benchmark's result files, as the tool wrote them"
    )
