"""Every format of load tests and counters by its id, from the most specific content to the least."""

from typing import Final

from bot.collect.counters import (
    counter_csv,
    jmeter_jtl,
    k6_csv,
    k6_summary,
    locust_history,
    locust_stats,
    perf_stat_csv,
    perf_stat_json,
    perfmon_csv,
    prometheus_query,
    prometheus_text,
    sadf_csv,
    sadf_json,
    sadf_lines,
)
from bot.collect.counters.reader import CounterReader

COUNTER_READERS: Final[dict[str, CounterReader]] = {
    "k6_summary": k6_summary,
    "k6_csv": k6_csv,
    "jmeter_jtl": jmeter_jtl,
    "locust_stats": locust_stats,
    "locust_history": locust_history,
    "perf_stat_json": perf_stat_json,
    "perf_stat_csv": perf_stat_csv,
    "sadf_json": sadf_json,
    "sadf_csv": sadf_csv,
    "sadf_lines": sadf_lines,
    "perfmon_csv": perfmon_csv,
    "prometheus_query": prometheus_query,
    "prometheus_text": prometheus_text,
    "counter_csv": counter_csv,
}
