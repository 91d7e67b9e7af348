"""Every format of load tests and counters by its id, from the most specific content to the least."""

from typing import Final

from perf_culprit.read.counters.counter_csv import COUNTER_CSV
from perf_culprit.read.counters.counter_shapes import CounterReader
from perf_culprit.read.counters.load_tools import JMETER_JTL, K6_CSV, K6_SUMMARY, LOCUST_HISTORY, LOCUST_STATS
from perf_culprit.read.counters.perf_stat import PERF_STAT_CSV, PERF_STAT_JSON
from perf_culprit.read.counters.prometheus import PROMETHEUS_QUERY, PROMETHEUS_TEXT
from perf_culprit.read.counters.system_counters import PERFMON_CSV, SADF_CSV, SADF_JSON, SADF_LINES

COUNTER_READERS: Final[dict[str, CounterReader]] = {
    "k6_summary": K6_SUMMARY,
    "k6_csv": K6_CSV,
    "jmeter_jtl": JMETER_JTL,
    "locust_stats": LOCUST_STATS,
    "locust_history": LOCUST_HISTORY,
    "perf_stat_json": PERF_STAT_JSON,
    "perf_stat_csv": PERF_STAT_CSV,
    "sadf_json": SADF_JSON,
    "sadf_csv": SADF_CSV,
    "sadf_lines": SADF_LINES,
    "perfmon_csv": PERFMON_CSV,
    "prometheus_query": PROMETHEUS_QUERY,
    "prometheus_text": PROMETHEUS_TEXT,
    "counter_csv": COUNTER_CSV,
}
