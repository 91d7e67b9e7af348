"""The stage's front door: names or bytes in, one run out."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import BinaryIO, Final

from bot.collect import numbers, perf_culprit
from bot.collect.directions import SET_DIRECTION, Directions, directed
from bot.collect.executions import join_executions
from bot.collect.inputs import Input, read_inputs
from bot.collect.merge import Read, merge
from bot.collect.parser import Parser
from bot.collect.parts import documents, paragraphs
from bot.collect.registry import (
    AUTO,
    CONSOLE_PARSERS,
    HISTORY_PARSERS,
    TREE_PARSERS,
    find_parser,
    parsers_for,
    text_parsers,
    unknown_format,
)
from bot.collect.smaller import with_option
from bot.collect.source import LargeFile, Source
from bot.errors import DataError, TooLargeError
from bot.model.environment import Environment
from bot.model.run import FileRead, Run
from bot.progress import doing

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
                parsed = directed(read.parsed, self.directions, keep=read.format == perf_culprit.ID)
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
    return replace(joined, is_separate=len(each) > 1 and not in_rounds)


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
    if perf_culprit.is_own(source):
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
    others = tuple(parser for parser in parsers if parser not in several and parser.ID != numbers.ID)
    for paragraph in () if perf_culprit.is_own(source) else paragraphs(source):
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
            raise with_option(error, parser.ID) from None


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
