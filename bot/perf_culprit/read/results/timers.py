"""Timers of commands, code and tests: hyperfine, `time`, Ruby's Benchmark, console.time, JUnit, plain numbers."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from perf_culprit.errors import DataError
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.reason import Loss
from perf_culprit.model.run import Benchmark, Direction, Lost, Metric, Summary
from perf_culprit.read.results.console import (
    HEADING,
    NUMBER,
    PRINTED_NS,
    SECONDS,
    SPACE,
    TIME_UNIT,
    VALUE_GROUP,
    Lines,
    Measured,
    check_likeness,
    csv_cells,
    is_number,
    line_reader,
    lines,
    number_of,
)
from perf_culprit.read.results.content import shown
from perf_culprit.read.results.json_value import JsonValue, are_objects, mean_summary
from perf_culprit.read.results.parsed import (
    NANOSECOND_TIME,
    SECOND_TIME,
    Parsed,
    ResultReader,
    from_samples,
    from_summary,
    gathered,
    lost,
    unique,
)
from perf_culprit.read.results.source import Source, attribute_number, has_root, parse_xml

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

CPU_SECONDS = Metric(name="cpu_time", unit="s", direction=Direction.LOWER_IS_BETTER)


def _is_hyperfine(source: Source) -> bool:
    results = source.member("results")
    return are_objects(results, "command") and all(result.keys() & {"times", "mean"} for result in results)


def _read_results(results: list[JsonValue]) -> Parsed:
    """Read the results. hyperfine's table holds the same ones, without their times."""
    commands = [result.at("command").text() for result in results]
    counts = Counter(commands)
    # A parameter need not be part of the command (-L with a script's environment).
    named = [
        (_with_parameters(result, command) if counts[command] > 1 else command, result)
        for command, result in zip(commands, results, strict=True)
    ]
    failed = tuple(loss for name, result in named if (loss := _failed_command(name, result)) is not None)
    return Parsed(
        benchmarks=unique((benchmark, result.place) for name, result in named for benchmark in _command(name, result)),
        lost=failed,
        notes=(f"commands that ended with a non-zero exit code in some of their runs: {len(failed)}",) * bool(failed),
    )


def _failed_command(name: str, result: JsonValue) -> Lost | None:
    codes = [code.value for code in result.elements_of("exit_codes")]
    failed = [code for code in codes if code != 0]
    if not failed:
        return None
    message = "ended by a signal" if failed[0] is None else f"exit code {failed[0]}"
    return lost(name, message, kind=Loss.EXIT_CODES, count=len(failed), total=len(codes))


def _with_parameters(result: JsonValue, name: str) -> str:
    parameters = result.listed("parameters")
    return f"{name} ({parameters})" if parameters else name


def _command(name: str, result: JsonValue) -> Iterator[Benchmark]:
    """Yield the command's time, and its mean processor time."""
    if (times := result.find("times")) is not None and times.value != []:
        yield from_samples(name, metric=SECOND_TIME, samples=times.numbers(), place=times.place)
    else:
        summary = mean_summary(result, deviation="stddev")
        yield from_summary(name, metric=SECOND_TIME, summary=summary, place=result.place)
    user, system = result.find_number("user"), result.find_number("system")
    if user is not None and system is not None:
        mean = Summary(value=user + system, statistic="mean")
        yield from_summary(name, metric=CPU_SECONDS, summary=mean, place=result.place)


HYPERFINE = ResultReader(
    id="hyperfine",
    description="hyperfine JSON (--export-json)",
    example="hyperfine --export-json bench.json COMMAND",
    matches=_is_hyperfine,
    read=lambda source: _read_results(list(source.root().at("results").elements())),
    smaller="lower --runs or --max-runs",
)


CSV_COLUMNS = ("command", "mean", "stddev", "median", "user", "system", "min", "max")
CSV_PARAMETER = "parameter_"


def _csv_results(source: Source) -> Iterator[JsonValue]:
    """Yield a summary per command in seconds, without the times and their number."""
    for place, row in csv_cells(source, tool="hyperfine"):
        parameters = {name.removeprefix(CSV_PARAMETER): row[name] for name in row if name.startswith(CSV_PARAMETER)}
        values = {name: number_of(row[name]) for name in CSV_COLUMNS[1:] if is_number(row.get(name, ""))}
        yield JsonValue({"command": row.get("command", ""), "parameters": parameters, **values}, place)


HYPERFINE_CSV = ResultReader(
    id="hyperfine_csv",
    description="hyperfine CSV (--export-csv)",
    example="hyperfine --export-csv bench.csv COMMAND",
    matches=lambda source: source.text_or_empty().lstrip("\ufeff").startswith(",".join(CSV_COLUMNS)),
    read=lambda source: _read_results(list(_csv_results(source))),
)


USER_SECONDS = Measured(metric=Metric(name="user_time", unit="s", direction=Direction.LOWER_IS_BETTER))
SYSTEM_SECONDS = Measured(metric=Metric(name="system_time", unit="s", direction=Direction.LOWER_IS_BETTER))
SHELL_TIMES = {"real": SECONDS, "user": USER_SECONDS, "sys": SYSTEM_SECONDS}
GNU_TIMES = {
    "User time (seconds)": USER_SECONDS,
    "System time (seconds)": SYSTEM_SECONDS,
    "Elapsed (wall clock) time (h:mm:ss or m:ss)": SECONDS,
    "Maximum resident set size (kbytes)": Measured(
        metric=Metric(name="peak_memory", unit="KiB", direction=Direction.LOWER_IS_BETTER)
    ),
}


def _clock(text: str) -> float:
    """Convert `1:02:03`, `0:00.11`, `0m0.098s` and `0.11` to seconds."""
    seconds = 0.0
    for part in re.split("[:m]", text.removesuffix("s")):
        seconds = 60 * seconds + float(part)
    return seconds


GNU_TIME = line_reader(
    "gnu_time",
    Lines(
        mark="Command being timed:",
        title=re.compile(r'\s{0,9}Command being timed: "(?P<name>.{1,9999})"'),
        row=re.compile(
            rf"\s{{0,9}}(?P<label>{'|'.join(map(re.escape, GNU_TIMES))}): "
            r"(?P<value>[0-9]{1,15}(?::[0-9]{1,2}){0,2}(?:\.[0-9]{1,9})?)"
        ),
        measures=lambda row: (GNU_TIMES[row["label"]],),
        number=_clock,
    ),
    description="GNU time (-v)",
    example="/usr/bin/time -v -a -o times.txt COMMAND",
)


SHELL_LINES = Lines(
    mark="real",
    row=re.compile(r"(?P<label>real|user|sys)\s{1,9}(?P<value>(?:[0-9]{1,9}m)?[0-9]{1,9}\.[0-9]{1,9}s?)"),
    measures=lambda row: (SHELL_TIMES[row["label"]],),
    number=_clock,
)
# The command that a shell printed before its times (`set -x`, a prompt).
SHELL_COMMAND = re.compile(r"(?:\+{1,9}|[$%>#]) (?:time )?(?P<name>\S.{0,9998})")


@dataclass(slots=True)
class _Timed:
    """One use of `time`: its own lines, and those between it and the previous use."""

    before: list[str]
    rows: list[tuple[str, re.Match[str]]]

    @property
    def heading(self) -> str:
        """The name of the use: a command, the last heading, or a single line; "" if there is none."""
        command = SHELL_COMMAND.fullmatch(self.before[-1]) if self.before else None
        if command is None and (headings := list(filter(None, map(HEADING.fullmatch, self.before)))):
            return headings[-1]["name"]
        alone = (
            self.before[0].rstrip(": ")
            if len(self.before) == 1 and len(self.before[0]) <= FILE_LIMITS.printed_line_characters
            else ""
        )
        return command["name"] if command else alone


def _timed(source: Source) -> list[_Timed]:
    timed: list[_Timed] = []
    before: list[str] = []
    for number, line in lines(source):
        if (row := SHELL_LINES.row.fullmatch(line)) is None:
            before += [line.strip()] if line.strip() else []
            continue
        if not timed or before or row["label"] in {one["label"] for _, one in timed[-1].rows}:
            timed.append(_Timed(before=before, rows=[]))
            before = []
        timed[-1].rows.append((f"{source.place}:{number}", row))
    return timed


def _read_shell_times(source: Source) -> Parsed:
    """Read the times; those of one command are samples. `time` does not name its command; the lines before it do."""
    timed = _timed(source)
    later = [one.before for one in timed[1:]]
    is_one = all(before == later[0] for before in later) and (later[:1] in ([], [[]]) or timed[0].before == later[0])
    file = source.stem or "value"
    for one in timed if not is_one else ():
        if not one.heading:
            raise DataError(
                "holds times of commands that cannot be told apart",
                place=one.rows[0][0],
                next_step="print a line before each `time`, or write each command's times to a file of its own",
            )
    benchmarks = gathered(
        pair
        for one in timed
        for place, row in one.rows
        for pair in SHELL_LINES.measured(file if is_one else one.heading, row, place)
    )
    check_likeness(benchmarks if is_one else (), source)
    return Parsed(benchmarks=benchmarks)


SHELL_TIME = ResultReader(
    id="shell_time",
    description="time of bash, zsh and POSIX (-p)",
    example="for i in $(seq 10); do time COMMAND; done 2> times.txt",
    matches=SHELL_LINES.matches,
    read=_read_shell_times,
    is_console=True,
)


RUBY_BENCHMARK = line_reader(
    "ruby_benchmark",
    Lines(
        mark=" user     system      total        real",
        row=re.compile(
            rf"(?P<name>.{{0,999}}?){SPACE}(?P<user>{NUMBER}){SPACE}(?P<system>{NUMBER}){SPACE}{NUMBER}"
            rf"{SPACE}\(\s{{0,9}}{VALUE_GROUP}\)\s{{0,9}}"
        ),
        measures=lambda _: (SECONDS, replace(USER_SECONDS, group="user"), replace(SYSTEM_SECONDS, group="system")),
        summary=None,
        # bmbm measures twice; the second measurement counts.
        warm_up=re.compile(r"(?P<begins>Rehearsal )-{1,9999}|-{1,9999} total: .{1,99}sec"),
    ),
    description="Ruby's Benchmark (bm, bmbm)",
    example="ruby bench.rb | tee bench.txt",
)


CONSOLE_TIME = line_reader(
    "console_time",
    Lines(
        mark=": ",
        row=re.compile(
            r"(?P<name>.{0,999}): (?P<value>(?:[0-9]{1,9}:){0,2}[0-9]{1,15}(?:\.[0-9]{1,20})?)"
            r" ?(?P<unit>ms|s|\((?:h:m)?m:ss\.mmm\))(?: - timer ended)?\s{0,9}"
        ),
        measures=lambda row: (replace(SECONDS, factor=1e-3 if row["unit"] == "ms" else 1.0),),
        number=_clock,
        summary=None,
    ),
    description="console.time of Node, Deno and browsers",
    example="node bench.js | tee bench.txt",
    is_named_only=True,
)


LINETIMER = line_reader(
    "linetimer",
    Lines(
        mark="Code block '",
        row=re.compile(rf"Code block '(?P<name>.{{1,999}})' took: {VALUE_GROUP} (?P<unit>{TIME_UNIT})\s{{0,9}}"),
        measures=lambda row: (Measured(metric=NANOSECOND_TIME, factor=PRINTED_NS[row["unit"]]),),
        summary=None,
    ),
    description="Python's linetimer",
    example="python bench.py | tee bench.txt",
)
NAMED_TIME = Lines(
    mark=": ",
    row=re.compile(
        rf"\s{{0,99}}(?!Code block ')(?P<name>[^\s:].{{0,999}}?)\s{{0,99}}: {{1,99}}{VALUE_GROUP}"
        rf" ?(?P<unit>{TIME_UNIT})\s{{0,9}}"
    ),
    measures=lambda row: (Measured(metric=NANOSECOND_TIME, factor=PRINTED_NS[row["unit"]]),),
    summary=None,
)


def _is_named_times(source: Source) -> bool:
    """Whether each line is a name and its time. Among other lines, such a line may be anything."""
    text = [line for _, line in lines(source) if line.strip()] if NAMED_TIME.mark in source.text_or_empty() else []
    return bool(text) and all(NAMED_TIME.row.fullmatch(line) for line in text)


NAMED_TIMES = ResultReader(
    id="named_times",
    description="NAME: TIME UNIT on every line",
    example="./bench > bench.txt",
    matches=_is_named_times,
    read=NAMED_TIME.read,
)


JUNIT_FAULTS = {"failure": Loss.FAILED, "error": Loss.FAILED, "skipped": Loss.SKIPPED}
JUNIT_ROOTS = ("<testsuites", "<testsuite ")
RUN_TESTS_AGAIN = "run the tests again with their JUnit reporter"


def _read_junit(source: Source) -> Parsed:
    """Read durations of tests. They are results only if the user says so: most of a test's time is its preparation."""
    cases = list(parse_xml(source, next_step=RUN_TESTS_AGAIN).iter("testcase"))
    faults = {tag: [(case, fault) for case in cases if (fault := case.find(tag)) is not None] for tag in JUNIT_FAULTS}
    faulty = [case for pairs in faults.values() for case, _ in pairs]
    passed = [case for case in cases if case not in faulty]
    placed: list[tuple[Benchmark, str]] = []
    for case in passed:
        name = _junit_name(case)
        place = f"{source.place}: {shown(name)}"
        seconds = attribute_number(case, "time", place=place, next_step=RUN_TESTS_AGAIN)
        if seconds is not None:
            placed.append((from_samples(name, metric=SECOND_TIME, samples=(seconds,), place=place), place))
    left_out = len(cases) - len(placed)
    failed = (
        lost(_junit_name(case), fault.get("message"), kind=JUNIT_FAULTS[tag])
        for tag, pairs in faults.items()
        for case, fault in pairs
    )
    return Parsed(
        benchmarks=gathered(placed),
        lost=tuple({one.benchmark: one for one in failed}.values()),
        notes=(f"left out: tests that failed, were skipped or have no time: {left_out}",) * bool(left_out),
    )


def _junit_name(case: "Element") -> str:
    return "::".join(filter(None, (case.get("classname"), case.get("name")))) or "test"


JUNIT = ResultReader(
    id="junit",
    description="JUnit's XML: how long each test took",
    example="pytest --junitxml=tests.xml",
    matches=lambda source: has_root(source, JUNIT_ROOTS),
    read=_read_junit,
    is_named_only=True,
)
PYTEST_DURATIONS = line_reader(
    "pytest_durations",
    Lines(
        mark="s call ",
        row=re.compile(r"(?P<value>[0-9]{1,9}\.[0-9]{2})s (?P<phase>call|setup|teardown)\s{1,9}(?P<name>\S.{0,9999})"),
        measures=lambda row: (SECONDS,) if row["phase"] == "call" else (),
        summary=None,
        loss="times of setup and teardown",
    ),
    description="pytest's slowest durations",
    example="pytest --durations=0 | tee tests.txt",
    is_named_only=True,
)


PLAIN_VALUE = Metric(name="value", unit="", direction=Direction.LOWER_IS_BETTER)
# Each part is bounded, so that no line makes the pattern slow.
PLAIN_NUMBER = re.compile(r"[+-]?(\d{1,40}(\.\d{0,40})?|\.\d{1,40})([eE][+-]?\d{1,4})?")
NUMBERS_BEGINNING = 20_000


def _is_numbers(source: Source) -> bool:
    text = source.text_or_empty()
    # The beginning decides, without its last line, which may be cut off. `read` reads all.
    beginning = text[:NUMBERS_BEGINNING].splitlines()[: None if len(text) <= NUMBERS_BEGINNING else -1]
    numbers = [line.strip() for line in beginning if line.strip()]
    return bool(numbers) and all(_is_number(number) for number in numbers)


def _read_numbers(source: Source) -> Parsed:
    samples: list[float] = []
    for number, line in enumerate(source.text().splitlines(), start=1):
        if not (text := line.strip()):
            continue
        if not _is_number(text):
            raise source.error("is not one number", "write one number per line", line=number)
        if len(samples) == FILE_LIMITS.json_samples:
            raise source.error(f"holds more than {FILE_LIMITS.json_samples:,} numbers", "measure less often")
        samples.append(float(text))
    return Parsed(
        benchmarks=(from_samples(source.stem or "value", metric=PLAIN_VALUE, samples=samples, place=source.place),)
    )


def _is_number(text: str) -> bool:
    return len(text) <= FILE_LIMITS.printed_line_characters and PLAIN_NUMBER.fullmatch(text) is not None


NUMBERS = ResultReader(
    id="numbers",
    description="plain numbers, one per line, lower is better",
    example="for i in $(seq 10); do measure-once; done > times.txt",
    matches=_is_numbers,
    read=_read_numbers,
)
