"""Whole logs: several processes give the same result as one, and every fault has a message."""

import gzip
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from perf_culprit.errors import ConfigError, DataError, InfrastructureError, UsageError
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.read.logs import log_reader
from perf_culprit.read.logs.log_partial import Part, analyse
from perf_culprit.read.logs.log_pattern import LinePattern, compile_pattern
from perf_culprit.read.logs.log_reader import ReadLog, read_log
from perf_culprit.read.logs.reading_settings import ReadingSettings
from tests.support.execution_logs import LABELLED, call, log, paths, trees_of

ROWS = [("1", "order", 10.0), ("1.1", "find", 4.0), ("1.1.1", "read", 1.0)]


DATA = log(execution for i in range(400) for execution in call(f"c{i}", ROWS, second=i))


CATASTROPHE = compile_pattern(
    rb"(a+)+$(?P<service>s)(?P<call>c)(?P<label>1)(?P<method>m)(?P<elapsed_ms>1)", name="bad.txt"
)


def read(*paths: Path, pattern: LinePattern = LABELLED, block_bytes: int = 1 << 24, limit_s: float = 30) -> ReadLog:
    return read_log(
        [str(path) for path in paths],
        pattern=pattern,
        settings=ReadingSettings(horizon=20),
        block_bytes=block_bytes,
        time_limit_s=limit_s,
    )


def test_any_blocks_packed_or_not_give_the_same(tmp_path: Path) -> None:
    plain, packed = tmp_path / "log", tmp_path / "log.gz"
    plain.write_bytes(DATA)
    packed.write_bytes(gzip.compress(DATA))
    one = read(plain)
    # Several blocks go to worker processes.
    for other in (read(plain, block_bytes=4_000), read(packed, block_bytes=9_000)):
        assert paths(trees_of(other.part)["shop"]) == paths(trees_of(one.part)["shop"])
        assert other.part.services[b"shop"].times.windows == one.part.services[b"shop"].times.windows
        assert other.part.lines == one.part.lines


MEMORY = """
import resource, sys
from perf_culprit.read.logs.log_chunks import Lines
from perf_culprit.read.logs.log_pattern import load_pattern
from perf_culprit.read.logs.log_reader import analyse_block
from perf_culprit.read.logs.reading_settings import ReadingSettings

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10

def part(data):
    pattern = load_pattern("labelled")
    return analyse_block(Lines(data=data), pattern=pattern, settings=ReadingSettings(), limit_s=300)

part(b"\\n")
before = peak()
print(part(eval(sys.argv[1]) * (1 << 21)).lines, peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="its unit of memory")
@pytest.mark.parametrize("line", [b"\n", b"a\n"])
def test_wanted_memory_by_a_log_of_short_lines_got_that_of_any_block(line: bytes) -> None:
    """Before, each line of a block took 110 to 190 bytes at the same time: 3 GiB for 49 KiB of packed line feeds."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", MEMORY, repr(line)], capture_output=True, text=True, check=True, timeout=300
    )
    lines, grown_mib = map(int, done.stdout.split())
    assert lines == 1 << 21
    assert grown_mib < 150


def test_a_block_of_many_lines_gives_the_same_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log"
    path.write_bytes(DATA.replace(b"\n", b"\n\n\n"))
    one = read(path)
    monkeypatch.setattr(type(FILE_LIMITS), "log_lines", 100)
    other = read(path)
    assert other.part.lines == one.part.lines == 3 * DATA.count(b"\n")
    assert paths(trees_of(other.part)["shop"]) == paths(trees_of(one.part)["shop"])


def test_a_call_may_go_on_in_the_next_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that fit together into one block start no worker process."""
    monkeypatch.setattr("perf_culprit.read.logs.log_reader.process_pool", lambda *_, **__: pytest.fail("a process"))
    lines = log(call("c1", ROWS)).splitlines(keepends=True)
    (tmp_path / "log.1").write_bytes(lines[0])
    (tmp_path / "log.2").write_bytes(b"".join(lines[1:]))
    whole = read(tmp_path / "log.1", tmp_path / "log.2")
    assert paths(trees_of(whole.part)["shop"])["order"] == (1, 10, 6)


def test_this_process_is_one_of_the_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log"
    path.write_bytes(DATA)
    asked: list[int] = []

    @contextmanager
    def pool(workers: int, **_: object) -> Iterator[ThreadPoolExecutor]:
        asked.append(workers)
        with ThreadPoolExecutor(workers) as threads:
            yield threads

    by_here: list[bool] = []

    def analysed(*given: Any, **named: Any) -> Part:
        by_here.append(log_reader.can_be_limited())
        time.sleep(0.001)
        return analyse(*given, **named)

    monkeypatch.setattr(log_reader, "process_pool", pool)
    monkeypatch.setattr(log_reader, "analyse", analysed)
    parts = [
        read_log(
            [str(path)], pattern=LABELLED, settings=ReadingSettings(horizon=20), block_bytes=4_000, workers=workers
        )
        for workers in (1, 2)
    ]
    assert asked == [1]
    assert {*by_here} == {True, False}
    assert paths(trees_of(parts[0].part)["shop"]) == paths(trees_of(parts[1].part)["shop"])


def test_an_executor_may_be_given(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(DATA)
    with ThreadPoolExecutor(2) as executor:
        shared = read_log(
            [str(path)], pattern=LABELLED, settings=ReadingSettings(), executor=executor, block_bytes=4_000
        )
    assert trees_of(shared.part)["shop"].calls == 400


@pytest.mark.parametrize("block_bytes", [1 << 20, 64], ids=["here", "in a worker process"])
def test_a_pattern_that_takes_for_ever_is_given_up(tmp_path: Path, block_bytes: int) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"a" * 60 + b"b\n" + b"a" * 60 + b"b\n")
    with pytest.raises(ConfigError, match=r"took more than 0\.2 s") as raised:
        read(path, pattern=CATASTROPHE, block_bytes=block_bytes, limit_s=0.2)
    assert raised.value.place == "bad.txt"


def test_the_limit_holds_when_called_from_a_thread(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"a" * 60 + b"b\n")
    raised: list[BaseException] = []

    def run() -> None:
        try:
            read(path, pattern=CATASTROPHE, limit_s=0.2)
        except ConfigError as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(timeout=20)
    assert len(raised) == 1


def test_an_empty_log(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.touch()
    with pytest.raises(DataError, match="holds no line"):
        read(path)
    path.write_bytes(b"\n\n")
    with pytest.raises(DataError, match="none of 2 lines is a method execution"):
        read(path)


def test_the_preset_that_reads_the_log_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(
        b'{"service": "a", "call": 1, "label": "1", "method": "m", "elapsed_ms": 1}\n' + b"end of the log\n"
    )
    with pytest.raises(DataError, match="--pattern json"):
        read(path)


def test_nothing_reads_the_log(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"Lorem ipsum\x1b[2J\n")
    with pytest.raises(DataError, match=r"Lorem ipsum\\x1b\[2J.*\n.*write a pattern file"):
        read(path)


def test_truncated_files_are_named_once(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(DATA)[:-40])
    assert read(path).truncated_files == (str(path),)


class Workers:
    """A client whose workers return fixed answers."""

    def __init__(self, answers: Mapping[str, object]) -> None:
        self.answers = answers

    def run(self, function: Any, names: Sequence[str], *, on_error: str) -> Mapping[str, object]:
        pickle.dumps(function)
        assert on_error == "return"
        assert names
        return self.answers


@pytest.fixture
def server_log(tmp_path: Path) -> str:
    path = tmp_path / "server.log"
    path.write_bytes(b"12345")
    return str(path)


def test_workers_that_see_the_files_are_fine(server_log: str) -> None:
    log_reader._check_workers(Workers({"a": {server_log: 5}, "b": {server_log: 5}}), [server_log, "-"])


@pytest.mark.parametrize(
    ("size", "text"), [(None, "the worker b does not see it"), (3, "the worker b sees 3 bytes instead of 5")]
)
def test_a_worker_that_does_not_see_a_file_is_named(server_log: str, size: int | None, text: str) -> None:
    with pytest.raises(InfrastructureError, match=text) as raised:
        log_reader._check_workers(Workers({"a": {server_log: 5}, "b": {server_log: size}}), [server_log])
    assert raised.value.place == server_log
    assert raised.value.next_step == log_reader.SHARED


def test_workers_without_the_program_and_no_workers_are_said(server_log: str) -> None:
    with pytest.raises(InfrastructureError, match="cannot run perf-culprit: a: No module named 'perf_culprit'"):
        log_reader._check_workers(Workers({"a": ModuleNotFoundError("No module named 'perf_culprit'")}), [server_log])
    with pytest.raises(InfrastructureError, match="has no workers"):
        log_reader._check_workers(Workers({}), [server_log])


def test_a_file_that_vanishes_later_is_said_with_its_machine(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        future = log_reader._NamedFailures(pool).submit((tmp_path / "gone.log").read_bytes)
        with pytest.raises(InfrastructureError, match="cannot read it: No such file") as raised:
            future.result()
    again = pickle.loads(pickle.dumps(raised.value))  # noqa: S301 - our own, as it travels from a worker
    assert str(again) == str(raised.value)
    assert again.next_step == log_reader.SHARED


def test_other_addresses_and_a_missing_package_are_usage_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="not an address of a scheduler"), log_reader.open_cluster("file:///etc", []):
        pass
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match="not installed"), log_reader.open_cluster("tcp://127.0.0.1:9", []):
        pass
