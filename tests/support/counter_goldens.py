"""The golden files of the readers of counters, and which format each is of."""

from pathlib import Path

FOLDER = Path(__file__).parents[1] / "golden" / "counters"
EXPECTED = ".expected.json"

COUNTER_GOLDENS = (
    ("counter_csv", "counter_csv/decimal_comma.csv"),
    ("counter_csv", "counter_csv/load.csv"),
    ("counter_csv", "counter_csv/relative.tsv"),
    ("jmeter_jtl", "jmeter/no_header.jtl"),
    ("jmeter_jtl", "jmeter/samples.jtl"),
    ("k6_csv", "k6/points.csv"),
    ("k6_lines", "k6/points.ndjson"),
    ("k6_summary", "k6/export.json"),
    ("k6_summary", "k6/summary.json"),
    ("locust_history", "locust/stats_history.csv"),
    ("locust_stats", "locust/stats.csv"),
    ("perf_stat_csv", "perf_stat/intervals.csv"),
    ("perf_stat_csv", "perf_stat/per_cpu.csv"),
    ("perf_stat_csv", "perf_stat/per_socket.csv"),
    ("perf_stat_csv", "perf_stat/repeated.csv"),
    ("perf_stat_json", "perf_stat/intervals.json"),
    ("perf_stat_json", "perf_stat/repeated.json"),
    ("perfmon_csv", "perfmon/relog.csv"),
    ("perfmon_csv", "perfmon/typeperf.csv"),
    ("prometheus_query", "prometheus/range.json"),
    ("prometheus_text", "prometheus/scrape.txt"),
    ("sadf_csv", "sadf/activities.csv"),
    ("sadf_csv", "sadf/epoch.csv"),
    ("sadf_csv", "sadf/processors.csv"),
    ("sadf_csv", "sadf/restart.csv"),
    ("sadf_json", "sadf/activities.json"),
    ("sadf_lines", "sadf/lines.txt"),
)


def golden(path: str) -> bytes:
    return (FOLDER / path).read_bytes()
