"""history -> judge -> say: where series changed, how releases differ, and how often detectors are wrong."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import partial
from glob import glob
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np

from perf_culprit import git
from perf_culprit.commands.history_requests import AuditRuns, FindChanges
from perf_culprit.config.settings import Config
from perf_culprit.errors import DataError, UsageError, did_you_mean
from perf_culprit.explain.ranking import functions_as_run
from perf_culprit.files import read_limited
from perf_culprit.flows.compare import minimum_effects, reading
from perf_culprit.judge import detector_audit as detect_audit
from perf_culprit.judge.audit_counters import sweep_labels
from perf_culprit.judge.deviation_matrix import deviation_matrix
from perf_culprit.judge.run_values import metric_series
from perf_culprit.judge.series_changes import judge_series
from perf_culprit.model.accuracy import Audit
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.finding import Acceptance
from perf_culprit.model.reason import SeriesReason, because
from perf_culprit.model.run import MetricKey, Run
from perf_culprit.model.run_file import encode_run
from perf_culprit.model.series import DeviationMatrix, SeriesChanges, SeriesTable, Version
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.model.work_limits import WORK_LIMITS
from perf_culprit.progress import doing
from perf_culprit.read.profiles.profile_reading import read_profiles
from perf_culprit.read.results.collect import collect, collect_named
from perf_culprit.read.results.commit_table import read_table
from perf_culprit.read.results.merge import named_alike
from perf_culprit.say.reason_text import sentence
from perf_culprit.stats.order_interval import MINIMUM_SAMPLES
from perf_culprit.store.ancestry import MainLine, main_line
from perf_culprit.store.baseline import baseline_then
from perf_culprit.store.opening import only_suite, open_history, suite_names
from perf_culprit.store.protocol import NamedRun


@dataclass(frozen=True, kw_only=True, slots=True)
class Changes:
    """The series that were examined, and the changes in each."""

    table: SeriesTable
    series: tuple[SeriesChanges, ...]


def changes_in_file(path: str, options: FindChanges, *, config: Config, stdin: BinaryIO | None = None) -> Changes:
    """Find changes in a table with one row per commit or build."""
    table = read_table(path, columns=options.column, label=options.index, stdin=stdin)
    effect = minimum_effects(config)
    series = tuple(replace(one, minimum_effect=effect(MetricKey(one.name, ""))) for one in table.series)
    return _judge(replace(table, series=series), options)


def changes_in_history(repository: Path, options: FindChanges, *, config: Config) -> Changes:
    """Find changes in the runs stored for the commits of HEAD's own line."""
    pattern = options.benchmark or "*"
    line, place = stored_line(repository, config=config, history_url=options.history_url)
    series = metric_series(line.runs, minimum_effect=minimum_effects(config), pattern=pattern)
    if not series:
        names = sorted({benchmark.name for run in line.runs for benchmark in run.benchmarks})
        raise UsageError(
            f"no stored benchmark matches {pattern!r}",
            place="--benchmark",
            next_step=f"{did_you_mean(pattern, names)} use a name or shell pattern of: {', '.join(names[:20])}".strip(),
        )
    table = SeriesTable(
        place=place,
        series=series,
        labels=tuple(run.commit or "" for run in line.runs),
        label_name="commit",
        notes=line.notes,
    )
    return _judge(table, options)


def _judge(table: SeriesTable, options: FindChanges) -> Changes:
    doing(f"looking for changes in {len(table.series):,} series of {len(table.labels):,} rows")
    return Changes(table=table, series=judge_series(table, online=options.online))


EXAMPLE: Final = "such as: perf-culprit changes --releases v1.0=old.json v1.1=new.json"


def releases_in_files(named: Sequence[str], *, config: Config) -> DeviationMatrix:
    """Compare versions given as NAME=FILE, oldest first. Several files of one name form one version."""
    paths: dict[str, list[str]] = {}
    for entry in named:
        name, separator, path = entry.partition("=")
        if not (name and separator and path):
            raise UsageError(f"{entry!r} is not NAME=FILE", place="--releases", next_step=EXAMPLE)
        paths.setdefault(name, []).append(path)
    if len(paths) < 2:
        raise UsageError("one version has nothing to be compared with", place="--releases", next_step=EXAMPLE)
    *former, newest = map(_read_release, paths.values())
    before, last = named_alike(former, newest)
    versions = [Version(name=name, run=run) for name, run in zip(paths, (*before, last), strict=True)]
    return _matrix(versions, config=config, place="--releases")


def _read_release(paths: Sequence[str]) -> Run:
    """Read results, or else traces and profiles: every repetition is one sample of each function."""
    try:
        return collect(paths)
    except DataError as no_results:
        try:
            reading = read_profiles([name for path in paths for name in sorted(glob(path)) or [path]])  # noqa: PTH207 - names as given
        except DataError:
            raise no_results from None
    return functions_as_run(reading.profiles)


def releases_in_history(repository: Path, *, config: Config, history_url: str | None = None) -> DeviationMatrix:
    """Compare the tags whose commits have stored runs. Releases may also lie on merged branches."""
    line, place = stored_line(repository, config=config, history_url=history_url, merged=True)
    names = {commit: name for name, commit in git.tags(repository).items()}
    runs = {names[run.commit]: run for run in line.runs if run.commit in names}
    if len(runs) < 2:
        raise DataError(
            f"holds runs of {len(runs)} of HEAD's {len(names):,} tagged commits; two are compared",
            place=place,
            next_step="record runs of the tags, or give their files: " + EXAMPLE.removeprefix("such as: "),
        )
    versions = [Version(name=name, run=run) for name, run in runs.items()]
    return _matrix(versions, config=config, place=place)


def _matrix(versions: Sequence[Version], *, config: Config, place: str) -> DeviationMatrix:
    matrix = deviation_matrix(versions, minimum_effect=config.minimum_effect)
    if not any(row.cells for row in matrix.rows):
        raise DataError(
            f"no benchmark has {MINIMUM_SAMPLES} samples in each of two of the {len(versions):,} versions",
            place=place,
            next_step="repeat the benchmarks, and keep their samples: means are not enough;"
            " of traces give five files or more of each version",
        )
    return matrix


def stored_line(
    repository: Path, *, config: Config, history_url: str | None, merged: bool = False
) -> tuple[MainLine, str]:
    """Return the configured suite's runs, oldest first, at least one, and the place where they are stored, as text.

    `merged`: include branches that were merged.
    """
    with open_history(config.history, repository, url=history_url) as history:
        suite = only_suite(history, config.suite)
        line = main_line(history, repository, suite=suite, any_hardware=config.ignore_environment, merged=merged)
        suites = history.suites()
    place = history.place
    if not line.runs:
        stored = f"stored are {', '.join(sorted(suites)[: TEXT_LIMITS.suites])}:" if suites else ""
        hint = did_you_mean(suite, suites - {suite}, otherwise=stored)
        raise DataError(
            "; ".join([f"holds no run of the suite {suite!r} for a commit of this line", *map(sentence, line.notes)]),
            place=place,
            next_step=f"{hint} record runs first, or check --suite and --history".strip(),
        )
    return line, place


def audit_history(options: AuditRuns, *, config: Config) -> Audit:
    """Audit the newest stored runs of the configured suite, in the order of their times."""
    with open_history(config.history, options.repository, url=options.history_url, token=None) as history:
        suite = only_suite(history, config.suite)
        stored = list(history.runs(suite, list(history.commits(suite))))
        accepted = history.accepted(suite)
    runs = [entry.run for entry in stored if isinstance(entry, NamedRun)]
    unreadable = len(stored) - len(runs)
    # A run without a time counts as the oldest, since nothing shows that it is newer.
    runs.sort(key=lambda run: run.time.timestamp() if run.time else 0.0)
    if not runs:
        raise DataError(
            f"no stored runs of suite {suite!r}",
            place=history.place,
            next_step="record runs first, or audit result files with --files",
        )
    audit = audit_runs(
        runs[-WORK_LIMITS.audited_runs :], config=config, seed=options.seed, accepted=accepted, sweep=options.sweep
    )
    if unreadable:
        audit = replace(audit, notes=(*audit.notes, because(SeriesReason.NOT_READABLE, count=unreadable)))
    return audit


def audit_files(options: AuditRuns, *, config: Config, stdin: BinaryIO | None = None) -> Audit:
    """Audit result files: one run per file, oldest first."""
    if options.labels is not None and not (options.sweep and options.files):
        raise UsageError("--labels needs --sweep and --files", next_step="add what is missing")
    named = collect_named(options.files, reading(config, tool=options.tool, stdin=stdin))
    labels = read_labels(options.labels, [place for place, _ in named]) if options.labels is not None else {}
    audit = audit_runs([run for _, run in named], config=config, seed=options.seed, sweep=options.sweep)
    if not labels:
        return audit
    chosen, rng = [(run, labels[place]) for place, run in named if place in labels], np.random.default_rng(options.seed)
    labelled = sweep_labels([run for run, _ in chosen], [bad for _, bad in chosen], settings=config, rng=rng)
    return replace(audit, labelled=labelled)


FEWEST_GOOD: Final = 3  # each is judged against the others


def read_labels(file: Path, places: Sequence[str]) -> dict[str, bool]:
    """Return whether each labelled file is bad. A line is `good` or `bad`, and a shell pattern of files or names."""
    step = "write a line for each run, such as `bad run-7.csv`"
    labels: dict[str, bool] = {}
    lines = read_limited(file, FILE_LIMITS.labels_bytes, next_step=step).decode(errors="replace").splitlines()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        label, _, pattern = line.strip().partition(" ")
        matching = [place for place in places if fnmatch(place, pattern) or fnmatch(Path(place).name, pattern)]
        if label not in ("good", "bad") or not matching:
            why = "none of the files fits" if label in ("good", "bad") else "neither good nor bad"
            raise DataError(f"{line!r}: {why}", place=f"{file}, line {number}", next_step=step)
        labels |= dict.fromkeys(matching, label == "bad")
    if sum(not bad for bad in labels.values()) < FEWEST_GOOD or not any(labels.values()):
        raise DataError(f"fewer than {FEWEST_GOOD} good runs, or no bad one", place=str(file), next_step=step)
    return labels


def audit_runs(
    runs: Sequence[Run], *, config: Config, seed: int = 0, accepted: Sequence[Acceptance] = (), sweep: bool = False
) -> Audit:
    """Audit the detectors on these runs. The same seed and the same runs give the same numbers."""
    doing(f"auditing {len(runs):,} runs")
    return detect_audit.audit(
        runs,
        settings=config,
        rng=np.random.default_rng(seed),
        choose=partial(baseline_then, window=config.history.window, accepted=accepted),
        detector=config.detector,
        counter_detector=config.counter_detector,
        sweep=sweep,
    )


def stored_benchmarks(repository: Path, *, config: Config, suite: str | None) -> tuple[tuple[str, ...], bytes | None]:
    """Return the stored suites, and the newest run of one (default: the configuration's), encoded as a run file."""
    with open_history(config.history, repository) as history:
        suites = suite_names(history)
        chosen = suite or only_suite(history, config.suite)
        newest = [run for run in history.newest_runs(chosen, 1) if isinstance(run, NamedRun)]
    if suite is not None and not newest:
        raise UsageError(
            f"no stored run of the suite {suite!r}",
            place=history.place,
            next_step=did_you_mean(suite, suites, otherwise=f"stored are: {', '.join(suites) or 'none'}"),
        )
    return suites, encode_run(newest[0].run) if newest else None
