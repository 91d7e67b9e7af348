"""The log of [Z15] section 4 (630 MB, 1.6 million lines) to suspects and impact, beside a bare regex pass in one run.

    python benchmarks/logs/timing.py [BYTES]

BYTES: of a line (397, as there; at least some 110, so long is what the lines say). The same log twice is the second
figure, one worker the third.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

PROJECT = Path(__file__).parents[2]
sys.path.insert(0, str(PROJECT))

from benchmarks.logs.generator import BYTES_PER_LINE, write_log  # noqa: E402 - found by the path above
from perf_culprit.read.logs.log_pattern import PRESETS  # noqa: E402

LIMIT_S = 10.0
LIMIT_MB = 400.0
# Of CPU time: by wall time it was 6 and 13 in one hour, as the machine had other work.
LIMIT_RATIO = 3.0


def bare_pass_s(path: Path) -> float:
    """CPU seconds of one process that only matches each line."""
    expression = PRESETS["labelled"]
    assert expression is not None
    search = re.compile(expression).search
    begun = time.process_time()
    with path.open("rb") as file:
        matched = sum(search(line) is not None for line in file)
    assert matched > 0
    return time.process_time() - begun


def diagnose(path: Path, *, workers: int = 2) -> tuple[float, float, float]:
    """Seconds, CPU seconds of all processes, and the highest sum of their memory in MB."""
    command = [sys.executable, "-m", "perf_culprit", "diagnose", "--log", str(path), "--pattern", "labelled"]
    command += ["--workers", str(workers)]
    import resource

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=PROJECT)
    peak_mb = 0.0

    def watch() -> None:
        nonlocal peak_mb
        while process.poll() is None:
            peak_mb = max(peak_mb, sum(map(_memory_mb, _family(process.pid))))
            time.sleep(0.05)

    watcher = threading.Thread(target=watch)
    watcher.start()
    assert process.wait() == 0
    seconds = time.perf_counter() - begun
    watcher.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, peak_mb


def _family(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(member for child in children for member in _family(int(child)))]


def _memory_mb(pid: int) -> float:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    match = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(match[1]) / 1024 if match else 0.0


def main(bytes_per_line: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, twice = Path(folder) / "once.log", Path(folder) / "twice.log"
        write_log(path, bytes_per_line=bytes_per_line)
        print(f"{path.stat().st_size / 1e6:,.0f} MB")
        bare_s = bare_pass_s(path)
        seconds, cpu_s, memory_mb = diagnose(path)
        print(f"bare pass: {bare_s:.2f} CPU s")
        print(
            f"diagnose: {seconds:.2f} s (limit {LIMIT_S:g} s), {cpu_s:.2f} CPU s, "
            f"{memory_mb:.0f} MB (limit {LIMIT_MB:g} MB)"
        )
        print(f"  {cpu_s / bare_s:.1f} x the bare pass's CPU time (limit {LIMIT_RATIO:g} x)")
        with twice.open("wb") as file:
            for _ in range(2):
                with path.open("rb") as source:
                    shutil.copyfileobj(source, file)
        twice_s, twice_cpu_s, twice_mb = diagnose(twice)
        print(
            f"twice the file: {twice_s:.2f} s ({twice_s / seconds:.2f} x), {twice_cpu_s:.2f} CPU s, {twice_mb:.0f} MB"
        )
        alone_s, alone_cpu_s, alone_mb = diagnose(path, workers=1)
        print(f"one worker: {alone_s:.2f} s ({alone_s / seconds:.2f} x), {alone_cpu_s:.2f} CPU s, {alone_mb:.0f} MB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else BYTES_PER_LINE)
