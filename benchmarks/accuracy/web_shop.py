"""A three-tier web shop (driver, Tomcat, MySQL) as a small queueing model that yields the counters of [F11] and [N12].

Utilisations follow from demands, queues from utilisations, and the rest from both. A fault therefore has the same side
effects as in a real shop. Every counter has its own noise and a small offset per run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from perf_culprit.arrays import Floats
from perf_culprit.model.run import MetricKey, Run
from tests.support.counter_runs import counter_run, counter_table

# One hour in steps of 50 s, as the violation ratios of [N12, table 5] (multiples of 1/72) show.
INSTANTS, STEP_S = 72, 50.0
FULL = {"cpu": "2 GHz", "memory": "3.5 GB", "database": "5.1", "os": "32 bit"}
# A counter is expected to be found if the fault raises or lowers its mean without noise by this share.
NOTABLE = 0.1
NOISE, OFFSET = 0.03, 0.01

Tables = Mapping[str, Mapping[str, Floats]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Shop:
    """Factors on the cost of one order; 1 is the good version on full hardware."""

    load: float = 1.0
    tomcat_cpu: float = 1.0
    mysql_cpu: float = 1.0
    rows: float = 1.0
    disk_reads: float = 1.0
    disk_writes: float = 1.0
    logging: float = 1.0
    memory: float = 1.0
    caches: float = 1.0

    def on(self, environment: Mapping[str, str]) -> "Shop":
        """The same version on other hardware or software."""
        slow = 2.0 if environment["cpu"] == "1 GHz" else 1.0
        small = environment["memory"] == "1.5 GB"
        old = environment["database"] == "5.0"
        wide = 1.4 if environment["os"] == "64 bit" else 1.0
        return Shop(
            load=self.load,
            tomcat_cpu=self.tomcat_cpu * slow,
            mysql_cpu=self.mysql_cpu * slow * (1.25 if old else 1.0),
            rows=self.rows,
            disk_reads=self.disk_reads * (2.5 if small else 1.0) * (1.3 if old else 1.0),
            disk_writes=self.disk_writes,
            logging=self.logging,
            memory=self.memory * wide,
            caches=self.caches * (0.6 if small else 1.0) * wide,
        )

    def counters(self, load: Floats) -> Tables:
        """Return the counters without noise; `load` is orders per second over time."""
        orders = load * self.load
        tomcat = np.clip(orders * 0.03 * self.tomcat_cpu, 0, 0.97)
        mysql = np.clip(orders * 0.025 * self.mysql_cpu, 0, 0.97)
        response_ms = 30 * self.tomcat_cpu / (1 - tomcat) + 25 * self.mysql_cpu / (1 - mysql)
        threads = 5 + orders * response_ms / 1000 * 10
        reads, writes = orders * 12 * self.disk_reads, orders * 8 * self.disk_writes
        tomcat_memory = self.memory * (200 + 1.5 * threads + 30 * self.rows)
        return {
            "driver": {
                "processor time": 5 + 0.8 * orders,
                "orders/minute": 60 * orders,
                "network bytes sent/s": 4_000 * orders,
                "network bytes received/s": 30_000 * orders,
                "response time": response_ms,
            },
            "tomcat": {
                "processor time": 100 * tomcat,
                "threads": threads,
                "virtual bytes": 500 + tomcat_memory,
                "private bytes": tomcat_memory,
                "pool paged bytes": 60 + 20 * self.logging + 0 * orders,
                "io data bytes/s": orders * (9_000 * self.rows + 3_000 * self.logging),
                "io write bytes/s": orders * (1_000 + 3_000 * self.logging),
                "io write operations/s": orders * (4 + 12 * self.logging),
            },
            "mysql": {
                "processor time": 100 * mysql,
                "private bytes": 300 * self.caches + 0 * orders,
                "io read bytes/s": 2_000 * reads,
                "io write bytes/s": 2_000 * writes,
                "disk reads/s": reads,
                "disk writes/s": writes,
                "page reads/s": 3 + 0.5 * reads,
                "page writes/s": 3 + 0.3 * writes,
                "context switches/s": 500 + 90 * orders * self.rows**0.5,
                "network bytes sent/s": orders * 20_000 * self.rows,
            },
        }


def shop_run(
    rng: np.random.Generator, shop: Shop, *, environment: Mapping[str, str] = FULL, commit: str | None = None
) -> Run:
    load = 12 * (1 + 0.04 * rng.normal(size=INSTANTS))
    tables = []
    for name, counters in shop.on(environment).counters(load).items():
        exact = np.column_stack(list(counters.values()))
        noise = NOISE * rng.normal(size=exact.shape) + OFFSET * rng.normal(size=exact.shape[1])
        tables.append(counter_table(exact * (1 + noise), name=name, step_s=STEP_S, names=list(counters)))
    return counter_run(*tables, environment=environment, commit=commit)


def expected(shop: Shop, environment: Mapping[str, str] = FULL) -> set[MetricKey]:
    """The counters that the fault moves."""
    load = np.full(1, 12.0)
    good, bad = Shop().on(environment).counters(load), shop.on(environment).counters(load)
    return {
        MetricKey(table, name)
        for table, counters in good.items()
        for name, value in counters.items()
        if abs(bad[table][name][0] / value[0] - 1) >= NOTABLE
    }


def precision_recall(flagged: set[MetricKey], wanted: set[MetricKey]) -> tuple[float, float, float]:
    """Return precision, recall and harmonic mean [F11, eq. 6-4, 6-5]: 1 if nothing is flagged, or expected."""
    hits = len(flagged & wanted)
    precision = hits / len(flagged) if flagged else 1.0
    recall = hits / len(wanted) if wanted else 1.0
    return precision, recall, 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.0
