"""The golden files of the readers, and which format each is of."""

from pathlib import Path

FOLDER = Path(__file__).parents[1] / "golden" / "collect"
EXPECTED = ".expected.json"

# The formats whose files are JSON or plain numbers.
JSON_GOLDENS = (
    ("asv", "asv/226be61e.json"),
    ("asv", "asv/version_1.json"),
    ("bencher_metric_format", "bencher_metric_format/measures.json"),
    ("bencher_perf", "bencher_perf/perf.json"),
    ("bencher_perf", "bencher_perf/reports.json"),
    ("benchmark_ips", "benchmark_ips/ips.json"),
    ("benchmarkjs_json", "benchmarkjs/results.json"),
    ("benchmarkdotnet", "benchmarkdotnet/brief.json"),
    ("benchmarkdotnet", "benchmarkdotnet/full.json"),
    ("clickbench", "clickbench/results.json"),
    ("codspeed", "codspeed/results.json"),
    ("custom_benchmark", "custom_benchmark/units.json"),
    ("deno", "deno/bench.json"),
    ("google_benchmark", "google_benchmark/repetitions.json"),
    ("google_benchmark", "google_benchmark/single.json"),
    ("hyperfine", "hyperfine/failing.json"),
    ("hyperfine", "hyperfine/two_parameters.json"),
    ("jmh", "jmh/modes.json"),
    ("julia", "julia/groups.json"),
    ("lnt", "lnt/version_1.json"),
    ("lnt", "lnt/version_2.json"),
    ("lighthouse", "lighthouse/page.json"),
    ("mitata", "mitata/groups.json"),
    ("nanobench", "nanobench/sums.json"),
    ("numbers", "numbers/loop.txt"),
    ("nyrkio", "nyrkio/two_commits.json"),
    ("perf_culprit", "perf_culprit/run.json"),
    ("pyperf", "pyperf/two.json"),
    ("pytest_benchmark", "pytest_benchmark/saved_without_data.json"),
    ("pytest_benchmark", "pytest_benchmark/with_data.json"),
    ("tinybench", "tinybench/samples.json"),
    ("tinybench", "tinybench/spread.json"),
    ("tinybench", "tinybench/tasks.json"),
    ("vegeta_json", "load/vegeta.json"),
    ("vitest", "vitest/bench-5.json"),
    ("vitest", "vitest/bench.json"),
)


def golden(path: str) -> bytes:
    return (FOLDER / path).read_bytes()
