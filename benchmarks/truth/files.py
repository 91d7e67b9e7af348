"""Files that a tool writes after one execution: pytest-benchmark's JSON, and tables of counters."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.truth.noise import Floats

MACHINE: Final = {
    "node": "runner",
    "machine": "x86_64",
    "system": "Linux",
    "python_version": "3.12.4",
    "cpu": {"brand_raw": "AMD EPYC 7763 64-Core Processor", "count": 4},
}


def benchmark_names(count: int) -> list[str]:
    return [f"bench/test_suite.py::test_{index:03}" for index in range(count)]


def write_results(path: Path, times_s: Floats, *, first: int = 0) -> str:
    """Write a file like `pytest --benchmark-json`, one benchmark per row of (benchmarks, samples); return its name."""
    names = benchmark_names(first + len(times_s))[first:]
    benchmarks = [
        {
            "name": name.rpartition("::")[2],
            "fullname": name,
            "stats": {"mean": sum(row) / len(row), "rounds": len(row), "data": row},
        }
        for name, row in zip(names, times_s.tolist(), strict=True)
    ]
    path.write_text(json.dumps({"machine_info": MACHINE, "version": "5.1.0", "benchmarks": benchmarks}))
    return str(path)


def write_counters(
    path: Path, values: Floats, *, load: Floats | None = None, names: Sequence[str] = (), step_s: float = 15.0
) -> str:
    """Write a plain table (instants, counters), with the load in its last column; return the file's name."""
    columns = [*(names or [f"counter_{index:03}" for index in range(values.shape[1])]), *["load"] * (load is not None)]
    rows = values if load is None else [[*row, at] for row, at in zip(values, load, strict=True)]
    lines = [",".join(["time_s", *columns])]
    lines += [",".join([f"{step_s * index:g}", *(f"{value:.8g}" for value in row)]) for index, row in enumerate(rows)]
    path.write_text("\n".join(lines) + "\n")
    return str(path)
