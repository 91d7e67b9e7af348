"""ReBench's data file: a row per invocation, iteration and criterion; an invocation is a group of samples."""

from itertools import groupby
from operator import itemgetter

from perf_culprit.model.run import Direction, Metric
from perf_culprit.read.results.console import is_number, number_of
from perf_culprit.read.results.parser import TIME, Parsed, direction_of, from_groups
from perf_culprit.read.results.source import Source

ID = "rebench"
DESCRIPTION = "ReBench data file"
EXAMPLE = "rebench rebench.conf"

HEADER = "invocation\titeration\tvalue\tunit\tcriterion\tbenchmark\t"
# Of what tells runs of one benchmark apart.
SCOPES = ("executor", "suite", "extraArgs", "cores", "inputSize", "varValue", "tag", "machine")
TOTAL, PEAK_MEMORY = "total", "MaxRSS"


def matches(source: Source, /) -> bool:
    return "\n" + HEADER in "\n" + source.head()


def parse(source: Source, /) -> Parsed:
    columns: list[str] = []
    values: dict[tuple[str, str, str], list[tuple[int, float]]] = {}
    for number, line in enumerate(source.text().splitlines(), start=1):
        if line.startswith(HEADER):
            columns = line.split("\t")
        elif columns and line and not line.startswith("#"):
            row = dict(zip(columns, line.split("\t"), strict=False))
            invocation, value = row["invocation"], row.get("value", "")
            if not (invocation.isdecimal() and len(invocation) < 10 and is_number(value) and row.get("benchmark")):
                raise source.error("is no row of ReBench", "check this row, or leave it out", line=number)
            name = " ".join(filter(None, (row["benchmark"], *(row.get(scope, "") for scope in SCOPES))))
            key = (name, row["criterion"], row["unit"])
            values.setdefault(key, []).append((int(invocation), number_of(value)))
    benchmarks = []
    for (name, criterion, unit), entries in values.items():
        entries.sort(key=itemgetter(0))
        groups = [[value for _, value in group] for _, group in groupby(entries, key=itemgetter(0))]
        lower = criterion == PEAK_MEMORY or direction_of(unit) is Direction.LOWER_IS_BETTER
        metric = Metric(
            name=TIME if criterion == TOTAL else criterion,
            unit=unit,
            direction=Direction.LOWER_IS_BETTER if lower else Direction.UNKNOWN,
        )
        benchmarks.append(from_groups(name, metric=metric, groups=groups, place=source.place))
    return Parsed(benchmarks=tuple(benchmarks))
