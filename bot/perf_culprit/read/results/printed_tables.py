"""Printed tables: console.table, hyperfine's, BenchmarkDotNet's, pytest-benchmark's and asv's."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from perf_culprit.errors import DataError
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.reason import Loss
from perf_culprit.model.run import TIME, Benchmark, Direction, Metric, Summary
from perf_culprit.model.unit_sizes import BYTES
from perf_culprit.read.results.console import (
    NUMBER,
    SCALES,
    SIGMA,
    SPACE,
    TIME_UNIT,
    Lines,
    Measured,
    csv_cells,
    is_number,
    line_reader,
    lines,
    nanoseconds,
    number_of,
)
from perf_culprit.read.results.content import shown
from perf_culprit.read.results.json_value import JsonValue, mean_summary
from perf_culprit.read.results.parsed import (
    ALLOCATED,
    MICROSECOND_TIME,
    NANOSECOND_TIME,
    SECOND_TIME,
    VALUE,
    Parsed,
    ResultReader,
    from_summary,
    gathered,
    lost,
    unique,
)
from perf_culprit.read.results.source import Source

FIRST_NUMBER: Final = re.compile(rf"['\"`]?({NUMBER})")
UNIT: Final = re.compile(rf"(?P<name>.{{0,99}}?)\s?[(\[](?P<unit>{TIME_UNIT}|ops/s(?:ec)?)[)\]]")
RATES: Final = ("ops/s", "ops/sec", "hz")
NAMES: Final = ("task name", "name", "benchmark", "command", "task", "method")

Row = tuple[str, dict[str, str]]


def _rows(source: Source, *, edge: str) -> Iterator[Row]:
    """Yield every row's place and its cells by header. A line with another number of cells ends the table."""
    header: list[str] = []
    for number, line in lines(source):
        text = line.strip()
        cells = [cell.strip() for cell in text.strip(edge).split(edge)] if text[:1] == text[-1:] == edge else []
        if not cells or len(cells) > FILE_LIMITS.printed_cells or (header and len(cells) != len(header)):
            header = header if text[:1] in "├┌+" and text else []
            continue
        if not header:
            header = cells if _name_column(cells) is not None else []
        elif text.strip(f"{edge}:- "):  # not a line of dashes
            yield f"{source.place}:{number}", dict(zip(header, cells, strict=True))


def _name_column(header: list[str]) -> str | None:
    return next((cell for name in NAMES for cell in header if cell.lower() == name), None)


def _metric(header: str) -> Metric | None:
    """Return a column's metric, a time with its unit or a rate; None for other columns."""
    if header.lower() in RATES:
        return Metric(name="throughput", unit="1/s", direction=Direction.HIGHER_IS_BETTER)
    if (match := UNIT.fullmatch(header)) is None or "min" in header.lower() or "max" in header.lower():
        return None
    name = re.sub(r"\W+", "_", match["name"].lower()).strip("_")
    if match["unit"].startswith("ops"):
        return Metric(name=name or "throughput", unit="1/s", direction=Direction.HIGHER_IS_BETTER)
    is_only_mean = name in ("mean", "average_time", "time")
    return Metric(name=TIME if is_only_mean else name, unit=match["unit"], direction=Direction.LOWER_IS_BETTER)


def _table(source: Source, *, edge: str) -> Parsed:
    """Read a table with a header whose cells name the units."""
    placed: list[tuple[Benchmark, str]] = []
    for place, row in _rows(source, edge=edge):
        named = _name_column(list(row))
        for header, cell in row.items():
            metric = _metric(header)
            if named is None or metric is None or (number := FIRST_NUMBER.match(cell)) is None:
                continue
            name = row[named].strip("'\"`")
            summary = Summary(value=number_of(number[1]))
            placed.append((from_summary(name, metric=metric, summary=summary, place=place), place))
    if not placed:
        raise source.error("holds a table without times or rates", "print a column with its unit, such as `mean (ms)`")
    return Parsed(benchmarks=gathered(placed))


def _is_table(source: Source, *, edge: str, mark: str) -> bool:
    if mark not in source.text_or_empty():
        return False
    return any(_metric(header) for _, row in _rows(source, edge=edge) for header in row)


CONSOLE_TABLE = ResultReader(
    id="console_table",
    description="console.table of tinybench and other JavaScript benchmarks",
    example="console.table(bench.table()), then node bench.js | tee bench.txt",
    matches=lambda source: _is_table(source, edge="│", mark="│ (index) │"),
    read=lambda source: _table(source, edge="│"),
    is_console=True,
)
HYPERFINE_MARKDOWN = ResultReader(
    id="hyperfine_markdown",
    description="hyperfine Markdown (--export-markdown)",
    example="hyperfine --export-markdown bench.md COMMAND",
    matches=lambda source: _is_table(source, edge="|", mark="| Command | Mean ["),
    read=lambda source: _table(source, edge="|"),
    is_console=True,
)


PHPBENCH_CELL: Final = re.compile(rf"(?P<value>{NUMBER})(?P<unit>{TIME_UNIT})")
PHPBENCH_SIZE: Final = re.compile(rf"(?P<value>{NUMBER})(?P<unit>[kmg]?b)")
PHPBENCH_SIZES: Final = {"b": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9}
PEAK_MEMORY: Final = Metric(name="peak_memory", unit="B", direction=Direction.LOWER_IS_BETTER)


def _phpbench_rows(source: Source) -> Iterator[Row]:
    return ((place, row) for place, row in _rows(source, edge="|") if row.keys() >= {"benchmark", "subject", "mode"})


def _read_phpbench_table(source: Source) -> Parsed:
    """Read a row per variant. Sizes are decimal."""
    placed = []
    for place, row in _phpbench_rows(source):
        name = f"{row['benchmark']}::{row['subject']} {row.get('set', '')}".rstrip()
        if (time := PHPBENCH_CELL.fullmatch(row["mode"])) is None:
            raise DataError("has no mode with its unit", place=place, next_step="give PHPBench's XML (--dump-file)")
        mode = Summary(value=nanoseconds(time["value"], time["unit"]) / 1e3)
        placed.append((from_summary(name, metric=MICROSECOND_TIME, summary=mode, place=place), place))
        if (size := PHPBENCH_SIZE.fullmatch(row.get("mem_peak", ""))) is not None:
            peak = Summary(value=number_of(size["value"]) * PHPBENCH_SIZES[size["unit"]])
            placed.append((from_summary(name, metric=PEAK_MEMORY, summary=peak, place=place), place))
    return Parsed(benchmarks=gathered(placed))


PHPBENCH_TABLE = ResultReader(
    id="phpbench_table",
    description="PHPBench's report aggregate",
    example="phpbench run --report=aggregate | tee bench.txt",
    matches=lambda source: "| subject " in source.text_or_empty() and next(_phpbench_rows(source), None) is not None,
    read=_read_phpbench_table,
    is_console=True,
)


DOTNET_CSV: Final = re.compile(
    r"\ufeff?(?:Namespace[,;])?(?:Type[,;])?Method(?P<delimiter>[,;])Job[,;].{1,9999}[,;]Mean[,;].{0,999}"
)
# A mean always has a fraction; without a point, its comma is a decimal one.
DOTNET_TIME: Final = re.compile(rf"([0-9][0-9,]{{0,40}}\.[0-9]{{1,20}}) ({TIME_UNIT})")
DOTNET_SIZE: Final = re.compile(rf"({NUMBER}) (B|KB|MB|GB)")
DOTNET_BYTES: Final = {"B": 1.0, "KB": BYTES["KiB"], "MB": BYTES["MiB"], "GB": BYTES["GiB"]}
# `Error` is half of the 99.9% interval.
DOTNET_LEVEL: Final = 0.999
LAST_JOB_COLUMN: Final = "WarmupCount"


def _dotnet(rows: list[Row]) -> Parsed:
    """Read the summary's rows: columns that identify the benchmark, then `Mean` etc."""
    placed: list[tuple[Benchmark, str]] = []
    failed, same_jobs = 0, _same_jobs(rows)
    for place, row in rows:
        cells = {header: html.unescape(cell.strip("* ")).strip("'` ") for header, cell in row.items()}
        if cells.get("Mean") in ("NA", "?"):
            failed += 1
            continue
        if (mean := _dotnet_time(cells, "Mean")) is None:
            raise DataError(
                f"`{shown(cells.get('Mean', ''))}` is not a mean with a decimal point and a unit of time",
                place=place,
                next_step="let BenchmarkDotNet write numbers in the invariant culture, or use its JSON exporter",
            )
        error = _dotnet_time(cells, "Error")
        summary = Summary(
            value=mean,
            statistic="mean",
            standard_deviation=_dotnet_time(cells, "StdDev"),
            confidence_interval=None if error is None else (mean - error, mean + error),
            confidence_level=None if error is None else DOTNET_LEVEL,
        )
        name = _dotnet_name(cells, same_jobs)
        placed.append((from_summary(name, metric=NANOSECOND_TIME, summary=summary, place=place), place))
        if (size := DOTNET_SIZE.fullmatch(cells.get("Allocated", "").replace("-", "0 B"))) is not None:
            value = Summary(value=number_of(size[1]) * DOTNET_BYTES[size[2]])
            placed.append((from_summary(name, metric=ALLOCATED, summary=value, place=place), place))
    return Parsed(benchmarks=unique(placed), notes=(f"left out because they failed: {failed}",) * bool(failed))


def _dotnet_time(cells: dict[str, str], column: str) -> float | None:
    match = DOTNET_TIME.fullmatch(cells.get(column, ""))
    return None if match is None else nanoseconds(match[1], match[2])


def _same_jobs(rows: list[Row]) -> frozenset[str]:
    """Return the CSV's job columns whose value is the same in all rows."""
    headers = list(rows[0][1]) if rows else []
    of_job = headers[: headers.index(LAST_JOB_COLUMN) + 1] if LAST_JOB_COLUMN in headers else []
    return frozenset(header for header in of_job if len({row.get(header) for _, row in rows}) == 1)


def _dotnet_name(cells: dict[str, str], same_jobs: frozenset[str]) -> str:
    """Return the method with its parameters, and with the job columns of the CSV in which jobs differ."""
    telling = list(cells)[: list(cells).index("Mean")]
    scope = [cells[header] for header in ("Namespace", "Type", "Method") if header in cells]
    own_headers = {"Namespace", "Type", "Method", "Job"} | same_jobs
    others = [f"{header}: {cells[header]}" for header in telling if header not in own_headers]
    return f"{'.'.join(scope)}({', '.join(others)})" if others else ".".join(scope)


def _dotnet_rows(source: Source) -> Iterator[Row]:
    return (row for row in _rows(source, edge="|") if {"Method", "Mean"} <= row[1].keys())


def _read_dotnet_csv(source: Source) -> Parsed:
    header = DOTNET_CSV.match(source.text())
    return _dotnet(list(csv_cells(source, tool="BenchmarkDotNet", delimiter=header["delimiter"] if header else ",")))


BENCHMARKDOTNET_TEXT = ResultReader(
    id="benchmarkdotnet_text",
    description="BenchmarkDotNet's summary in the console or as Markdown",
    example="dotnet run -c Release | tee bench.txt",
    matches=lambda source: "| Method " in source.text_or_empty() and next(_dotnet_rows(source), None) is not None,
    read=lambda source: _dotnet(list(_dotnet_rows(source))),
    is_console=True,
)
BENCHMARKDOTNET_CSV = ResultReader(
    id="benchmarkdotnet_csv",
    description="BenchmarkDotNet CSV (*-report.csv)",
    example="dotnet run -c Release -- --exporters csv, then BenchmarkDotNet.Artifacts/results/",
    matches=lambda source: DOTNET_CSV.match(source.text_or_empty()) is not None,
    read=_read_dotnet_csv,
)


def _mean_and_deviation(row: re.Match[str], value: float) -> Summary:
    deviation = None if row["deviation"] is None else nanoseconds(row["deviation"], row["deviation_unit"])
    return Summary(value=value, statistic="mean", standard_deviation=deviation)


HYPERFINE_TEXT = line_reader(
    "hyperfine_text",
    Lines(
        mark="Benchmark ",
        title=re.compile(r"Benchmark #?[0-9]{1,6}: (?P<name>.{1,9999})"),
        row=re.compile(
            rf"\s{{0,9}}Time \((?:mean ± {SIGMA}|abs ≡)\):{SPACE}(?P<value>{NUMBER}) (?P<unit>{TIME_UNIT})"
            rf"(?:{SPACE}±{SPACE}(?P<deviation>{NUMBER}) (?P<deviation_unit>{TIME_UNIT}))?(?:\s.{{0,200}})?"
        ),
        measures=lambda row: (Measured(metric=NANOSECOND_TIME, factor=nanoseconds("1", row["unit"])),),
        summary=_mean_and_deviation,
    ),
    description="hyperfine's console text",
    example="hyperfine COMMAND | tee bench.txt",
)


PYTEST_HEADER: Final = re.compile(rf"Name \(time in (?P<unit>{TIME_UNIT})\)\s{{2,}}.{{1,999}}")
PYTEST_COMPARED: Final = re.compile(r"(?P<name>.{1,999}) \((?P<run>NOW|[0-9]{4}_.{1,99})\)")


def _pytest_rows(source: Source) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield the unit, place and cells of each row; `Name` is the benchmark's name, and the user chooses the others."""
    header: list[str] = []
    unit = ""
    for number, line in lines(source):
        cells = re.split(r"\s{2,}", line.strip())
        if (match := PYTEST_HEADER.fullmatch(line.strip())) is not None:
            header, unit = ["Name", *cells[1:]], match["unit"]
        elif header and len(cells) == len(header):
            yield unit, f"{source.place}:{number}", dict(zip(header, cells, strict=True))
        elif not line.startswith("-"):
            header = []


def _read_pytest_table(source: Source) -> Parsed:
    rows = list(_pytest_rows(source))
    compared = any(_run_of(row["Name"]) == "NOW" for _, _, row in rows)
    placed = []
    for unit, place, row in rows:
        if compared and _run_of(row["Name"]) != "NOW":
            continue
        statistic = next((name for name in ("Mean", "Median", "Min") if name in row), None)
        if statistic is None or (number := FIRST_NUMBER.match(row[statistic])) is None:
            raise DataError("has no mean, median or minimum", place=place, next_step="leave --benchmark-columns out")
        deviation = FIRST_NUMBER.match(row.get("StdDev", "")) if statistic == "Mean" else None
        rounds = row.get("Rounds", "")
        count = int(rounds) if rounds.isdecimal() and len(rounds) < 16 else None
        summary = Summary(
            value=nanoseconds(number[1], unit),
            statistic=statistic.lower(),
            count=count,
            standard_deviation=nanoseconds(deviation[1], unit) if deviation and count != 1 else None,
        )
        name = match["name"] if (match := PYTEST_COMPARED.fullmatch(row["Name"])) else row["Name"]
        placed.append((from_summary(name, metric=NANOSECOND_TIME, summary=summary, place=place), place))
    return Parsed(benchmarks=gathered(placed))


def _run_of(name: str) -> str:
    return match["run"] if (match := PYTEST_COMPARED.fullmatch(name)) else ""


PYTEST_TEXT = ResultReader(
    id="pytest_benchmark_text",
    description="pytest-benchmark's console table",
    example="pytest bench | tee bench.txt",
    matches=lambda source: "Name (time in " in source.text_or_empty() and any(True for _ in _pytest_rows(source)),
    read=_read_pytest_table,
    is_console=True,
)


PYTEST_CSV: Final = re.compile(r"name,(?:param:[^\n]{0,999},)?min,max,mean,stddev,median,")


def _read_pytest_csv(source: Source) -> Parsed:
    """Read `pytest-benchmark compare --csv`: seconds. A row does not name its run."""
    benchmarks: dict[str, Benchmark] = {}
    for place, row in csv_cells(source, tool="pytest-benchmark"):
        if row["name"] in benchmarks:
            raise DataError(
                "holds several runs, and no row names its run",
                place=place,
                next_step="compare one run: pytest-benchmark compare 0001 --csv=bench.csv",
            )
        values = {
            name: number_of(row[name]) for name in ("mean", "stddev", "min", "max", "median") if is_number(row[name])
        }
        rounds = row.get("rounds", "")
        summary = mean_summary(
            JsonValue(values, place),
            deviation="stddev",
            count=int(rounds) if rounds.isdecimal() and len(rounds) < 16 else None,
        )
        benchmarks[row["name"]] = from_summary(row["name"], metric=SECOND_TIME, summary=summary, place=place)
    return Parsed(benchmarks=tuple(benchmarks.values()))


PYTEST_COMPARED_CSV = ResultReader(
    id="pytest_benchmark_csv",
    description="pytest-benchmark compare --csv",
    example="pytest-benchmark compare 0001 --csv=bench.csv",
    matches=lambda source: PYTEST_CSV.match(source.head()) is not None,
    read=_read_pytest_csv,
)


ASV_LINE: Final = re.compile(r"(?P<done>\[[ 0-9.]{1,9}%\] ··· )(?P<rest>.{0,9999})")
ASV_NAMED: Final = re.compile(rf"(?P<name>\S{{1,999}}){SPACE}(?P<cell>\S.{{0,99}}?)\s{{0,99}}")
ASV_CELL: Final = re.compile(rf"({NUMBER})(?:±{NUMBER})?(?:({TIME_UNIT})|([kMGT]))?")
ASV_MEMORY: Final = {"mem": "memory", "peakmem": "peak_memory"}
RULES: Final = ({"="}, {"=", " "}, {"-"}, {"-", " "})


@dataclass(slots=True)
class _AsvTable:
    """The table below a benchmark: the starts of its columns, and the rows above its second rule."""

    name: str
    starts: list[int]
    header: list[list[str]] = field(default_factory=list)
    rules: int = 1

    @property
    def is_spread(self) -> bool:
        """Whether the last parameter's values are columns."""
        return self.header[0][0] == "--"

    def cells(self, line: str) -> list[str]:
        return [line[start:end].strip() for start, end in zip(self.starts, [*self.starts[1:], None], strict=True)]

    def values(self, cells: list[str]) -> Iterator[tuple[str, str]]:
        """Yield each value with its name, which includes the parameters."""
        count = sum(cell == "--" for cell in self.header[0]) if self.is_spread else sum(map(bool, self.header[-1]))
        for title, cell in zip(self.header[-1][count:], cells[count:], strict=True):
            yield f"{self.name}({', '.join([*cells[:count], *([title] if self.is_spread else [])])})", cell


def _asv_values(source: Source) -> Iterator[tuple[str, str, str]]:
    """Yield the name, place and text of each value: a line per benchmark, and a table for one with parameters."""
    name, table = "", None
    for number, line in lines(source):
        head = ASV_LINE.match(line)
        text = f"{' ' * head.end('done')}{head['rest']}" if head else line
        kind = set(text.strip())
        if kind in RULES:
            # The table has columns of parameters and values; a column has a margin.
            starts = [match.start() for match in re.finditer("={3,}", text)] if table is None else []
            if name and len(starts) > 1:
                table = _AsvTable(name=name, starts=starts)
            elif table is not None and ("=" in kind or (table.header and not table.is_spread)):
                table.rules += 1
        elif head and (named := ASV_NAMED.fullmatch(head["rest"])) is not None:
            name, table = named["name"], None
            # `1/3 failed` is above a table that names them.
            if named["cell"] != "ok" and not named["cell"].endswith(" failed"):
                yield name, f"{source.place}:{number}", named["cell"]
        elif table is not None and table.rules == 1:
            table.header.append(table.cells(text))
        elif table is not None and table.rules == 2 and table.header:
            yield from ((full, f"{source.place}:{number}", cell) for full, cell in table.values(table.cells(text)))


def _asv_benchmark(name: str, place: str, cell: re.Match[str]) -> Benchmark:
    """Build a benchmark from a cell. A time has a unit; memory and tracked values have at most a scale."""
    number, unit, scale = cell.groups()
    kind = ASV_MEMORY.get(name.partition("(")[0].rpartition(".")[2].partition("_")[0], VALUE)
    metric = Metric(name=kind, unit="" if kind == VALUE else "B", direction=Direction.LOWER_IS_BETTER)
    value = nanoseconds(number, unit) / 1e9 if unit else number_of(number) * SCALES[scale or ""]
    return from_summary(name, metric=SECOND_TIME if unit else metric, summary=Summary(value=value), place=place)


def _read_asv_text(source: Source) -> Parsed:
    cells = list(islice(_asv_values(source), FILE_LIMITS.asv_values + 1))
    if len(cells) > FILE_LIMITS.asv_values:
        raise source.error(f"holds more than {FILE_LIMITS.asv_values:,} values", "give asv's result files instead")
    values = [(name, place, ASV_CELL.fullmatch(text)) for name, place, text in cells]
    placed = [(_asv_benchmark(name, place, cell), place) for name, place, cell in values if cell is not None]
    failed = tuple(
        lost(name, kind=Loss.SKIPPED if text == "n/a" else Loss.FAILED)
        for (name, _, text), (_, _, cell) in zip(cells, values, strict=True)
        if cell is None
    )
    return Parsed(
        benchmarks=gathered(placed),
        lost=failed,
        notes=(f"left out because they failed: {len(failed)}",) * bool(failed),
    )


ASV_TEXT = ResultReader(
    id="asv_text",
    description="asv console text",
    example="asv run | tee bench.txt",
    matches=lambda source: "%] ··· " in source.text_or_empty() and next(_asv_values(source), None) is not None,
    read=_read_asv_text,
    is_console=True,
)
