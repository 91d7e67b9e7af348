"""A/A series of the machine at hand: one program again and again in fresh processes; every difference is noise.

python benchmarks/bisect/noise.py --seconds 600 --output FILE [--program loop|json]

A line per execution: seconds since the start, CPU seconds (minimum of 3 repetitions inside the process).
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

PROGRAMS: Final[Mapping[str, str]] = {
    "loop": "sum(i * i % 7 for i in range(250_000))",
    "json": "[json.loads(text) for _ in range(12)]",
}
TEMPLATE: Final = """
import json, time
text = json.dumps([{{"name": str(i), "values": list(range(20))}} for i in range(250)])
times = []
for _ in range(3):
    start = time.process_time()
    {statement}
    times.append(time.process_time() - start)
print(min(times))
"""


def measure(program: str, seconds: float, output: Path) -> int:
    """Write executions until the time is over; return their number."""
    code = TEMPLATE.format(statement=PROGRAMS[program])
    start = time.monotonic()
    count = 0
    with output.open("w") as file:
        file.write("seconds,cpu_s\n")
        while time.monotonic() - start < seconds:
            done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, check=True, text=True)
            file.write(f"{time.monotonic() - start:.2f},{float(done.stdout):.6f}\n")
            file.flush()
            count += 1
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--program", choices=sorted(PROGRAMS), default="loop")
    arguments = parser.parse_args()
    count = measure(arguments.program, arguments.seconds, arguments.output)
    print(f"{count} executions in {arguments.seconds:.0f} s -> {arguments.output}")


if __name__ == "__main__":
    main()
