"""Reading of named files or bytes into one run, including logs of several tools and metrics without a direction."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, BinaryIO, Final, TypeAlias

from msgspec import structs

from perf_culprit.errors import DataError, TooLargeError, list_names
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.run import Direction, Environment, FileRead, MetricKey, Run
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.progress import doing
from perf_culprit.read.format_reader import first_match
from perf_culprit.read.results.ci_log import plain_github_log, plain_log
from perf_culprit.read.results.content import shown
from perf_culprit.read.results.input_files import Input, read_inputs
from perf_culprit.read.results.merge import Read, join_executions, join_parts, merge
from perf_culprit.read.results.own_run import OWN_RUN, is_own
from perf_culprit.read.results.parsed import VALUE, ResultReader
from perf_culprit.read.results.result_formats import (
    AUTO,
    REPEATING_BY_CLOCK,
    UNKNOWN,
    readers_for,
    unknown_format,
    with_smaller_option,
)
from perf_culprit.read.results.source import LargeFile, Source
from perf_culprit.read.results.timers import NUMBERS

if TYPE_CHECKING:
    from perf_culprit.model.run import Benchmark


# The configured direction of a metric; None if it is not configured.
Directions: TypeAlias = Callable[[MetricKey], Direction | None]
Readers: TypeAlias = tuple[ResultReader, ...]

SET_DIRECTION = "set their `direction` in the configuration (benchmarks: - match: NAME)"


def directed(run: Run, directions: Directions | None, *, keep: bool = False) -> Run:
    """Apply configured directions. Without `keep`, drop benchmarks of unknown direction, and name them in a note."""
    benchmarks: list[Benchmark] = []
    undirected: dict[str, None] = {}
    for benchmark in run.benchmarks:
        metric = benchmark.metric
        stated = directions(benchmark.key) if directions and metric.direction is Direction.UNKNOWN else None
        direction = stated or metric.direction
        if direction is Direction.UNKNOWN and not (keep and stated is None):
            undirected[benchmark.name if metric.name == VALUE else metric.name] = None
        elif direction is metric.direction:
            benchmarks.append(benchmark)
        else:
            benchmarks.append(structs.replace(benchmark, direction=direction))
    if not undirected:
        return structs.replace(run, benchmarks=tuple(benchmarks)) if benchmarks else run
    names = [f"`{shown(name)}`" for name in undirected]
    few = list_names(names, most=TEXT_LIMITS.names)
    note = f"left out because nothing says which way is good: {few}; {SET_DIRECTION}"
    return structs.replace(run, benchmarks=tuple(benchmarks), notes=(*run.notes, note))


# The start of a line that may begin a document, unlike `[INFO]` or a lone brace of a program's own output.
BEGINNING = re.compile(r"^[ \t]{0,20}(?=\{\s{0,40}\"|\[\s{0,40}[\[{])", re.MULTILINE)
# Blank lines, and possible headers of tables.
BREAKS = re.compile(
    r"\n[ \t\r]{0,20}\n\s{0,1000}|\n(?=(?:time(?:stamp|Stamp)?|date(?:time)?|commit|command|name|metric_name)[,;\t])"
)


def _known_documents(source: Source, is_known: Callable[[Source], bool]) -> tuple[list[Source], Source]:
    """Return the known JSON documents that begin a line of a text, and the text without them.

    Lines keep their numbers, except those of a table after the first document: its header must begin the text.
    Raise DataError if a later document is cut off, because its results would be lost.
    """
    if isinstance(source, LargeFile) or source.json_or_none() is not None:
        return [], source
    text = source.text_or_empty()
    pieces: list[Source] = []
    rest: list[str] = []
    last = line = 0
    for start, end in islice(_documents(text), FILE_LIMITS.documents):
        place = f"{source.place}:{text.count(chr(10), 0, start) + 1}"
        if end is None and pieces:
            raise DataError(
                "holds a JSON document that is cut off", place=place, next_step="check that the benchmark step finished"
            )
        if end is None:
            continue
        piece = _named(source, text[start:end])
        try:
            piece.json()
        except DataError as error:  # a duplicate name
            raise DataError(error.message, place=place, next_step=error.next_step) from None
        if is_known(piece):
            lines = line + text.count("\n", last, start)
            pieces.append(_named(source, "\n" * lines + text[start:end]))
            rest += [text[last:start], "\n" * text.count("\n", start, end)]
            last, line = end, lines + text.count("\n", start, end)
    return pieces, _named(source, "".join([*rest, text[last:]]).lstrip("\n")) if pieces else source


def _paragraphs(source: Source) -> Iterator[Source]:
    """Yield the parts between blank lines or headers, if there is more than one."""
    texts = [] if isinstance(source, LargeFile) else BREAKS.split(source.text_or_empty(), FILE_LIMITS.paragraphs)
    if len(texts) > 1 and source.json_or_none() is None:
        yield from (_named(source, text) for text in texts if "\n" in text)


def _named(source: Source, text: str) -> Source:
    return replace(source, data=text.encode("utf-8", errors="replace"))


def _documents(text: str) -> Iterator[tuple[int, int | None]]:
    """Yield the begin and end of each document; the end is None if the text cuts it off."""
    decoder = json.JSONDecoder()
    position = read = 0
    while read <= FILE_LIMITS.attempted_characters:
        if (beginning := BEGINNING.search(text, position)) is None:
            return
        start = beginning.end()
        position = start + 1
        try:
            _, position = decoder.raw_decode(text, start)
            yield start, position
        except json.JSONDecodeError as error:
            read += error.pos
            if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
                yield start, None
        except (ValueError, RecursionError):
            read += len(text)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """The options of reading: the tool, the suite, and the caller's facts about metrics and the machine.

    `directions`: the configured directions of metrics whose file states none. `environment`: this machine's, which
    completes the files' facts unless they show that they were measured elsewhere or hours ago. Pass
    `machine_environment()` only in the job that measured. `stdin`: the stream that `-` names.
    `is_ci_log`: the files are logs of a CI service. GitHub's are recognised without it.
    """

    tool: str = AUTO
    suite: str | None = None
    directions: Directions | None = None
    environment: Environment | None = None
    stdin: BinaryIO | None = None
    is_ci_log: bool = False

    def each(self, paths: Sequence[str]) -> Iterator[tuple[str, Run]]:
        """Yield the place and the run of each file, directory or archive separately."""
        for entry in read_inputs(paths, stdin=self.stdin):
            for part in [entry] if entry.is_tree else [replace(entry, sources=(source,)) for source in entry.sources]:
                yield part.sources[0].place, self.run((part,))

    def run(
        self,
        inputs: Sequence[Input],
        *,
        commit: str | None = None,
        tell: Callable[[Sequence[FileRead]], None] | None = None,
    ) -> Run:
        readers = readers_for(self.tool)
        reads: list[Read] = []
        skipped: list[DataError] = []
        lacks_directions = False
        plain = plain_log if self.is_ci_log else plain_github_log
        original, inputs = inputs, [replace(entry, sources=tuple(map(plain, entry.sources))) for entry in inputs]
        for entry in inputs:
            doing(f"reading {entry.sources[0].place}" if entry.sources else "reading")
            recognised, unknown = _read(entry, readers, is_named=self.tool != AUTO)
            for read in recognised:
                # The benchmarks of a run file were selected when it was written.
                run = directed(read.run, self.directions, keep=read.format == OWN_RUN.id)
                reads.append(replace(read, run=run))
                lacks_directions |= len(run.benchmarks) < len(read.run.benchmarks)
            skipped.extend(unknown)
        runs = [read.run for read in reads]
        if not any(run.benchmarks or run.counters or run.unreached or run.lost for run in runs):
            raise _nothing(inputs, reads, skipped, lacks_directions=lacks_directions)
        if tell is not None:
            tell([_file_read(read) for read in reads])
        # A log was written elsewhere.
        environment = self.environment if list(original) == inputs else None
        return merge(reads, suite=self.suite, commit=commit, environment=environment, notes=_skipped_notes(skipped))


AS_IT_IS: Final = Reading()


def collect(
    paths: Sequence[str],
    reading: Reading = AS_IT_IS,
    *,
    commit: str | None = None,
    tell: Callable[[Sequence[FileRead]], None] | None = None,
) -> Run:
    """Read files, patterns (`**` too), directories, zip archives and `-` (standard input) as one run.

    `tell` is called with a description of each file read.
    """
    return reading.run(read_inputs(paths, stdin=reading.stdin), commit=commit, tell=tell)


def repeats_by_clock(path: str, reading: Reading = AS_IT_IS) -> bool:
    """Return whether a tool wrote this file that repeats its work until a time has passed."""
    heard: list[FileRead] = []
    try:
        collect([path], reading, tell=heard.extend)
    except DataError:
        return False
    return any(one.format in REPEATING_BY_CLOCK for one in heard)


def collect_each(paths: Sequence[str], reading: Reading = AS_IT_IS) -> tuple[Run, ...]:
    """Read one run per file (of a pattern too), directory or archive, for baselines, which distinguish runs."""
    return tuple(run for _, run in collect_named(paths, reading))


def collect_named(paths: Sequence[str], reading: Reading = AS_IT_IS) -> list[tuple[str, Run]]:
    """Read as `collect_each`, with the place of each run."""
    return join_parts(list(reading.each(paths)))


def collect_executions(paths: Sequence[str], reading: Reading = AS_IT_IS, *, commit: str | None = None) -> Run:
    """Read one side of a paired measurement as one run. Each file, directory or archive is one execution."""
    return join_executions(list(reading.each(paths)), suite=reading.suite, commit=commit)


def collect_separate(paths: Sequence[str], reading: Reading = AS_IT_IS, *, commit: str | None = None) -> Run:
    """Read the target of a comparison of files with files. Each file is a separate run, as in the baseline."""
    each = join_parts(list(reading.each(paths)))
    # Executions with rounds shared a job, whatever the number of files.
    in_rounds = any(benchmark.rounds for _, run in each for benchmark in run.benchmarks)
    is_separate = len(each) > 1 and not in_rounds
    numbers = range(1, len(each) + 1) if is_separate else None
    joined = join_executions(each, rounds=numbers, suite=reading.suite, commit=commit)
    return structs.replace(joined, origins=tuple(run.origin for _, run in each) if is_separate else ())


def collect_sources(sources: Sequence[Source], reading: Reading = AS_IT_IS, *, commit: str | None = None) -> Run:
    """Read bytes from elsewhere (artifacts) as one run. Files of unknown formats are skipped with a note."""
    return reading.run((Input(sources=tuple(sources), is_search=True, is_tree=True),), commit=commit)


def collect_history(paths: Sequence[str], *, tool: str = AUTO, directions: Directions | None = None) -> tuple[Run, ...]:
    """Read all runs of files that hold several (data.js, Otava's CSV, Nyrkiö), oldest first, and one run of others.

    In a folder, files of unknown formats are skipped.
    """
    runs: list[Run] = []
    for is_search, source in ((one.is_search, source) for one in read_inputs(paths) for source in one.sources):
        if (reader := first_match(source, readers_for(tool))) is None and not is_search:
            raise unknown_format(source)
        if reader is None:
            continue
        runs.extend(
            merge((Read(place=source.place, run=run),))
            for part in reader.history(source)
            if (run := directed(part, directions)).benchmarks
        )
    return tuple(runs)


def _read(entry: Input, readers: Readers, *, is_named: bool) -> tuple[list[Read], list[DataError]]:
    """Read the files of one input; return also the errors of files that a search skipped."""
    reads: list[Read] = []
    skipped: list[DataError] = []
    rest = entry.sources
    for reader in readers if entry.is_search else ():
        tree = reader.tree
        if tree is not None and (belonging := tuple(source for source in rest if tree.belongs(source))):
            rest = tuple(source for source in rest if not tree.belongs(source))
            reads.append(Read(place=belonging[0].place, run=tree.read(belonging), format=reader.id))
    for source in chain.from_iterable(_parts(source, readers) for source in rest):
        if (match := first_match(source, readers)) is None and is_named and not entry.is_search:
            # The user's choice overrides the content; the reader reports what it misses.
            match = readers[-1]
        if match is not None:
            reads.extend(_read_all(source, match, readers))
        elif entry.is_search and not isinstance(source, LargeFile):
            skipped.append(unknown_format(source))
        else:
            raise unknown_format(source)
    return reads, skipped


def _parts(source: Source, readers: Readers) -> Iterator[Source]:
    """Yield the file itself, or its parts of several formats. A log's other documents are ignored."""
    # A file of many commits is one document, even with an entry on each line.
    if is_own(source) or any(reader.read_history is not None and reader.matches(source) for reader in readers):
        yield source
        return
    # In a format with a document on each line, lines are not separate documents.
    whole = tuple(reader for reader in readers if not reader.is_console)
    pieces, rest = _known_documents(source, lambda piece: first_match(piece, whole) is not None)
    yield from pieces
    if not pieces or first_match(rest, readers) is not None:
        yield rest


def _read_all(source: Source, first: ResultReader, readers: Readers) -> Iterator[Read]:
    """Read the file with the first matching reader, and with the other matching ones if a log holds several tools'."""
    printed = (reader for reader in readers if first.is_console and reader.is_console and reader.matches(source))
    several = tuple(printed) or (first,)
    others = tuple(reader for reader in readers if reader not in several and reader is not NUMBERS)
    for paragraph in () if is_own(source) else _paragraphs(source):
        other = first_match(paragraph, others)
        if other is not None and first_match(paragraph, several) is None:
            raise source.error(
                f"holds results of two formats, {several[0].id} and {other.id}, which cannot be told apart",
                "write each tool's results to a file of its own",
            )
    for reader in several:
        try:
            yield Read(place=source.place, run=reader.read(source), format=reader.id)
        except TooLargeError as error:
            raise with_smaller_option(error, reader) from None


def _file_read(read: Read) -> FileRead:
    benchmarks = read.run.benchmarks
    return FileRead(
        place=read.place,
        format=read.format,
        benchmarks=len({benchmark.name for benchmark in benchmarks}),
        metrics=len(benchmarks),
        samples=sum(len(benchmark.samples) for benchmark in benchmarks),
        tables=len(read.run.counters),
        notes=read.run.notes,
    )


def _skipped_notes(skipped: Sequence[DataError]) -> list[str]:
    notes = [f"{error.place} was passed over: {error.message}" for error in skipped[: TEXT_LIMITS.passed_over]]
    more = len(skipped) - len(notes)
    return [*notes, f"further files passed over: {more}"] if more else notes


def _nothing(
    inputs: Sequence[Input], reads: Sequence[Read], skipped: Sequence[DataError], *, lacks_directions: bool
) -> DataError:
    places = [source.place for entry in inputs for source in entry.sources]
    if skipped and not reads:
        names = [
            f"{error.place}{'' if error.message == UNKNOWN else f' ({error.message})'}"
            for error in skipped[: TEXT_LIMITS.passed_over]
        ]
        more = f" and {len(skipped) - len(names):,} more" if len(names) < len(skipped) else ""
        return DataError(
            f"no benchmark results in {', '.join(names)}{more}",
            next_step="name the files that the benchmark wrote (perf-culprit formats lists what is read), or have it "
            "run: perf-culprit measure --commits HEAD~1 HEAD --run COMMAND --output measured",
        )
    reasons = [*(note for read in reads for note in read.run.notes), *_skipped_notes(skipped)]
    return DataError(
        "; ".join(["holds no benchmark and no counter", *reasons[: TEXT_LIMITS.passed_over]]),
        place=places[0] if len(places) == 1 else f"{len(places)} files" if places else None,
        next_step=f"{SET_DIRECTION}, or name a tool that says it, such as customSmallerIsBetter"
        if lacks_directions
        else "check that the benchmark step ran and that these are its results",
    )
