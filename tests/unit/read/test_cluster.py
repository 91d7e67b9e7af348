"""What can go wrong with a cluster, without one; tests/integration/test_diagnose_cluster.py has a real one."""

import pickle
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from perf_culprit.errors import InfrastructureError, UsageError
from perf_culprit.read.logs import log_reader


class Workers:
    """A client whose workers give fixed answers."""

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
        future = log_reader._Told(pool).submit((tmp_path / "gone.log").read_bytes)
        with pytest.raises(InfrastructureError, match="cannot read it: No such file") as raised:
            future.result()
    again = pickle.loads(pickle.dumps(raised.value))  # noqa: S301 - our own, as it travels from a worker
    assert str(again) == str(raised.value)
    assert again.next_step == log_reader.SHARED


def test_other_addresses_and_a_missing_package_are_usage_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="no address of a scheduler"), log_reader.open_cluster("file:///etc", []):
        pass
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match="not installed"), log_reader.open_cluster("tcp://127.0.0.1:9", []):
        pass
