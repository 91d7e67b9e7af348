"""Simulations of models against minimal loops that do the same queueing, and error rates of compared designs.

    python benchmarks/simulate.py [time] [sweep] [alarms]

Times are CPU time, because the machine is shared; that of a sweep is wall time.
"""

import heapq
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

PROJECT = Path(__file__).parents[1]
sys.path.insert(0, str(PROJECT))

import numpy as np  # noqa: E402
import simpy  # noqa: E402

from perf_culprit.config.settings import Config  # noqa: E402
from perf_culprit.flows.compare import compare_runs  # noqa: E402
from perf_culprit.model.finding import BaselineSource, Verdict  # noqa: E402
from perf_culprit.model.run import Run  # noqa: E402
from perf_culprit.simulate import studies  # noqa: E402
from perf_culprit.simulate.design_file import load_design, parse_design  # noqa: E402
from perf_culprit.simulate.replication import replicate, sampled_run  # noqa: E402
from perf_culprit.simulate.studies import combinations  # noqa: E402

EXAMPLES = PROJECT / "docs" / "simulation"
RATE, SERVICE_S, SERVERS, HOUR_S = 17.0, 2.0, 34, 3600.0
QUEUE = """
name: queue
world-view: { components: { clients: {}, server: {} } }
component: { server: { threads: 3, requests: { job: { processing: "exponential(SERVICE)" } } } }
scenario: { day: { arrivals: [{ from: clients, to: server, request: job, rate: 2/s }], duration: 600 s } }
"""


def cpu_seconds(work: Callable[[], object], *, repetitions: int = 3) -> float:
    """Return the least CPU time, because the machine is shared."""
    seconds = []
    for _ in range(repetitions):
        begun = time.process_time()
        work()
        seconds.append(time.process_time() - begun)
    return min(seconds)


def heap_loop() -> None:
    """Simulate M/D/34 for an hour: arrivals, a queue and departures, nothing else."""
    pause = np.random.default_rng(0).exponential(1 / RATE, int(RATE * HOUR_S * 1.1))
    events = [(moment, True) for moment in np.cumsum(pause).tolist() if moment < HOUR_S]
    heapq.heapify(events)
    free, waiting = SERVERS, deque[float]()
    while events:
        now, is_arrival = heapq.heappop(events)
        if not is_arrival:
            free += 1
        else:
            waiting.append(now)
        if free and waiting:
            waiting.popleft()
            free -= 1
            heapq.heappush(events, (now + SERVICE_S, False))


def bare_simpy() -> None:
    """Simulate the same with SimPy's own resource."""
    pause = iter(np.random.default_rng(0).exponential(1 / RATE, int(RATE * HOUR_S * 1.1)).tolist())
    environment = simpy.Environment()
    servers = simpy.Resource(environment, SERVERS)

    def job() -> simpy.events.ProcessGenerator:
        with servers.request() as asked:
            yield asked
            yield environment.timeout(SERVICE_S)

    def arrivals() -> simpy.events.ProcessGenerator:
        while True:
            yield environment.timeout(next(pause))
            environment.process(job())

    environment.process(arrivals())
    environment.run(until=HOUR_S)


def time_rss() -> None:
    design = load_design(EXAMPLES / "rss-cloud.yml", {"rate": "17/s"})
    seconds, reference = cpu_seconds(lambda: replicate(design, "hour", 0, 0)), cpu_seconds(bare_simpy)
    print(f"RSS cloud, one hour at 17/s: {seconds:.2f} s of CPU time (limit 3 s); {seconds / reference:.1f} x ", end="")
    print(f"bare SimPy without notifications ({reference:.2f} s), {seconds / cpu_seconds(heap_loop):.0f} x a heap")


def sweep() -> None:
    path = EXAMPLES / "performance-monitor.yml"
    designs = [load_design(path, values) for values in combinations(load_design(path))]
    begun = time.perf_counter()
    studies.sweep(designs, "workday", seed=0, replications=1, tell=lambda _: None)
    print(f"performance monitor, {len(designs)} configurations of 8 hours: {time.perf_counter() - begun:.0f} s (300 s)")


def alarms(trials: int = 200, replications: int = 12) -> None:
    """Unchanged designs under two seeds that have nothing in common, and changes under common random numbers."""

    def run(service: str, seed: int) -> Run:
        design = parse_design(QUEUE.replace("SERVICE", service).encode(), {}, place="queue")
        done = [replicate(design, "day", seed, number) for number in range(replications)]
        return sampled_run(design, "day", done, seed=seed)

    def is_called(old: Run, new: Run) -> bool:
        report = compare_runs(new, baseline=(old,), source=BaselineSource.PAIRED, config=Config())
        return any(each.verdict in {Verdict.REGRESSION, Verdict.IMPROVEMENT} for each in report.findings)

    old = [run("1 s", seed) for seed in range(trials)]
    alarms = sum(is_called(one, other) for one, other in zip(old, old[1:] + old[:1], strict=True))
    print(f"unchanged under other seeds: {alarms} of {trials} comparisons with any finding (stated rate 1%)")
    for change in ("1 s", "1.001 s", "1.01 s", "1.03 s", "1.06 s", "1.2 s", "1000 s", "1 ms"):
        hits = sum(is_called(old[seed], run(change, seed)) for seed in range(20))
        print(f"service 1 s -> {change}, common random numbers: {hits} of 20 found")


if __name__ == "__main__":
    parts = {"time": time_rss, "sweep": sweep, "alarms": alarms}
    for name in sys.argv[1:] or parts:
        parts[name]()
