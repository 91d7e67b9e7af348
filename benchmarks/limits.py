"""The limits that a user notices, each next to a reference in the same run: start, compare, a whole action run.

    python benchmarks/limits.py [start] [small] [compare] [changes] [baseline] [action] [largest]

`action` needs podman and root (as the container tests); it builds the real image first.
"""

import json
import multiprocessing
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from perf_culprit.model.file_limits import FILE_LIMITS

PROJECT = Path(__file__).parents[1]
sys.path.insert(0, str(PROJECT))
REPETITIONS = 7
SUITE = {f"bench_{number:05d}": 0.001 * (1 + number % 37) for number in range(10_000)}


def seconds_of(command: Sequence[str], *, repetitions: int = REPETITIONS) -> tuple[float, float]:
    """Median wall time and peak memory in GB of the command as a whole process; no less than this process's own."""
    seconds, peaks = [], []
    for _ in range(repetitions):
        begun = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=PROJECT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds.append(time.perf_counter() - begun)
        peaks.append(usage.ru_maxrss * 1024 / 1e9)
    return statistics.median(seconds), max(peaks)


def show(
    what: str, seconds: float, *, limit_s: float, reference: str, reference_s: float, memory_gb: float = 0
) -> None:
    memory = f", {memory_gb:.2f} GB" if memory_gb else ""
    ratio = seconds / reference_s
    print(f"{what}: {seconds:.2f} s (limit {limit_s:g} s){memory}; {ratio:.1f} x {reference} ({reference_s:.2f} s)")


def start() -> None:
    reference, _ = seconds_of([sys.executable, "-c", "import argparse"])
    for arguments in (["--help"], ["compare", "--help"]):
        seconds, _ = seconds_of([sys.executable, "-m", "perf_culprit", *arguments])
        show(
            f"perf-culprit {' '.join(arguments)}",
            seconds,
            limit_s=0.15,
            reference="python importing argparse",
            reference_s=reference,
        )


LIBRARIES = "scipy.special, jinja2, tabulate, msgspec, pydantic, yaml"


def small() -> None:
    """Show the processor time next to that of the libraries, loaded as the command loads them."""
    loaded = f"import os; os.putenv('OPENBLAS_NUM_THREADS', '1'); import {LIBRARIES}"
    with tempfile.TemporaryDirectory() as folder:
        files = [f"{folder}/{name}.json" for name in ("baseline", "target")]
        for number, file in enumerate(files):
            times = [1 + 0.01 * ((7 * number + 3 * run) % 10) for run in range(10)]
            entry = {"command": "work", "mean": statistics.mean(times), "times": times}
            Path(file).write_text(json.dumps({"results": [entry]}))
        command = [sys.executable, "-m", "perf_culprit", "compare", "--baseline", files[0], "--target", files[1]]
        show(
            "compare, two files of hyperfine, processor time",
            processor_seconds_of(command),
            limit_s=1.5 * (reference := processor_seconds_of([sys.executable, "-c", loaded])),
            reference="the libraries",
            reference_s=reference,
        )


def processor_seconds_of(command: Sequence[str]) -> float:
    """Return the median of whole processes, with bytecode that was written before."""
    seconds = []
    for _ in range(REPETITIONS + 1):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=PROJECT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds.append(usage.ru_utime + usage.ru_stime)
    return statistics.median(seconds[1:])


def compare() -> None:
    from perf_culprit.model.run_file import encode_run
    from tests.support.measurements import measured

    with tempfile.TemporaryDirectory() as folder:
        for seed in range(30):
            Path(folder, f"base-{seed:02d}.json").write_bytes(encode_run(measured(SUITE, seed=seed, count=50)))
        slower = {**SUITE, "bench_00007": SUITE["bench_00007"] * 1.2}
        Path(folder, "target.json").write_bytes(encode_run(measured(slower, seed=99, count=50)))
        read = f"import glob, json; [json.load(open(name)) for name in glob.glob('{folder}/*.json')]"
        reference, _ = seconds_of([sys.executable, "-c", read], repetitions=1)
        out = f"{folder}/report.json"
        command = [sys.executable, "-m", "perf_culprit", "compare", "--baseline", f"{folder}/base-*.json"]
        command += ["--target", f"{folder}/target.json", "--json", out]
        seconds, memory_gb = seconds_of(command, repetitions=3)
        results = [entry for entry in json.loads(Path(out).read_text())["findings"] if entry["verdict"] == "regression"]
        assert [entry["benchmark"] for entry in results] == ["bench_00007"]
        show(
            "compare, 10,000 benchmarks x 50 samples x 30 runs",
            seconds,
            limit_s=10,
            reference="json.load of the same files",
            reference_s=reference,
            memory_gb=memory_gb,
        )


def write_large_runs(folder: str, count: int) -> None:
    from perf_culprit.model.run_file import encode_run
    from tests.support.measurements import measured

    levels = {f"bench_{number:07d}": 0.001 * (1 + number % 37) for number in range(count)}
    for seed, name in enumerate(("base", "target")):
        slower = {**levels, "bench_0000007": levels["bench_0000007"] * (1 + seed)}
        Path(folder, f"{name}.json").write_bytes(encode_run(measured(slower, seed=seed, count=5, run_noise=0.0)))


def largest() -> None:
    """Compare two runs of the largest admitted number of benchmarks, five samples each."""

    with tempfile.TemporaryDirectory() as folder:
        # Use a separate process: this one has to stay small.
        writer = multiprocessing.get_context("spawn").Process(
            target=write_large_runs, args=(folder, FILE_LIMITS.metrics)
        )
        writer.start()
        writer.join()
        command = [sys.executable, "-m", "perf_culprit", "compare", "--baseline", f"{folder}/base.json"]
        command += ["--target", f"{folder}/target.json", "--json", f"{folder}/report.json"]
        seconds, memory_gb = seconds_of(command, repetitions=1)
        read = f"import json; [json.load(open('{folder}/' + name)) for name in ('base.json', 'target.json')]"
        reference, _ = seconds_of([sys.executable, "-c", read], repetitions=1)
    show(
        f"compare, 2 runs of {FILE_LIMITS.metrics:,} benchmarks x 5 samples, report.json written",
        seconds,
        limit_s=60,
        reference="json.load of the same files",
        reference_s=reference,
        memory_gb=memory_gb,
    )


def changes() -> None:
    import numpy as np
    from scipy import stats

    from perf_culprit.stats.steps import steps

    series = np.random.default_rng(0).normal(100, 3, (1000, 500))
    series[::2, 250:] *= 1.06
    begun = time.perf_counter()
    results = [steps(row) for row in series]
    seconds = time.perf_counter() - begun
    assert sum(len(row) == 1 for row in results[::2]) > 480
    assert sum(map(len, results[1::2])) < 10
    begun = time.perf_counter()
    for row in series:
        stats.mannwhitneyu(row[:250], row[250:])
    show(
        "change points, 1,000 series x 500 points",
        seconds,
        limit_s=5,
        reference="one Mann-Whitney test per series",
        reference_s=time.perf_counter() - begun,
    )


def baseline() -> None:
    from perf_culprit.config.database_url import parse_database
    from perf_culprit.git.command import Remote
    from perf_culprit.git.objects import remove_kept
    from perf_culprit.model.run_file import encode_run
    from perf_culprit.store.opening import open_git_branch, open_sql
    from tests.support import postgresql
    from tests.support.git_repository import init_repository
    from tests.support.measurements import measured

    levels = {name: SUITE[name] for name in list(SUITE)[:1000]}
    runs = [measured(levels, seed=seed, commit=f"{seed:040x}", count=30) for seed in range(100)]
    commits = [f"{seed:040x}" for seed in range(100)]
    files = [encode_run(run) for run in runs]
    begun = time.perf_counter()
    for file in files:
        json.loads(file)
    reference = time.perf_counter() - begun
    with tempfile.TemporaryDirectory() as folder, postgresql.running() as server:
        url = parse_database(server.fresh(), with_secret=True)
        served = Remote(url=str(init_repository(Path(folder) / "served.git", bare=True)))
        places: dict[str, Any] = {
            "the branch": lambda: open_git_branch(served),
            "SQLite": lambda: open_sql(parse_database(f"sqlite:///{folder}/history.db")),
            "PostgreSQL": lambda: open_sql(url),
        }
        for name, opened in places.items():
            with opened() as history:
                history.append_all(runs)
            times, cpu = [], sum(os.times()[:4])
            for _ in range(REPETITIONS):
                remove_kept()
                begun = time.perf_counter()
                with opened() as history:
                    assert sum(history.commits("default").values()) == 100
                    assert len(list(history.runs("default", commits))) == 100
                times.append(time.perf_counter() - begun)
            cpu = (sum(os.times()[:4]) - cpu) / REPETITIONS
            show(
                f"baseline of 100 runs, 1,000 benchmarks x 30 samples, from {name} ({cpu:.2f} s of CPU time)",
                statistics.median(times),
                limit_s=2,
                reference="json.loads of the same files",
                reference_s=reference,
            )


def timed_action(folder: Path) -> Path:
    """The action, which says at the end what CPU time its processes took."""
    import yaml

    entry = re.findall(r"^ENTRYPOINT (.+)$", (PROJECT / "Dockerfile").read_text(), re.MULTILINE)[-1]
    action = yaml.safe_load((PROJECT / "action.yml").read_text())
    action["runs"] |= {
        "entrypoint": "/bin/bash",
        "args": ["-c", f"TIMEFORMAT='cpu %U %S'; time {shlex.join(json.loads(entry))}"],
    }
    file = folder / "action.yml"
    file.write_text(yaml.safe_dump(action))
    return file


def action() -> None:
    from perf_culprit.git.command import Remote
    from perf_culprit.store.opening import open_git_branch
    from tests.support.container.image import build_action_image
    from tests.support.container.runner import Step, run_action
    from tests.support.fake_github.server import BOT_TOKEN, FakeGitHub
    from tests.support.git_repository import chain, import_commits, init_repository, run_git
    from tests.support.measurements import measured, measured_json
    from tests.support.webhooks import event

    image = build_action_image(PROJECT)
    levels = {name: SUITE[name] for name in list(SUITE)[:1000]}
    with tempfile.TemporaryDirectory() as temp:
        served = init_repository(Path(temp) / "served.git", bare=True)
        commits = import_commits(served, {**chain("main", 30), **chain("branch", 1, start=["main30"])})
        run_git(served, "update-ref", "refs/heads/main", commits["main30"])
        with open_git_branch(Remote(url=str(served))) as history:
            for number in range(1, 31):
                history.append(measured(levels, seed=number, commit=commits[f"main{number}"], count=50))
        run_git(served, "repack", "-adq")
        workspace = Path(temp) / "workspace"
        run_git(Path(temp), "clone", "--quiet", str(served), str(workspace))
        (workspace / "bench.json").write_bytes(measured_json({**levels, "bench_00007": 0.05}, seed=77))
        payload = event("pull_request", number=7, head_sha=commits["branch1"], base_sha=commits["main30"])
        with FakeGitHub(git_dir=served) as fake:
            step = Step(
                event_name="pull_request",
                event=payload,
                api_url=fake.api_url,
                token=BOT_TOKEN,
                inputs={"output-file-path": "bench.json"},
                sha="e" * 40,
                ref="refs/pull/7/merge",
                network="host",
            )
            times, cpu = [], []
            file = timed_action(Path(temp))
            for _ in range(5):
                result = run_action(image, action_file=file, workspace=workspace, step=step)
                assert result.exit_code == 0, result.stdout + result.stderr
                times.append(result.elapsed_s)
                cpu.append(sum(map(float, result.stderr.rpartition("cpu ")[2].split()[:2])))
            assert fake.state.comments
            assert not fake.bad
        empty = Step(event_name="push", event={}, environment={"GITHUB_REPOSITORY": ""})
        reference = min(
            run_action(image, action_file=PROJECT / "action.yml", workspace=workspace, step=empty).elapsed_s
            for _ in range(3)
        )
    show(
        "action, 1,000 benchmarks x 50 samples against 30 runs, container start to posted comment "
        f"({statistics.median(cpu):.2f} s of CPU time)",
        statistics.median(times),
        limit_s=3,
        reference="the same container refusing an empty job",
        reference_s=reference,
    )


PARTS = {
    "start": start,
    "small": small,
    "compare": compare,
    "changes": changes,
    "baseline": baseline,
    "action": action,
    "largest": largest,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or PARTS:
        PARTS[name]()
