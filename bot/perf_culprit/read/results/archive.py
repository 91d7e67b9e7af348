"""Zip artifacts of strangers, read in memory: nothing is written to disk and no member's name becomes a path."""

import errno
import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from functools import partial
from typing import IO, Any, BinaryIO

from perf_culprit.errors import DataError
from perf_culprit.read.results.content import shown
from perf_culprit.read.results.source import LARGE_HEAD_BYTES, MAX_FILE_BYTES, MAX_LARGE_BYTES, LargeFile, Source

MAX_MEMBERS = 20_000
# Of the members that are in memory; larger ones are unpacked while they are read.
MAX_TOTAL_BYTES = 128 << 20
# Real results compress by 10 to 50; zeros by 1,000. Small members may repeat themselves as much as they like.
MAX_RATIO = 200
RATIO_FREE_BYTES = 1 << 20

_SIGNATURES = (b"PK\x03\x04", b"PK\x05\x06")
_ENTRY = b"PK\x01\x02"
_READABLE = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1
# What zipfile raises for archives that are broken on purpose.
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
    """The files of a zip archive, or a DataError that says why the archive is refused as a whole."""
    if data.count(_ENTRY) > MAX_MEMBERS:
        # Counted before zipfile makes an object of each.
        raise _refusal(name, f"holds more than {MAX_MEMBERS:,} files")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [member for member in archive.infolist() if not member.filename.endswith("/")]
            _check(members, name)
            return tuple(_read(archive, members, name, data))
    except _BROKEN as error:
        raise _refusal(name, f"is a broken zip archive ({shown(str(error)) or type(error).__name__})") from None


def _check(members: list[zipfile.ZipInfo], name: str) -> None:
    """Refuses by what the archive says of itself, before anything is unpacked."""
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
    in_memory = sum(size for size in sizes if size <= MAX_FILE_BYTES)
    for size, limit in ((in_memory, MAX_TOTAL_BYTES), (sum(sizes), MAX_LARGE_BYTES)):
        if size > limit:
            raise _refusal(name, f"unpacks to more than {limit:,} bytes")


def _member_refusal(member: zipfile.ZipInfo) -> str | None:
    # zipfile cuts names at zero bytes and turns the separator of its own system into slashes.
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
        (member.file_size > MAX_LARGE_BYTES, f"is larger than {MAX_LARGE_BYTES:,} bytes"),
        (member.file_size > RATIO_FREE_BYTES and ratio > MAX_RATIO, f"unpacks to more than {MAX_RATIO} times its size"),
    )
    return next((reason for refused, reason in refusals if refused), None)


def _read(archive: zipfile.ZipFile, members: list[zipfile.ZipInfo], name: str, packed: bytes) -> Iterator[Source]:
    sizes: list[int] = []
    for member in members:
        is_large = member.file_size > MAX_FILE_BYTES
        with archive.open(member) as stream:
            # The declared size may lie: what is read is what counts.
            data = stream.read(LARGE_HEAD_BYTES if is_large else MAX_FILE_BYTES + 1)
        sizes.append(len(data))
        _check_total(sizes, name)
        path = f"{name}/{member.filename}"
        yield LargeFile(path, data, opened=partial(_unpacked, packed, member)) if is_large else Source(path, data)


def _unpacked(packed: bytes, member: zipfile.ZipInfo) -> BinaryIO:
    return io.BufferedReader(_Unpacked(zipfile.ZipFile(io.BytesIO(packed)).open(member)))


class _Unpacked(io.RawIOBase):
    """What a member unpacks to; a broken one is an OSError, as of a disk."""

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
