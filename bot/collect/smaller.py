"""Which option of a tool makes its results smaller: what is said first where they are beyond a limit."""

from types import MappingProxyType
from typing import Final

from bot.errors import TooLargeError

# By parser. Only options that the tool's own documentation has.
OPTIONS: Final = MappingProxyType(
    {
        "pytest_benchmark": "--benchmark-max-time=0.1 (default 1.0 s) makes fewer rounds of each benchmark",
        "pyperf": "--processes and --values say how many values are measured",
        "jmh": "-f (forks) and -i (iterations) say how many results are written",
        "google_benchmark": "--benchmark_repetitions says how many are written, --benchmark_filter of which benchmarks",
        "google_benchmark_csv": "--benchmark_repetitions says how many are written",
        "google_benchmark_text": "--benchmark_repetitions says how many are written",
        "hyperfine": "--runs, or --max-runs, says how many times are written",
        "benchmarkdotnet": "the brief exporter (--exporters briefjson) and --iterationCount write less",
        "asv": "without --record-samples asv keeps a summary of each benchmark",
        "go_text": "-count says how often each benchmark is written",
        "go_json": "-count says how often each benchmark is written",
        "criterion": "--sample-size says how many samples are measured",
        "catch2_xml": "--benchmark-samples says how many samples are measured",
        "catch2_text": "--benchmark-samples says how many samples are measured",
        "divan": "--sample-count says how many samples are measured",
        "phpbench": "--iterations says how many are measured",
        "jmeter_jtl": "a shorter test, or a Simple Data Writer for one sampler, writes fewer rows",
    }
)


def with_option(error: TooLargeError, tool: str) -> TooLargeError:
    """The same refusal, with the option of the tool where it is known."""
    option = OPTIONS.get(tool)
    step = error.next_step if option is None else f"{option}; or {error.next_step}"
    return TooLargeError(error.message, place=error.place, next_step=step)
