"""Is the faulty service the first suspect, in traces of two microservice systems with labelled faults?

    git clone https://github.com/IntelligentDDS/Nezha nezha
    python benchmarks/diagnose/faults.py nezha [--half tune|report]

Baseline: the traces that ended before the nearest injection of that day; target: the minute after the next. CPU and
network faults only: the others raise errors. A hit: a suspect of the service that the fault was injected into.
"""

import argparse
import csv
import hashlib
import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from perf_culprit.explain.compare_trees import compare_profiles
from perf_culprit.read.profiles.profile_reading import read_profiles
from perf_culprit.model.notable_calls import shown_suspects

FAULTS = ("network_delay", "cpu_contention", "cpu_consumed")
COLUMNS = (
    "csv:trace=TraceID,span=SpanID,parent=ParentID,service=PodName,name=OperationName,start_ns=StartTimeUnixNano,"
    "end_ns=EndTimeUnixNano"
)
FIRST = 3


@dataclass(frozen=True, kw_only=True)
class Fault:
    kind: str
    service: str
    time: datetime
    folder: Path

    def minute(self, later: int) -> Path:
        """Return the trace file of a minute; it is empty or absent if the clone lacks it."""
        return self.folder / "trace" / f"{self.time + timedelta(minutes=later):%H_%M}_trace.csv"

    @property
    def half(self) -> str:
        name = self.folder.name + f"{self.time:%Y-%m-%d %H:%M:%S}"
        return "tune" if hashlib.sha256(name.encode()).digest()[0] % 2 == 0 else "report"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clone", type=Path)
    parser.add_argument("--half", choices=("tune", "report"))
    arguments = parser.parse_args()
    counts: Counter[tuple[str, str, str]] = Counter()
    for folder in sorted((arguments.clone / "rca_data").iterdir()):
        faults = [*of_day(folder)]
        for one in faults:
            after = next((path for path in (one.minute(2), one.minute(1)) if is_there(path)), None)
            if one.kind not in FAULTS or after is None or arguments.half not in (None, one.half):
                continue
            answer, rank = compared(one, faults, after)
            print(f"| {one.kind} | {one.half} | {one.service} | {answer} | {rank} |", flush=True)
            for what, holds in (("all", True), ("first", rank == 1), ("first three", 0 < (rank or 0) <= FIRST)):
                counts[one.kind, one.half, what] += holds
            counts[one.kind, one.half, answer] += 1
    for key, count in sorted(counts.items()):
        print("#", *key, count)


def of_day(folder: Path) -> Iterator[Fault]:
    for some in json.loads((folder / f"{folder.name}-fault_list.json").read_text()).values():
        for one in some:
            time = datetime.fromisoformat(one["inject_time"]).replace(tzinfo=UTC)
            yield Fault(kind=one["inject_type"], service=one["inject_pod"], time=time, folder=folder)


def is_there(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def compared(fault: Fault, faults: list[Fault], after: Path) -> tuple[str, int | None]:
    """Return the answer, and the rank of the faulty service's first suspect."""
    donors = [one for one in faults if is_there(one.minute(0))]
    donor = min(donors, key=lambda one: abs(one.time - fault.time))
    with tempfile.NamedTemporaryFile("w", suffix=".csv", newline="") as before:
        csv.writer(before).writerows(earlier(donor))
        before.flush()
        sides = [read_profiles([str(path)], format=COLUMNS).profiles for path in (before.name, after)]
    comparison = compare_profiles(*sides)
    services = [suspect.method.partition(": ")[0] for suspect in shown_suspects(comparison)]
    return comparison.answer.value, services.index(fault.service) + 1 if fault.service in services else None


def earlier(fault: Fault) -> Iterator[list[str]]:
    """Yield the header, and whole traces that ended before the fault."""
    with fault.minute(0).open(newline="") as lines:
        header, *rows = csv.reader(lines)
    trace, end = header.index("TraceID"), header.index("EndTimeUnixNano")
    late = {row[trace] for row in rows if int(row[end]) > fault.time.timestamp() * 1e9}
    yield header
    yield from (row for row in rows if row[trace] not in late)


if __name__ == "__main__":
    main()
