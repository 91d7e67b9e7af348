"""Blocks of whole lines of a log file: byte ranges of a plain file, or unpacked bytes of a compressed one."""

import os
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, Protocol

from perf_culprit.errors import DataError, UsageError
from perf_culprit.model.file_limits import FILE_LIMITS

# Larger blocks are read a little faster but take more memory: two workers took 310 MB with 18 MiB each, 326 with 20.
BLOCK_BYTES: Final = 18 << 20
STDIN_NAME: Final = "-"
RATIO_FREE_BYTES: Final = 64 << 20
_READ_BYTES: Final = 1 << 20
_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"


@dataclass(frozen=True, kw_only=True, slots=True)
class Stretch:
    """The lines of a plain file whose first byte is in start..end. The process that analyses them reads them."""

    path: str
    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start

    def read(self) -> bytes:
        with Path(self.path).open("rb") as file:
            begin = _line_end(file, self.start - 1, self.end - self.start + 1) if self.start else 0
            # The last line may end after the stretch, by at most the maximum length of a line.
            end = _line_end(file, self.end - 1, FILE_LIMITS.log_line_bytes + 2)
            file.seek(begin)
            return file.read(end - begin) if begin < self.end else b""


def _line_end(file: BinaryIO, place: int, limit: int) -> int:
    file.seek(place)
    return place + len(file.readline(limit))


@dataclass(frozen=True, kw_only=True, slots=True)
class Lines:
    data: bytes

    @property
    def size(self) -> int:
        return len(self.data)

    def read(self) -> bytes:
        return self.data


def blocks(name: str, *, truncated: Callable[[str], None], block_bytes: int = BLOCK_BYTES) -> Iterator[Stretch | Lines]:
    """Yield the file's lines in order. Call `truncated` if a compressed file ends too early."""
    try:
        with unpacked(name, truncated=truncated) as stream:
            size = None if isinstance(stream, _Bounded) or name == STDIN_NAME else _size(Path(name))
            if size is None:
                yield from _stream(stream, block_bytes=block_bytes)
            else:
                for start in range(0, size, block_bytes):
                    yield Stretch(path=name, start=start, end=min(start + block_bytes, size))
    except OSError as error:
        raise DataError(
            f"cannot be read: {error.strerror or error}", place=name, next_step="give log files that exist"
        ) from None


@contextmanager
def unpacked(name: str, *, truncated: Callable[[str], None]) -> Iterator["Readable"]:
    """Open the file's bytes from the first on, unpacked as in `blocks`, for readers of whole records."""
    if name == STDIN_NAME:
        with _standard_input() as stream:
            yield stream
        return
    with Path(name).open("rb") as file:
        head = b""
        if _size(Path(name)) is not None:
            head = file.read(4)
            file.seek(0)
        if head.startswith(_GZIP):
            yield _Bounded(_Gunzip(file), packed=file, name=name, truncated=truncated)
        elif head == _ZSTD:
            yield _Bounded(_Unzstd(file, name), packed=file, name=name, truncated=truncated)
        else:
            yield file


def _standard_input() -> BinaryIO:
    return os.fdopen(os.dup(0), "rb")


def _size(path: Path) -> int | None:
    """Return the size in bytes; None if it is not a regular file."""
    status = path.stat()
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _stream(stream: "Readable", *, block_bytes: int) -> Iterator[Lines]:
    rest = b""
    while data := stream.read(block_bytes):
        data = rest + data
        end = data.rfind(b"\n") + 1
        # An unending line is passed on in pieces, which are rejected as too long.
        if not end and len(data) <= FILE_LIMITS.log_line_bytes:
            rest = data
            continue
        end = end or len(data)
        rest = data[end:]
        yield Lines(data=data[:end])
    if rest:
        yield Lines(data=rest)


def pieces(data: bytes) -> Iterator[bytes]:
    """Cut lines at line feeds, so that no piece has more than FILE_LIMITS.log_lines."""
    if data.count(b"\n") <= FILE_LIMITS.log_lines:
        yield data
        return
    middle = len(data) // 2
    cut = data.rfind(b"\n", 0, middle) + 1 or data.index(b"\n", middle) + 1
    yield from pieces(data[:cut])
    yield from pieces(data[cut:])


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _Bounded:
    """A reader of unpacked bytes up to the end or the damage, which rejects far more bytes than were packed."""

    def __init__(self, stream: Readable, *, packed: BinaryIO, name: str, truncated: Callable[[str], None]) -> None:
        self._stream = stream
        self._packed = packed
        self._name = name
        self._truncated = truncated
        self._unpacked = 0
        self._ended = False

    def read(self, size: int, /) -> bytes:
        pieces = []
        while size > 0 and not self._ended:
            piece = self._piece(min(size, _READ_BYTES))
            pieces.append(piece)
            size -= len(piece)
            self._unpacked += len(piece)
            if self._unpacked > RATIO_FREE_BYTES + FILE_LIMITS.log_ratio * self._packed.tell():
                step = "check where the file comes from; unpack it yourself where it is right"
                raise DataError(
                    f"unpacks to more than {FILE_LIMITS.log_ratio} times its size", place=self._name, next_step=step
                )
        return b"".join(pieces)

    def _piece(self, size: int) -> bytes:
        try:
            piece = self._stream.read(size)
        except (EOFError, ValueError):
            self._truncated(self._name)
            piece = b""
        self._ended = not piece
        return piece


class _Gunzip:
    """A gzip reader that also returns the bytes unpacked just before the damage; the standard one drops them."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._inflate = zlib.decompressobj(wbits=31)
        self._packed = b""

    def read(self, size: int, /) -> bytes:
        while True:
            packed = self._packed or self._file.read(_READ_BYTES)
            self._packed = b""
            if self._inflate.eof:
                if not packed:
                    return b""
                # Another member follows, or the zeros that pad some archives.
                packed = packed.lstrip(b"\0")
                if not packed:
                    continue
                self._inflate = zlib.decompressobj(wbits=31)
            elif not packed:
                raise EOFError
            try:
                data = self._inflate.decompress(packed, size)
            except zlib.error as error:
                raise ValueError(str(error)) from None
            self._packed = self._inflate.unconsumed_tail or self._inflate.unused_data
            if data:
                return data


class _Unzstd:
    def __init__(self, file: BinaryIO, name: str) -> None:
        try:
            import zstandard
        except ImportError:
            step = "pip install 'perf-culprit[zstd]', or unpack the file first (unzstd)"
            raise UsageError("zstd needs a package that is not installed", place=name, next_step=step) from None
        decompressor = zstandard.ZstdDecompressor(max_window_size=FILE_LIMITS.zstd_window_bytes)
        self._stream = decompressor.stream_reader(file, read_across_frames=True)
        self._error = zstandard.ZstdError

    def read(self, size: int, /) -> bytes:
        try:
            return self._stream.read(size)
        except self._error as error:
            raise ValueError(str(error)) from None
