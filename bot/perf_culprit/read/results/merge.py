"""Merging of the results of several files into one run."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import reduce
from itertools import chain, count

from msgspec import structs

from perf_culprit.errors import DataError
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.run import (
    HARDWARE_COMPONENTS,
    NO_COST,
    Benchmark,
    CounterTable,
    Environment,
    Lost,
    MetricKey,
    Part,
    Run,
    first_doubled,
)
from perf_culprit.model.run_file import refuse_too_many
from perf_culprit.read.results.content import shown
from perf_culprit.read.results.surroundings import elsewhere
from perf_culprit.read.results.timers import PLAIN_VALUE

NAME = "numbers"


def named_alike(
    baseline: Sequence[Run], target: Run, files: Collection[str] = frozenset()
) -> tuple[tuple[Run, ...], Run]:
    """Give all plain numbers of both sides one name, if the sides hold nothing else and share no name.

    Plain numbers have their file's name, such as `base.txt` and `head.txt`. The only benchmark of a file that nothing
    but the file names gets the target's name. `files`: their names.
    """
    names = {benchmark.name for run in baseline for benchmark in run.benchmarks}
    of_target = {benchmark.name for benchmark in target.benchmarks}
    if (
        len(of_target) == 1
        and len(names) == len(baseline)
        and not names & of_target
        and names | of_target <= set(files)
    ):
        (name,) = of_target
        return tuple(_with_name(run, name) for run in baseline), target
    everything = chain(target.benchmarks, *(run.benchmarks for run in baseline))
    plain = all(benchmark.metric == PLAIN_VALUE for benchmark in everything)
    if not plain or any(benchmark.name in names for benchmark in target.benchmarks):
        return tuple(baseline), target
    return tuple(map(_as_one, baseline)), _as_one(target)


def _with_name(run: Run, name: str) -> Run:
    lost = tuple(structs.replace(each, benchmark=each.benchmark and name) for each in run.lost)
    return structs.replace(
        run, benchmarks=tuple(structs.replace(each, name=name) for each in run.benchmarks), lost=lost
    )


def _as_one(run: Run) -> Run:
    if not run.benchmarks:
        return run
    parts = run.benchmarks
    one = Benchmark.of(
        name=NAME,
        metric=PLAIN_VALUE,
        samples=tuple(chain.from_iterable(part.samples for part in parts)),
        group_sizes=tuple(chain.from_iterable(part.group_sizes or (len(part.samples),) for part in parts)),
        rounds=tuple(chain.from_iterable(part.rounds for part in parts)) if all(part.rounds for part in parts) else (),
    )
    return structs.replace(run, benchmarks=(one,))


DEFAULT_SUITE = "default"
RUNTIMES = ("python", "java", "go", "rust", "node", "dotnet", "julia")


@dataclass(frozen=True, kw_only=True, slots=True)
class Read:
    """The content of one file (or tree of files), its place, and the format that it was read as."""

    place: str
    run: Run
    format: str = ""

    @property
    def is_own_run(self) -> bool:
        return bool(self.run.suite)


def merge(
    reads: Sequence[Read],
    *,
    suite: str | None = None,
    commit: str | None = None,
    time: datetime | None = None,
    job: str | None = None,
    environment: Environment | None = None,
    now: datetime | None = None,
    notes: Iterable[str] = (),
) -> Run:
    """Merge all reads into one run. If two files have the same metric, the second adds a group of samples.

    The caller's commit, time, suite and job override the files'.
    `environment` is the caller's machine `now`; it completes the files' facts if all were measured on it just now.
    Our own run files are complete: missing facts were unknown when they were written.
    """
    if sum(read.run.part is not None for read in reads) > 1:
        joined = join_parts([(read.place, merge([read])) for read in reads if read.run.part])
        parts = [Read(place=place, run=run) for place, run in joined]
        reads = [*parts, *(read for read in reads if read.run.part is None)]
    benchmarks, turned = _benchmarks(reads)
    counters = _counters(reads)
    more = f" and {len(reads) - 1:,} more" if len(reads) > 1 else ""
    refuse_too_many(benchmarks, counters, place=f"{reads[0].place}{more}")
    all_notes = [*notes, *(note for read in reads for note in read.run.notes), *_environment_notes(reads)]
    if turned:
        all_notes.append(f"summaries of several files, where each file's value counts as one sample: {turned}")
    times = [read.run.time for read in reads if read.run.time is not None]
    measured_on = reduce(Environment.merged, (read.run.environment for read in reads), Environment())
    if environment is not None:
        foreign = _foreign(reads, environment, now=now or datetime.now(UTC))
        all_notes += foreign
        if not foreign and not any(read.is_own_run for read in reads):
            measured_on = measured_on.merged(environment)
    return Run(
        benchmarks=benchmarks,
        counters=counters,
        environment=measured_on,
        commit=commit or _agreed(((read.place, read.run.commit) for read in reads), "commit"),
        time=time or (min(times) if times else None),
        suite=suite or _agreed(((read.place, read.run.suite or None) for read in reads), "suite") or DEFAULT_SUITE,
        # Files of different jobs were not measured on one machine, so their run cannot be paired.
        job=job or (reads[0].run.job if len({read.run.job for read in reads}) == 1 else None),
        regressions=tuple(dict.fromkeys(key for read in reads for key in read.run.regressions)),
        confirmed=tuple(dict.fromkeys(key for read in reads for key in read.run.confirmed)),
        analyses=max((read.run.analyses for read in reads), default=1),
        cost=sum((read.run.cost for read in reads), NO_COST),
        part=reads[0].run.part if len(reads) == 1 else None,
        unreached=reads[0].run.unreached if len(reads) == 1 else None,
        seed=reads[0].run.seed if len(reads) == 1 else None,
        methods=dict(reads[0].run.methods) if len(reads) == 1 else {},
        executions=tuple(chain.from_iterable(read.run.executions for read in reads)),
        notes=tuple(dict.fromkeys(all_notes)),
        lost=_lost(reads),
    )


def _lost(reads: Sequence[Read]) -> tuple[Lost, ...]:
    """Return each failed benchmark once, as the first file tells it."""
    first: dict[str, Lost] = {}
    for read in reads:
        for one in read.run.lost:
            first.setdefault(one.benchmark, one)
    return tuple(first.values())[: FILE_LIMITS.losses]


def _benchmarks(reads: Sequence[Read]) -> tuple[tuple[Benchmark, ...], int]:
    """Return the merged benchmarks in order of first appearance, and the number of summaries that became samples."""
    if len(reads) == 1:
        _refuse_doubled(reads[0])
        return tuple(map(_without_group, reads[0].run.benchmarks)), 0
    merged: dict[MetricKey, Benchmark] = {}
    places: dict[MetricKey, str] = {}
    turned = set[MetricKey]()
    for read in reads:
        for benchmark in read.run.benchmarks:
            key = benchmark.key
            if key not in merged:
                merged[key], places[key] = benchmark, read.place
                continue
            merged[key] = _joined(merged[key], benchmark, first=places[key], second=read.place, turned=key in turned)
            if benchmark.summary is not None:
                turned.add(key)
    return tuple(map(_without_group, merged.values())), len(turned)


def _refuse_doubled(read: Read) -> None:
    """Raise DataError if a file has a metric in two units, which our own format could not read back."""
    benchmarks = read.run.benchmarks
    # Our own files are checked while they are read.
    if read.is_own_run or (doubled := first_doubled(benchmarks)) is None:
        return
    key = benchmarks[doubled[0]].key
    units = sorted({shown(benchmark.metric.unit) or "no unit" for benchmark in benchmarks if benchmark.key == key})
    raise DataError(
        f"`{shown(key.benchmark)}` ({shown(key.metric)}) stands there more than once, in {' and '.join(units)}",
        place=read.place,
        next_step="let one suite measure a benchmark once, in one unit",
    )


def _without_group(benchmark: Benchmark) -> Benchmark:
    """Remove the rounds of a remaining summary: it has no sample groups that they could apply to."""
    return structs.replace(benchmark, rounds=()) if benchmark.summary is not None and benchmark.rounds else benchmark


def _counters(reads: Sequence[Read]) -> tuple[CounterTable, ...]:
    """Return all tables. Tables of equal names get their file's name added; they stay apart, as their clocks differ.

    This includes the first one, so that a table's name does not depend on the order of the files.
    """
    shared = Counter(table.name for read in reads for table in read.run.counters)
    names: set[str] = set()
    tables: list[CounterTable] = []
    for read in reads:
        file = read.place.replace("\\", "/").rpartition("/")[2]
        for table in read.run.counters:
            own = table.name if shared[table.name] == 1 else f"{table.name} ({file})"
            candidates = chain((own,), (f"{table.name} ({file} {i})" for i in count(2)))
            name = next(candidate for candidate in candidates if candidate not in names)
            names.add(name)
            tables.append(table if name == table.name else replace(table, name=name))
    return tuple(tables)


def _joined(earlier: Benchmark, more: Benchmark, *, first: str, second: str, turned: bool) -> Benchmark:
    if earlier.metric != more.metric:
        raise _conflict(
            f"`{shown(more.name)}` ({shown(more.metric.name)}) is {shown(more.metric.unit) or 'without unit'}, "
            f"{more.metric.direction.value}, but {shown(earlier.metric.unit) or 'without unit'}, "
            f"{earlier.metric.direction.value} in {first}",
            second,
        )
    were_summaries = earlier.summary is not None or turned
    # Executions that were joined before do not record that their single values were summaries.
    may_have_been = were_summaries or (earlier.rounds and set(earlier.group_sizes) == {1})
    if were_summaries if more.summary is None else not may_have_been:
        raise _conflict(f"`{shown(more.name)}` has samples here or in {first}, and only a summary in the other", second)
    return Benchmark.of(
        name=earlier.name,
        metric=earlier.metric,
        samples=_samples(earlier) + _samples(more),
        group_sizes=_group_sizes(earlier) + _group_sizes(more),
        rounds=earlier.rounds + more.rounds if earlier.rounds and more.rounds else (),
        category=earlier.category or more.category,
        version=earlier.version if earlier.version == more.version else None,
    )


def _samples(benchmark: Benchmark) -> tuple[float, ...]:
    """Return the samples, or the number that a separate run of this summary is judged by: its median, if it has one."""
    if (summary := benchmark.summary) is None:
        return benchmark.samples
    return (summary.value if summary.median is None else summary.median,)


def _group_sizes(benchmark: Benchmark) -> tuple[int, ...]:
    return benchmark.group_sizes or (len(_samples(benchmark)),)


def _agreed(values: Iterable[tuple[str, str | None]], what: str) -> str | None:
    """Return the value that all files with one agree on; raise DataError if they differ: they are not one run."""
    stated = [(place, value) for place, value in values if value is not None]
    for place, value in stated:
        if value != stated[0][1]:
            raise _conflict(f"{what} is `{shown(value)}`, but `{shown(stated[0][1])}` in {stated[0][0]}", place)
    return stated[0][1] if stated else None


def _foreign(reads: Sequence[Read], machine: Environment, *, now: datetime) -> list[str]:
    """Return a remark for each file that was measured elsewhere or earlier."""
    origins = ((read.place, elsewhere(read.run, machine, now=now)) for read in reads if not read.is_own_run)
    return [
        f"{place}: not measured by this job ({shown(why)}); what it does not say of its machine stays unknown"
        for place, why in origins
        if why is not None
    ]


def _environment_notes(reads: Sequence[Read]) -> list[str]:
    first = reads[0]
    return [
        f"{read.place} and {first.place} were measured in different environments ({', '.join(names)})"
        for read in reads[1:]
        if (names := first.run.environment.differences(read.run.environment, (*HARDWARE_COMPONENTS, *RUNTIMES)))
    ]


def _conflict(message: str, place: str) -> DataError:
    return DataError(message, place=place, next_step="collect files of one run only, or let one tool write them all")


OTHER_PARTS = "give each part of one run once; --list has to print the same on each machine"


def join_parts(runs: Sequence[tuple[str, Run]]) -> list[tuple[str, Run]]:
    """Join the runs of parts into one; the others stay. Raise DataError if they are not the parts of one run.

    Each part of a suite was measured on a separate machine. A round of the run is that round of all parts.
    """
    parts = [(run.part, place, run) for place, run in runs if run.part is not None]
    if len(parts) < 2:
        return list(runs)
    parts.sort(key=lambda part: part[0].indices)
    _refuse_others(parts)
    whole = structs.replace(parts[0][0], indices=tuple(sorted(index for part, _, _ in parts for index in part.indices)))
    # Different machines do not matter: both sides of a part were measured on one.
    alone = [structs.replace(run, part=None, environment=Environment(), job=None) for _, _, run in parts]
    joined = merge([Read(place=place, run=run) for (_, place, _), run in zip(parts, alone, strict=True)])
    environment = _in_order([run.environment for _, _, run in parts])
    joined = structs.replace(joined, environment=environment, part=whole if whole.missing else None)
    return [(parts[0][1], joined), *((place, run) for place, run in runs if run.part is None)]


def _refuse_others(parts: Sequence[tuple[Part, str, Run]]) -> None:
    """Raise DataError for a run that is not another part of the first one's run."""
    owners: dict[str | MetricKey, str] = {}
    first_part, first_place, first_run = parts[0]
    for part, place, run in parts:
        for (what, mine), its in zip(_facts(part, run).items(), _facts(first_part, first_run).values(), strict=True):
            if mine != its:
                message = f"its {what} is `{shown(mine)}`, that of {first_place} is `{shown(its)}`"
                raise DataError(message, place=place, next_step=OTHER_PARTS)
        facts: list[str | MetricKey] = [*(f"part {index}" for index in part.indices), *run.keys]
        for fact in facts:
            if owners.setdefault(fact, place) != place:
                what = fact if isinstance(fact, str) else f"`{shown(fact.benchmark)}`"
                raise DataError(f"has {what}, as {owners[fact]} has", place=place, next_step=OTHER_PARTS)


def _facts(part: Part, run: Run) -> dict[str, str]:
    facts = {"suite": run.suite, "commit": run.commit, "number of parts": part.count, "list": part.division}
    return {what: str(fact) for what, fact in facts.items()}


def _in_order(machines: Sequence[Environment]) -> Environment:
    """Return the components that all machines have; different values are listed in the order of the parts."""
    names = [name for name in machines[0].components if all(name in one.components for one in machines)]
    values = {name: [one.components[name] for one in machines] for name in names}
    return Environment(
        components={name: " / ".join(own if len(set(own)) > 1 else own[:1]) for name, own in values.items()}
    )


# The executions of each side in A B B A, the best order to interleave two sides.
PER_ROUND = 2


def join_executions(
    executions: Sequence[tuple[str, Run]],
    *,
    rounds: Sequence[int] | None = None,
    suite: str | None = None,
    commit: str | None = None,
    time: datetime | None = None,
    job: str | None = None,
) -> Run:
    """Join `executions`, each with its place, into one run in their order.

    Processes of one execution become one group, because they share its time and therefore its noise. Missing `rounds`
    (one per execution) follow from the order: each round has the number of executions per side in A B B A. A result
    with its own rounds keeps them, numbered after the earlier ones.
    """
    if rounds is None:
        executions = join_parts(executions)
    if len(executions) == 1 and rounds is None:
        ((place, run),) = executions
        return merge([Read(place=place, run=run)], suite=suite, commit=commit, time=time, job=job)
    numbers = rounds or in_order(len(executions))
    reads, first = [], 0
    for (place, run), number in zip(executions, numbers, strict=True):
        benchmarks = tuple(_as_execution(benchmark, number, first=first) for benchmark in run.benchmarks)
        if any(benchmark.rounds for benchmark in run.benchmarks):
            first = max(round_ for benchmark in benchmarks for round_ in benchmark.rounds)
        reads.append(Read(place=place, run=structs.replace(run, benchmarks=benchmarks)))
    return merge(reads, suite=suite, commit=commit, time=time, job=job)


def in_order(count: int) -> tuple[int, ...]:
    """Return the rounds of `count` executions of one side; a leftover execution belongs to the last round."""
    last = max(count // PER_ROUND, 1)
    return tuple(min(position // PER_ROUND + 1, last) for position in range(count))


def _as_execution(benchmark: Benchmark, number: int, *, first: int) -> Benchmark:
    if benchmark.rounds:
        return structs.replace(benchmark, rounds=tuple(first + before for before in benchmark.rounds))
    group_sizes = () if benchmark.summary is not None else (len(benchmark.samples),)
    return structs.replace(benchmark, group_sizes=group_sizes, rounds=(number,))
