"""Names or bytes in, one run out: what the user names, and metrics without a direction."""

import glob
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, TypeAlias

from msgspec import structs

from perf_culprit.errors import DataError, TooLargeError, listed
from perf_culprit.model.run import Direction, Environment, FileRead, MetricKey, Run
from perf_culprit.progress import doing
from perf_culprit.read.results import own_run, plain_numbers
from perf_culprit.read.results.archive import is_archive, read_archive
from perf_culprit.read.results.console import documents, paragraphs
from perf_culprit.read.results.content import shown
from perf_culprit.read.results.merge import Read, join_executions, merge
from perf_culprit.read.results.parser import VALUE, Parsed, Parser
from perf_culprit.read.results.result_formats import (
    AUTO,
    CONSOLE_PARSERS,
    HISTORY_PARSERS,
    TREE_PARSERS,
    find_parser,
    parsers_for,
    text_parsers,
    unknown_format,
    with_smaller_option,
)
from perf_culprit.read.results.source import STDIN_NAME, LargeFile, Source, open_file, open_stream

if TYPE_CHECKING:
    from perf_culprit.model.run import Benchmark


# Metrics whose file does not say which way is good: the configuration says it, or they are left out by name.

# What the configuration says of a metric; None where it says nothing.
Directions: TypeAlias = Callable[[MetricKey], Direction | None]

SET_DIRECTION = "set their `direction` in the configuration (benchmarks: - match: NAME)"
MAX_SHOWN_NAMES = 5


def directed(parsed: Parsed, directions: Directions | None, *, keep: bool = False) -> Parsed:
    """`parsed` with benchmarks of known direction only, unless all are to be kept; a note names the others."""
    kept: list[Benchmark] = []
    undirected: dict[str, None] = {}
    for benchmark in parsed.benchmarks:
        metric = benchmark.metric
        stated = directions(benchmark.key) if directions and metric.direction is Direction.UNKNOWN else None
        direction = stated or metric.direction
        if direction is Direction.UNKNOWN and not (keep and stated is None):
            undirected[benchmark.name if metric.name == VALUE else metric.name] = None
        elif direction is metric.direction:
            kept.append(benchmark)
        else:
            kept.append(structs.replace(benchmark, direction=direction))
    if not undirected:
        return replace(parsed, benchmarks=tuple(kept)) if kept else parsed
    names = [f"`{shown(name)}`" for name in undirected]
    few = listed(names, most=MAX_SHOWN_NAMES)
    note = f"left out because nothing says which way is good: {few}; {SET_DIRECTION}"
    return replace(parsed, benchmarks=tuple(kept), notes=(*parsed.notes, note), undirected=len(undirected))


# From what the user names (files, patterns, directories, archives, `-`) to sources.

MAX_FILES = 20_000
MAX_TOTAL_BYTES = 512 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Input:
    """What one name led to. `is_search` where files were found, not named: those of no known format are passed over.

    `is_tree` where the files lie together in a directory or an archive, not just match one pattern.
    """

    sources: tuple[Source, ...]
    is_search: bool
    is_tree: bool


def read_inputs(paths: Sequence[str], *, stdin: BinaryIO | None = None) -> tuple[Input, ...]:
    """One input per path; the same file reached twice counts once, or its samples would count double."""
    inputs: list[Input] = []
    seen: set[str] = set()
    budget = MAX_TOTAL_BYTES
    for path in paths:
        if path == STDIN_NAME:
            files, is_search = [STDIN_NAME], False
        else:
            files, is_search = _files(path)
        sources: list[Source] = []
        for file in files:
            identity = file if file == STDIN_NAME else os.path.realpath(file)
            if identity in seen:
                continue
            seen.add(identity)
            source = open_stream(file, stdin or sys.stdin.buffer) if file == STDIN_NAME else open_file(file)
            budget -= len(source.data)
            if budget < 0 or len(seen) > MAX_FILES:
                raise DataError(
                    f"is more than {MAX_FILES:,} files or {MAX_TOTAL_BYTES:,} bytes together with the inputs before it",
                    place=shown(path),
                    next_step="name the result files only",
                )
            sources.append(source)
        is_tree = is_search and Path(path).is_dir()
        inputs.extend(_opened(sources, is_search=is_search, is_tree=is_tree))
    return tuple(inputs)


def _opened(sources: list[Source], *, is_search: bool, is_tree: bool) -> Iterator[Input]:
    """Archives become inputs of their own: each is a tree."""
    if plain := tuple(source for source in sources if not is_archive(source.data)):
        yield Input(sources=plain, is_search=is_search, is_tree=is_tree)
    for source in sources:
        if is_archive(source.data):
            yield Input(sources=read_archive(source.content(), name=source.name), is_search=True, is_tree=True)


def _files(path: str) -> tuple[list[str], bool]:
    """The files that `path` names, and whether they had to be looked for."""
    if os.path.isdir(path):  # noqa: PTH112 - a Path cannot be made of every string that a user gives
        return list(_walk(path)), True
    # A file may have a bracket in its name, as parametrised benchmarks do.
    if glob.has_magic(path) and not os.path.lexists(path):
        matches = sorted(name for name in glob.iglob(path, recursive=True) if Path(name).is_file())  # noqa: PTH207 - same
        if not matches:
            raise DataError(
                "matches no file", place=shown(path), next_step="check the pattern and the working directory"
            )
        return matches, True
    return [path], False


def _walk(path: str) -> Iterator[str]:
    count = 0
    for folder, folders, files in os.walk(path):
        folders.sort()
        for name in sorted(files):
            file = Path(folder) / name
            # A link in a stranger's tree may lead anywhere.
            if file.is_symlink() or not file.is_file():
                continue
            count += 1
            yield str(file)
    if not count:
        raise DataError("holds no file", place=shown(path), next_step="check that the benchmark step wrote its results")


# The stage's front door: names or bytes in, one run out.

MAX_SHOWN_SKIPPED = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """How files are read: as what, for which suite, and what the caller knows of metrics and machine.

    `directions` is what the configuration says of metrics whose file does not say which way is good. `environment`,
    this machine's, completes what the files say where nothing in them shows that they were measured elsewhere or hours
    ago: give `machine_environment()` only in the job that measured. `stdin` is what `-` names.
    """

    tool: str = AUTO
    suite: str | None = None
    directions: Directions | None = None
    environment: Environment | None = None
    stdin: BinaryIO | None = None

    def each(self, paths: Sequence[str]) -> Iterator[tuple[str, Run]]:
        """The place and the run of every file, directory or archive by itself."""
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
        parsers = parsers_for(self.tool)
        reads: list[Read] = []
        skipped: list[DataError] = []
        for entry in inputs:
            doing(f"reading {entry.sources[0].place}" if entry.sources else "reading")
            recognised, unknown = _read(entry, parsers, is_named=self.tool != AUTO)
            for read in recognised:
                # What a run file holds was decided when it was written.
                parsed = directed(read.parsed, self.directions, keep=read.format == own_run.ID)
                reads.append(replace(read, parsed=parsed))
            skipped.extend(unknown)
        if not any(read.parsed.benchmarks or read.parsed.counters for read in reads):
            raise _nothing(inputs, reads, skipped)
        if tell is not None:
            tell([_file_read(read) for read in reads])
        return merge(
            reads, suite=self.suite, commit=commit, environment=self.environment, notes=_skipped_notes(skipped)
        )


AS_IT_IS: Final = Reading()


def collect(
    paths: Sequence[str],
    reading: Reading = AS_IT_IS,
    *,
    commit: str | None = None,
    tell: Callable[[Sequence[FileRead]], None] | None = None,
) -> Run:
    """The run that files, patterns (`**` too), directories, zip archives and `-` (standard input) hold together.

    `tell` hears what was read as what.
    """
    return reading.run(read_inputs(paths, stdin=reading.stdin), commit=commit, tell=tell)


def collect_each(paths: Sequence[str], reading: Reading = AS_IT_IS) -> tuple[Run, ...]:
    """One run per file (of a pattern too), directory or archive: for baselines, where runs are told from samples."""
    return tuple(run for _, run in reading.each(paths))


def collect_executions(paths: Sequence[str], reading: Reading = AS_IT_IS, *, commit: str | None = None) -> Run:
    """One run of one side of a paired measurement: each file (directory, archive) is an execution of its own."""
    return join_executions(list(reading.each(paths)), suite=reading.suite, commit=commit)


def collect_separate(paths: Sequence[str], reading: Reading = AS_IT_IS, *, commit: str | None = None) -> Run:
    """The target of a comparison of files with files: each file is a run of its own, as each of the baseline's is."""
    each = list(reading.each(paths))
    # Executions that know their rounds shared a job, whatever the number of files.
    in_rounds = any(benchmark.rounds for _, run in each for benchmark in run.benchmarks)
    joined = join_executions(each, suite=reading.suite, commit=commit)
    return structs.replace(joined, is_separate=len(each) > 1 and not in_rounds)


def collect_sources(sources: Sequence[Source], reading: Reading = AS_IT_IS, *, commit: str | None = None) -> Run:
    """The same for bytes that came from elsewhere (artifacts); files of no known format are passed over and noted."""
    return reading.run((Input(sources=tuple(sources), is_search=True, is_tree=True),), commit=commit)


def collect_history(paths: Sequence[str], *, tool: str = AUTO, directions: Directions | None = None) -> tuple[Run, ...]:
    """Every run of files that hold many (data.js, Otava's CSV, Nyrkiö), oldest first, and the one of other files.

    Of a folder, files of no known format are passed over.
    """
    runs: list[Run] = []
    for is_search, source in ((one.is_search, source) for one in read_inputs(paths) for source in one.sources):
        if (parser := find_parser(source, parsers_for(tool))) is None and not is_search:
            raise unknown_format(source)
        if parser is None:
            continue
        many = HISTORY_PARSERS.get(parser.ID)
        runs.extend(
            merge((Read(place=source.place, parsed=parsed),))
            for part in ([parser.parse(source)] if many is None else many.parse_history(source))
            if (parsed := directed(part, directions)).benchmarks
        )
    return tuple(runs)


def _read(entry: Input, parsers: tuple[Parser, ...], *, is_named: bool) -> tuple[list[Read], list[DataError]]:
    """What the files of one input say, and why some of a search were passed over."""
    trees = [parser for name, parser in TREE_PARSERS.items() if parser in parsers]
    reads: list[Read] = []
    skipped: list[DataError] = []
    rest = entry.sources
    for tree in trees if entry.is_search else ():
        if belonging := tuple(source for source in rest if tree.belongs(source)):
            rest = tuple(source for source in rest if not tree.belongs(source))
            reads.append(Read(place=belonging[0].place, parsed=tree.parse_tree(belonging), format=tree.ID))
    for source in chain.from_iterable(_parts(source, parsers) for source in rest):
        if (parser := find_parser(source, parsers)) is None and is_named and not entry.is_search:
            # The user knows better than the content; the parser says what it misses.
            parser = parsers[-1]
        if parser is not None:
            reads.extend(_read_all(source, parser, parsers))
        elif entry.is_search and not isinstance(source, LargeFile):
            skipped.append(unknown_format(source))
        else:
            raise unknown_format(source)
    return reads, skipped


def _parts(source: Source, parsers: tuple[Parser, ...]) -> Iterator[Source]:
    """The file itself, or what it holds of several formats. Other documents of a log are none of ours."""
    if own_run.is_own(source):
        yield source
        return
    # Of a format with a document on each line, lines are no documents of their own.
    whole = tuple(parser for parser in parsers if parser.ID not in CONSOLE_PARSERS)
    pieces, rest = documents(source, lambda piece: find_parser(piece, whole) is not None)
    yield from pieces
    if not pieces or find_parser(rest, parsers) is not None:
        yield rest


def _read_all(source: Source, first: Parser, parsers: tuple[Parser, ...]) -> Iterator[Read]:
    """What the first parser that knows the content makes of it, and the others where a log holds several tools'."""
    several = text_parsers(source, parsers) if first.ID in CONSOLE_PARSERS else ()
    several = several or (first,)
    others = tuple(parser for parser in parsers if parser not in several and parser.ID != plain_numbers.ID)
    for paragraph in () if own_run.is_own(source) else paragraphs(source):
        other = find_parser(paragraph, others)
        if other is not None and find_parser(paragraph, several) is None:
            raise source.error(
                f"holds results of two formats, {several[0].ID} and {other.ID}, which cannot be told apart",
                "write each tool's results to a file of its own",
            )
    for parser in several:
        try:
            yield Read(place=source.place, parsed=parser.parse(source), format=parser.ID)
        except TooLargeError as error:
            raise with_smaller_option(error, parser.ID) from None


def _file_read(read: Read) -> FileRead:
    benchmarks = read.parsed.benchmarks
    return FileRead(
        place=read.place,
        format=read.format,
        benchmarks=len({benchmark.name for benchmark in benchmarks}),
        metrics=len(benchmarks),
        samples=sum(len(benchmark.samples) for benchmark in benchmarks),
        tables=len(read.parsed.counters),
        notes=read.parsed.notes,
    )


def _skipped_notes(skipped: Sequence[DataError]) -> list[str]:
    notes = [f"{error.place} was passed over: {error.message}" for error in skipped[:MAX_SHOWN_SKIPPED]]
    more = len(skipped) - len(notes)
    return [*notes, f"further files passed over: {more}"] if more else notes


def _nothing(inputs: Sequence[Input], reads: Sequence[Read], skipped: Sequence[DataError]) -> DataError:
    places = [source.place for entry in inputs for source in entry.sources]
    reasons = [*(note for read in reads for note in read.parsed.notes), *_skipped_notes(skipped)]
    return DataError(
        "; ".join(["holds no benchmark and no counter", *reasons[:MAX_SHOWN_SKIPPED]]),
        place=places[0] if len(places) == 1 else f"{len(places)} files" if places else None,
        next_step=f"{SET_DIRECTION}, or name a tool that says it, such as customSmallerIsBetter"
        if any(read.parsed.undirected for read in reads)
        else "check that the benchmark step ran and that these are its results",
    )
