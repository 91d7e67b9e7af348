"""Files in blocks of whole lines: no line is lost or read twice, and packed files stay within bounds."""

import gzip
import io
import os
import sys
import threading
import zlib
from pathlib import Path

import pytest
import zstandard

from perf_culprit.errors import DataError, UsageError
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.read.logs import log_chunks as module
from perf_culprit.read.logs.log_chunks import blocks, pieces

LINES = b"".join(b"%d %s\n" % (i, b"x" * (i * 37 % 50)) for i in range(300))


def refuse(name: str) -> None:
    pytest.fail(f"{name} is whole")


def read(path: Path, *, block_bytes: int, truncated: list[str] | None = None) -> list[bytes]:
    told = refuse if truncated is None else truncated.append
    return [block.read() for block in blocks(str(path), truncated=told, block_bytes=block_bytes)]


@pytest.mark.parametrize(
    "data", [LINES, LINES[:-1], b"\n" * 50, b"x" * 99 + b"\n" * 9, b"\n" * 9 + b"x" * 99, b"", b"one"]
)
def test_pieces_hold_few_lines_each(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(FILE_LIMITS), "log_lines", 4)
    cut = [*pieces(data)]
    assert b"".join(cut) == data
    assert all(piece.count(b"\n") <= 4 for piece in cut)
    assert all(piece.endswith(b"\n") for piece in cut[:-1])


@pytest.mark.parametrize("block_bytes", [1, 7, 50, 100, 4_096, 1 << 20])
@pytest.mark.parametrize("data", [LINES, LINES[:-1], LINES.replace(b"\n", b"\n\n"), b"", b"\n", b"one"])
@pytest.mark.parametrize("packed", [False, True])
def test_every_line_is_in_one_block(tmp_path: Path, block_bytes: int, data: bytes, *, packed: bool) -> None:
    path = tmp_path / "log"
    path.write_bytes(gzip.compress(data) if packed else data)
    pieces = [piece for piece in read(path, block_bytes=block_bytes) if piece]
    assert b"".join(pieces) == data
    assert all(piece.endswith(b"\n") for piece in pieces[:-1])


@pytest.mark.parametrize("packed", [False, True])
def test_a_line_without_end_stays_out_of_memory(tmp_path: Path, *, packed: bool) -> None:
    path = tmp_path / "log"
    data = b"a\n" + b"x" * 40 * FILE_LIMITS.log_line_bytes + b"\nb\n"
    path.write_bytes(gzip.compress(data) if packed else data)
    pieces = read(path, block_bytes=4 * FILE_LIMITS.log_line_bytes)
    assert max(map(len, pieces)) <= 8 * FILE_LIMITS.log_line_bytes
    assert pieces[0].startswith(b"a\n")
    assert pieces[-1].endswith(b"\nb\n") or pieces[-1] == b"b\n"


def test_several_gzip_members_and_padding(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(LINES) + gzip.compress(b"last\n") + b"\0" * 3_000)
    assert b"".join(read(path, block_bytes=1_000)) == LINES + b"last\n"


def test_zstd(tmp_path: Path) -> None:
    path = tmp_path / "log.zst"
    path.write_bytes(zstandard.compress(LINES) + zstandard.compress(b"last\n"))
    assert b"".join(read(path, block_bytes=1_000)) == LINES + b"last\n"


def test_zstd_without_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.zst"
    path.write_bytes(zstandard.compress(LINES))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(UsageError, match=r"perf-culprit\[zstd\]"):
        read(path, block_bytes=1_000)


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_a_file_that_ends_too_early_is_used_up_to_there(tmp_path: Path, pack: object) -> None:
    assert callable(pack)
    path = tmp_path / "log"
    noise = b"".join(b"%d\n" % zlib.crc32(b"%d" % i) for i in range(200_000))
    packed = pack(noise)
    path.write_bytes(packed[: len(packed) // 2])
    truncated: list[str] = []
    whole = b"".join(read(path, block_bytes=10_000, truncated=truncated))
    assert noise.startswith(whole)
    assert len(whole) > len(noise) // 4
    if pack is gzip.compress:
        assert truncated == [str(path)]


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_damage_is_named(tmp_path: Path, pack: object) -> None:
    assert callable(pack)
    path = tmp_path / "log"
    noise = b"".join(b"%d\n" % zlib.crc32(b"%d" % i) for i in range(50_000))
    packed = bytearray(pack(noise))
    packed[len(packed) // 2 :] = b"\xff" * (len(packed) // 2)
    path.write_bytes(packed)
    truncated: list[str] = []
    read(path, block_bytes=100, truncated=truncated)
    assert truncated == [str(path)]


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_a_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: object) -> None:
    assert callable(pack)
    monkeypatch.setattr(module, "RATIO_FREE_BYTES", 1 << 20)
    path = tmp_path / "log"
    path.write_bytes(pack(b"\n" * (32 << 20)))
    with pytest.raises(DataError, match="more than 300 times"):
        read(path, block_bytes=1 << 20)


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file"):
        read(tmp_path / "none", block_bytes=10)
    with pytest.raises(DataError, match="Is a directory"):
        read(tmp_path, block_bytes=10)


def test_a_named_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(LINES,))
    writer.start()
    assert b"".join(read(path, block_bytes=1_000)) == LINES
    writer.join(timeout=10)


def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.BytesIO(LINES)
    monkeypatch.setattr(module, "_standard_input", lambda: stream)
    assert tmp_path.is_dir()
    assert b"".join(block.read() for block in blocks("-", truncated=refuse, block_bytes=1_000)) == LINES
