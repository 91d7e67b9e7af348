"""Commands as process groups: they always end, and none of their processes remains."""

import io
import os
import signal
from pathlib import Path

import pytest

from perf_culprit.errors import InfrastructureError
from perf_culprit.measure import processes
from perf_culprit.measure.processes import Log, run_command
from perf_culprit.model.file_limits import FILE_LIMITS
from tests.support.processes import LateClock, becomes, is_alive


def run(
    text: str, folder: Path, *, timeout_seconds: float = 20.0, output: io.BytesIO | None = None
) -> tuple[str | None, str, str]:
    """Run a command and return its fault (None if it succeeded), the log and the log's tail."""
    with Log(folder / "log.txt") as log:
        log.begin("test")
        fault = run_command(
            text,
            directory=folder,
            environment={"PATH": os.environ["PATH"]},
            log=log,
            timeout_seconds=timeout_seconds,
            standard_output=output,
        )
        return fault, (folder / "log.txt").read_text(errors="replace"), log.tail


def test_standard_output_is_kept_apart_and_all_is_logged(tmp_path: Path) -> None:
    output = io.BytesIO()
    fault, log, _ = run("echo 1.5; echo trouble >&2; pwd", tmp_path, output=output)
    assert fault is None
    assert output.getvalue().decode() == f"1.5\n{tmp_path}\n"
    assert "1.5\n" in log
    assert "trouble\n" in log


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param("exit 3", "ended with exit code 3", id="exit code"),
        pytest.param("false; echo not reached", "ended with exit code 1", id="first command of several fails"),
        pytest.param("kill -SEGV $$", "ended by SIGSEGV", id="signal"),
        pytest.param("sh -c 'kill -ABRT $$'", "ended by SIGABRT", id="signal of a child"),
        pytest.param("kill -KILL $$", "ended by SIGKILL (killed from outside: out of memory?)", id="killed"),
        pytest.param("exit 255", "ended with exit code 255", id="no signal has this number"),
        pytest.param("no-such-program", "ended with exit code 127", id="unknown program"),
    ],
)
def test_faults_in_words(tmp_path: Path, text: str, fault: str) -> None:
    assert run(text, tmp_path)[0] == fault


def test_a_command_that_never_ends_is_ended_with_its_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    LateClock(tmp_path / "late", monkeypatch)
    fault, _, _ = run("sleep 100000 & echo $! > child; touch late; wait", tmp_path)
    assert fault == "took longer than 20 s"
    assert not is_alive(int((tmp_path / "child").read_text()))


def test_what_ignores_term_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "GRACE_SECONDS", 0.2)
    LateClock(tmp_path / "late", monkeypatch)
    fault, _, _ = run("trap '' TERM; echo $$ > self; touch late; while true; do sleep 0.05; done", tmp_path)
    assert fault == "took longer than 20 s"
    assert not is_alive(int((tmp_path / "self").read_text()))


def test_a_child_that_stays_neither_holds_us_up_nor_disturbs_the_next(tmp_path: Path) -> None:
    output = io.BytesIO()
    fault, _, _ = run("sleep 100000 & echo $! > child; echo 7", tmp_path, output=output)
    assert fault is None
    assert output.getvalue() == b"7\n"
    assert not is_alive(int((tmp_path / "child").read_text()))


def test_output_without_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(FILE_LIMITS), "large_file_bytes", 1 << 20)
    fault, log, _ = run("yes", tmp_path, output=io.BytesIO())
    assert fault == "printed more than 1 MiB"
    assert "output cut after 4 MiB" not in log


def test_the_log_of_one_command_is_bounded(tmp_path: Path) -> None:
    _, log, _ = run("head -c 6000000 /dev/zero | tr '\\0' x", tmp_path)
    assert 4 << 20 < len(log) < (4 << 20) + 1000
    assert log.count("output cut after 4 MiB") == 1


def test_a_closed_output_is_not_the_end(tmp_path: Path) -> None:
    fault, _, _ = run("exec >&- 2>&-; sleep 0.3; exit 4", tmp_path)
    assert fault == "ended with exit code 4"


def test_the_tail_commands_neither_terminal_nor_runner(tmp_path: Path) -> None:
    *_, tail = run("printf 'a\\nb\\nc\\nd\\n\\033[31mlast\\r::set-env name=X::1\\n##[add-path]/here\\n' >&2", tmp_path)
    assert "\x1b" not in tail
    assert not tail.startswith("::")
    assert len(tail.splitlines()) == 1
    assert "##[" not in tail
    assert tail.endswith("/here")
    assert "\n" not in tail


def test_an_interrupt_ends_the_command(tmp_path: Path) -> None:
    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        with pytest.raises(KeyboardInterrupt):
            run("sleep 100000 & echo $! > child; wait", tmp_path)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    child = tmp_path / "child"
    assert becomes(lambda: child.exists() and child.read_text().strip())
    assert not is_alive(int(child.read_text()))


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with (
        Log(tmp_path / "log.txt") as log,
        pytest.raises(InfrastructureError, match="could not be started"),
    ):
        run_command("true", directory=tmp_path / "absent", environment={}, log=log, timeout_seconds=1)
