from dataclasses import replace

from perf_culprit.model.run import FileRead
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.say.maintenance_text import collected_text

READ = FileRead(place="f", format="jmh", benchmarks=1, metrics=1, samples=10, tables=0)


def test_files_of_one_format_are_one_line() -> None:
    load = replace(READ, format="k6_csv", metrics=3, samples=1200, tables=1)
    assert collected_text([READ, load, replace(READ, benchmarks=2, metrics=2)]).split("\n") == [
        "jmh: 3 benchmarks, 20 samples in 2 files",
        "k6_csv: 1 benchmark (3 metrics), 1,200 samples, 1 counter table",
    ]


def test_a_format_without_samples_and_one_without_results_say_so() -> None:
    assert collected_text([replace(READ, samples=0)]) == "jmh: 1 benchmark, summaries without samples"
    assert collected_text([replace(READ, benchmarks=0, metrics=0, samples=0)]) == "jmh: nothing"


def test_notes_are_said_once_and_the_rest_is_counted() -> None:
    noted = replace(READ, notes=tuple(f"left out {number}" for number in range(TEXT_LIMITS.notes + 2)))
    lines = collected_text([noted, noted]).split("\n")
    assert lines[1] == "  note: left out 0"
    assert (len(lines), lines[-1]) == (TEXT_LIMITS.notes + 2, "  and 2 more notes")
