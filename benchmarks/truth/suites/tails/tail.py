"""Print how long 1,000 calls took, in ns: python tail.py WORKLOAD WORK WORK_OF_SLOW_CALLS; every 33rd call is slow."""

import json
import sys
import time

RECORD = {"name": "a" * 20, "values": list(range(12)), "nested": {"on": True}}
UNSORTED = [(7 * number) % 11 for number in range(11)]
WORKLOADS = {
    "json": lambda: json.loads(json.dumps(RECORD)),
    "sort": lambda: sorted(UNSORTED, key=lambda one: -one),
}


def main() -> None:
    work, usual, slow = WORKLOADS[sys.argv[1]], int(sys.argv[2]), int(sys.argv[3])
    took = []
    for call in range(1_100):
        count = usual if call % 33 else slow
        start = time.perf_counter_ns()
        for _ in range(count):
            work()
        took.append(time.perf_counter_ns() - start)
    print(json.dumps(took[100:]))


main()
