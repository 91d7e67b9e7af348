"""hyperfine `--export-csv`: a summary per command, in seconds, without the times and their number."""

import csv
import io
from collections.abc import Iterator

from perf_culprit.read.results import hyperfine
from perf_culprit.read.results.console import is_number, number_of
from perf_culprit.read.results.parser import Parsed
from perf_culprit.read.results.source import JsonValue, Source

ID = "hyperfine_csv"
DESCRIPTION = "hyperfine CSV (--export-csv)"
EXAMPLE = "hyperfine --export-csv bench.csv COMMAND"

COLUMNS = ("command", "mean", "stddev", "median", "user", "system", "min", "max")
PARAMETER = "parameter_"


def matches(source: Source, /) -> bool:
    return source.text_or_empty().lstrip("\ufeff").startswith(",".join(COLUMNS))


def parse(source: Source, /) -> Parsed:
    return hyperfine.read(list(_results(source)))


def _results(source: Source) -> Iterator[JsonValue]:
    # A command may hold line ends, so lines are no rows.
    reader = csv.reader(io.StringIO(source.text().lstrip("\ufeff"), newline=""))
    header: list[str] = []
    while True:
        try:
            cells = next(reader, None)
        except csv.Error:
            cells = [""]
        if cells is None:
            return
        if not header:
            header = cells
        elif len(cells) == len(header):
            row = dict(zip(header, cells, strict=True))
            parameters = {name.removeprefix(PARAMETER): row[name] for name in header if name.startswith(PARAMETER)}
            values = {name: number_of(row[name]) for name in COLUMNS[1:] if is_number(row.get(name, ""))}
            command = {"command": row.get("command", ""), "parameters": parameters, **values}
            yield JsonValue(command, f"{source.place}:{reader.line_num}")
        elif cells:
            next_step = "check that only hyperfine writes to this file"
            raise source.error("has another number of cells than the header", next_step, line=reader.line_num)
