"""A log on a real Dask cluster of processes: the same diagnosis as on this machine alone."""

import gzip
import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.execution_logs import call, log
from tests.support.served import served_program

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="the extra `cluster` is not installed"),
    pytest.mark.slow,  # two worker processes start
]
ROWS = [("1", "Shop.order", 100.0), ("1.1", "OrderDao.find", 80.0), ("1.2", "Mail.send", 7.0)]
LOCAL_CLUSTER = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""
# Blocks of 4 KiB: many parts from both workers, merged in the order of the log.
ANALYSE = """
import sys
from perf_culprit.read.logs.log_pattern import load_pattern
from perf_culprit.read.logs.log_reader import open_cluster, read_log
from perf_culprit.read.logs.reading_settings import ReadingSettings
address, name = sys.argv[1:]
with open_cluster(address, [name]) as cluster:
    options = {"pattern": load_pattern("labelled"), "settings": ReadingSettings(horizon=20), "block_bytes": 4096}
    far = read_log([name], executor=cluster.executor, workers=cluster.workers, **options).part
near = read_log([name], **options).part
assert cluster.workers == 2
assert far == near, "the parts differ"
print(far.lines)
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    script = tmp_path_factory.mktemp("cluster") / "cluster.py"
    script.write_text(LOCAL_CLUSTER)
    with subprocess.Popen(
        [sys.executable, str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        assert process.stdin is not None
        process.stdin.close()
        process.wait(timeout=60)


@pytest.fixture
def server_log(tmp_path: Path) -> Path:
    path = tmp_path / "server.log"
    path.write_bytes(log(one for i in range(400) for one in call(f"c{i}", ROWS, second=i)))
    return path


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    python = served_program().with_name("forking-python")
    return subprocess.run([python, *arguments], capture_output=True, text=True, check=False, cwd=cwd, timeout=120)


def test_parts_of_a_cluster_merge_to_the_same_whole(address: str, server_log: Path) -> None:
    done = run("-c", ANALYSE, address, str(server_log), cwd=server_log.parent)
    assert (done.returncode, done.stdout.strip()) == (0, "1200"), done.stderr


def test_the_verb_gives_the_same_diagnosis(address: str, server_log: Path) -> None:
    options = ["-m", "perf_culprit", "diagnose", "--log", server_log.name, "--pattern", "labelled", "--json", "-"]
    near = run(*options, cwd=server_log.parent)
    far = run(*options, "--cluster", address, cwd=server_log.parent)
    assert far.returncode == 0, far.stderr
    assert json.loads(far.stdout) == json.loads(near.stdout)


def test_packed_logs_travel_to_the_workers(address: str, server_log: Path) -> None:
    packed = server_log.with_suffix(".log.gz")
    packed.write_bytes(gzip.compress(server_log.read_bytes()))
    far = run(
        *("-m", "perf_culprit", "diagnose", "--log", packed.name, "--pattern", "labelled", "--cluster", address),
        cwd=server_log.parent,
    )
    assert (far.returncode, "400 calls of 1 service" in far.stdout) == (0, True), far.stderr


def test_no_scheduler_is_said(server_log: Path) -> None:
    script = (
        "from perf_culprit.read.logs import log_reader; log_reader.CONNECT_LIMIT_S = 1.0\n"
        "from perf_culprit.cli.entry import main; import sys; sys.exit(main(sys.argv[1:]))"
    )
    done = run(
        *("-c", script, "diagnose", "--log", str(server_log), "--pattern", "labelled"),
        *("--cluster", "tcp://127.0.0.1:9"),
        cwd=server_log.parent,
    )
    assert done.returncode == 4, done.stderr
    assert "no scheduler answers at tcp://127.0.0.1:9" in done.stderr
