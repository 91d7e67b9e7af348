"""collect -> history -> judge: one comparison, whatever its baseline."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import partial
from itertools import islice, takewhile
from pathlib import Path
from typing import BinaryIO, TypedDict

from msgspec import structs

from perf_culprit import git
from perf_culprit.commands.judge_requests import Compare
from perf_culprit.config.settings import Config
from perf_culprit.errors import BotError, ConfigError, UsageError, did_you_mean
from perf_culprit.flows.compared_commits import Merge, ReferenceCommit, find_reference
from perf_culprit.judge.budgets import checked_budgets
from perf_culprit.judge.conclusion import conclusion_of, confirmed, flagged_benchmarks
from perf_culprit.judge.counter_pairs import tests_apart
from perf_culprit.judge.derived import without_derived
from perf_culprit.judge.foreseen_runs import runs_note
from perf_culprit.judge.group_means import group_means
from perf_culprit.judge.judged_times import time_notes, with_one_time, with_other_time
from perf_culprit.judge.percentiles import with_percentiles
from perf_culprit.judge.policy import judge
from perf_culprit.model.count import is_count
from perf_culprit.model.detectors import BENCHMARK_DETECTORS, BY_SAMPLE_DETECTORS, COUNTER_DETECTORS
from perf_culprit.model.finding import PROVEN, Acceptance, Baseline, BaselineSource, Finding, SuiteChange, Verdict
from perf_culprit.model.minimum_effect import DEFAULTS, DataKind
from perf_culprit.model.reason import OF_FAILURES, Reason, Remark, because
from perf_culprit.model.report import Conclusion, Judgement, Report, Settings
from perf_culprit.model.run import FailedSide, MetricKey, Run, Unreached
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.model.work_limits import WORK_LIMITS
from perf_culprit.progress import doing
from perf_culprit.read.results.collect import Reading, collect, collect_each, collect_executions, collect_separate
from perf_culprit.read.results.content import shown
from perf_culprit.read.results.merge import named_alike
from perf_culprit.read.results.result_formats import AUTO, READERS
from perf_culprit.read.results.surroundings import surroundings
from perf_culprit.say.maintenance_text import collected_text, derived_text, formats_text
from perf_culprit.say.report_parts import build_report


def reading(config: Config, *, tool: str = AUTO, stdin: BinaryIO | None = None) -> Reading:
    """Settings for reading the configured suite's files."""
    return Reading(tool=tool, suite=config.suite, directions=config.direction_of, stdin=stdin)


def report_settings(config: Config, *, target: Run, looks: int) -> Settings:
    """Return the decision rule for the report's small print, with only the detectors that had something to judge."""
    counts = target.benchmarks and all(is_count(benchmark.metric) for benchmark in target.benchmarks)
    metric = config.counted if counts else config.general
    used = [config.detector] * bool(target.benchmarks) + [config.counter_detector] * bool(target.counters)
    return Settings(
        detector=", ".join(dict.fromkeys(used)),
        proven=config.proven,
        suspected=config.suspected,
        minimum_effect=metric.minimum_effect,
        fail=metric.fail,
        looks=looks,
    )


def minimum_effects(config: Config) -> Callable[[MetricKey], float]:
    """Return a function from metric to minimum effect. Rules for benchmarks also apply to columns of that name."""
    stated = "minimum_effect" in config.model_fields_set
    settings = config if stated else config.model_copy(update={"minimum_effect": DEFAULTS[DataKind.SERIES]})
    return lambda key: settings.of(key).minimum_effect


def is_named(config: Config, key: MetricKey) -> bool:
    """Return whether the user's settings name this metric, not just its whole benchmark."""
    return any(benchmark.metric != "*" and fnmatchcase(key.metric, benchmark.metric) for benchmark in config.benchmarks)


def corrected_for_analyses(config: Config, *, analyses: int) -> Config:
    """Set error rates for numbers that are judged up to `analyses` times, at planned moments, until they suffice.

    Each analysis gets an equal share of the error, so the rates over all analyses are those of the configuration. This
    is alpha spending by the union bound, which assumes nothing about how the analyses depend on each other.
    """
    rates = {"proven": config.proven / analyses, "suspected": config.suspected / analyses}
    return config if analyses == 1 else config.model_copy(update=rates)


def over_looks(finding: Finding, looks: int) -> Finding:
    """Return the finding with its rates over all looks: those that the configuration states."""
    rates = {name: rate for name, rate in finding.reason.arguments.items() if name == "rate"}
    shared = {name: min(rate * looks, 1.0) for name, rate in rates.items() if isinstance(rate, float)}
    return structs.replace(
        finding,
        rate=None if finding.rate is None else min(finding.rate * looks, 1.0),
        reason=Reason(code=finding.reason.code, arguments={**finding.reason.arguments, **shared}),
    )


def judge_run(baseline: Baseline, target: Run, *, config: Config) -> Report:
    """Judge a run by detector and policy and build its report, in the same way for every kind of baseline."""
    if config.unit == "sample" and config.detector not in BY_SAMPLE_DETECTORS:
        able = " or ".join(BY_SAMPLE_DETECTORS)
        raise ConfigError(
            f"sample is for the detector {able}, and {config.detector} is chosen",
            place="unit",
            next_step=f"choose {able}, or leave unit out",
        )
    looks = max(run.analyses for run in (target, *baseline.runs))
    settings = report_settings(config, target=target, looks=looks)
    config = corrected_for_analyses(config, analyses=looks)
    if (unreached := target.unreached) is not None and not target.keys:
        judgement = Judgement(conclusion=Conclusion.NOT_AFFECTED, notes=(_unreached_note(unreached),))
        return build_report(
            judgement, baseline=replace(baseline, runs=(), choices=()), target=target, settings=settings
        )
    baseline, target, too_few = with_percentiles(baseline, target, config)
    whole_target = target
    baseline, target, others = with_one_time(baseline, target, time=config.time, keep=partial(is_named, config))
    baseline, target, derived = without_derived(baseline, target, keep=partial(is_named, config))
    if derived:
        target = structs.replace(target, notes=(*target.notes, derived_text(derived)))
    doing(f"judging {len(target.benchmarks):,} metrics of benchmarks")
    judgement = judge(
        baseline, target, detector=config.detector, counter_detector=config.counter_detector, settings=config
    )
    if not any(finding.verdict in PROVEN for finding in judgement.findings):
        lacking = runs_note(baseline, target, settings=config, window=config.history.window)
        judgement = replace(judgement, notes=(*judgement.notes, *lacking))
    findings = (with_other_time(over_looks(finding, looks), others) for finding in judgement.findings)
    judgement = replace(judgement, findings=tuple(findings), notes=(*judgement.notes, *time_notes(others)))
    report = build_report(judgement, baseline=baseline, target=target, settings=settings)
    if unreached is not None:  # missing metrics may belong to unreached benchmarks
        report = structs.replace(report, notes=(_unreached_note(unreached), *report.notes), missing=())
    if lost := sum(config.of(key).fails_if_lost for key in (*report.missing, *_failing(report))):
        report = structs.replace(report, notes=(because(Remark.LOST, count=lost), *report.notes))
    percentiles = {note.arguments["percentile"] for note in too_few}
    patterns = (
        one
        for one in _unused_patterns(config, (target, *baseline.runs))
        if one.arguments.get("metric") not in percentiles
    )
    unused = (*too_few, *_unused_detectors(config, target), *patterns)
    groups, budgets = group_means(report.findings, config.groups), checked_budgets(whole_target, config)
    report = structs.replace(report, notes=(*report.notes, *unused), groups=groups, budgets=budgets)
    report = structs.replace(report, failed=report.failed or report.fails)
    if not report.has_nothing_in_common or not (similar := _similar_names(report)):
        return report
    return structs.replace(report, notes=(*report.notes, because(Remark.NAMES_ALIKE, alike=similar)))


def _failing(report: Report) -> list[MetricKey]:
    """Return the metrics whose numbers are those of failures of the target."""
    failing = {one.benchmark for one in report.lost if one.side is FailedSide.TARGET and one.kind in OF_FAILURES}
    return [finding.key for finding in report.findings if finding.key.benchmark in failing]


def _unreached_note(unreached: Unreached) -> Reason:
    if unreached.packages:
        return because(Remark.PARTLY_AFFECTED, packages=unreached.packages)
    sources = unreached.files - unreached.documents
    return because(
        Remark.NOT_AFFECTED,
        documents=unreached.documents or None,
        sources=sources or None,
        changed=unreached.changed or None,
    )


def _unused_detectors(config: Config, target: Run) -> list[Reason]:
    """Return a remark for each detector that the user chose for a kind of metric that was not measured."""
    kinds = (
        ("benchmarks", "detector", BENCHMARK_DETECTORS, target.benchmarks),
        ("counters", "counter_detector", COUNTER_DETECTORS, target.counters),
    )
    used = [(getattr(config, key), registry) for _, key, registry, is_measured in kinds if is_measured]
    return [
        because(Remark.DETECTOR_UNUSED, detector=chosen, kind=kind, used=name, fitting=registry)
        for kind, key, _, is_measured in kinds
        if key in config.model_fields_set and not is_measured
        for chosen, (name, registry) in [(getattr(config, key), used[0])]
        if chosen not in registry
    ]


def _unused_patterns(config: Config, runs: Sequence[Run]) -> list[Reason]:
    """Return a remark for each pattern that matches nothing: a mistyped one would switch its stricter rule off."""
    keys = {key for run in runs for key in run.keys}
    return [
        because(Remark.PATTERN_UNUSED, pattern=entry.match, metric=None if entry.metric == "*" else entry.metric)
        for entry in (*config.benchmarks, *config.budgets)
        if not any(entry.matches(key) for key in keys)
    ]


def with_changed_files(report: Report, where: Path | Iterable[str], *, config: Config) -> Report:
    """Add a note if the benchmarks' own files differ between the commits. `where` lists them or is the repository."""
    codes = {note.code for note in report.notes}
    base, head = report.base_commit, report.merge_commit or report.target_commit
    if isinstance(where, Path):
        try:
            changes = git.file_changes(where, base, head) if base and head else ()
        except BotError:  # downloaded results need no checkout
            return report
        where = [change.path for change in changes if change.blob and change.old_blob]
    files = tuple(path for path in where if config.is_benchmark_file(path))[: TEXT_LIMITS.reason_names]
    if not (files and report.findings) or codes & {Remark.HARNESS_CHANGED, Remark.HARNESS_OF_HEAD}:
        return report
    return structs.replace(report, notes=(*report.notes, because(Remark.HARNESS_CHANGED, files=files)))


def _similar_names(report: Report) -> tuple[str, ...]:
    """Pair each missing benchmark with the new one of the closest name, without what all names begin with, as text.

    If the names are the same, pair metrics.
    """
    missing, new = (keys[: WORK_LIMITS.compared_names] for keys in (report.missing, report.new))
    is_same = bool({key.benchmark for key in missing} & {key.benchmark for key in new})
    before, after = (
        list(dict.fromkeys(f"{key.benchmark} · {key.metric}" if is_same else key.benchmark for key in keys))
        for keys in (missing, new)
    )
    start = sum(1 for _ in takewhile(lambda letters: len(set(letters)) == 1, zip(*before, *after, strict=False)))
    rests = {name[start:]: name for name in after}
    pairs = ((name, get_close_matches(name[start:], rests, n=1)) for name in before)
    return tuple(islice((f"{name} → {rests[close[0]]}" for name, close in pairs if close), TEXT_LIMITS.reason_names))


def flagged(report: Report) -> tuple[str, ...]:
    """Return the benchmarks to measure a second time; all of them if all moved together."""
    if any(note.code is Remark.SUITE_MOVED for note in report.notes):
        return tuple(dict.fromkeys(finding.key.benchmark for finding in report.findings))
    return flagged_benchmarks(report.findings)


def only(run: Run, benchmarks: Collection[str], keys: Collection[MetricKey] | None = None) -> Run:
    """Return the run with only these benchmarks and no counters: a second measurement is about flagged benchmarks.

    `keys`: only these metrics of them.
    """
    matching = tuple(
        benchmark
        for benchmark in run.benchmarks
        if benchmark.name in benchmarks and (keys is None or benchmark.key in keys)
    )
    return structs.replace(run, benchmarks=matching, counters=())


def confirm_report(
    report: Report, *, baseline: Baseline, again: Run, own_baseline: Sequence[Run] = (), config: Config
) -> Report:
    """Return `report` after a second measurement of the target, judged by the same rule.

    Its baseline is `own_baseline`, which was executed in turn with it, or else `baseline` again.
    """
    if own_baseline:
        baseline = replace(baseline, runs=tuple(own_baseline), source=BaselineSource.PAIRED)
    names = flagged(report)
    if not names:
        return report
    # Of two times only the one that was judged.
    keys = {finding.key for finding in report.findings}
    target = only(again, names, keys)
    second: tuple[Finding, ...] = ()
    if target.benchmarks:
        runs = tuple(only(run, names, keys) for run in baseline.runs)
        second = judge_run(replace(baseline, runs=runs), target, config=config).findings
    findings = confirmed(report.findings, second)
    # The remark on the whole suite is obsolete once all flagged benchmarks were measured again.
    is_whole = {finding.benchmark for finding in second} >= set(names)
    notes = tuple(note for note in report.notes if note.code is not Remark.SUITE_MOVED or not is_whole)
    has_moved = any(note.code is Remark.SUITE_MOVED for note in notes)
    suspects = [finding for finding in findings if finding.benchmark in names]
    proven = sum(finding.verdict is Verdict.REGRESSION for finding in suspects)
    still_open = sum(finding.looks_worse for finding in suspects)
    refuted = len(suspects) - proven - still_open
    note = because(Remark.MEASURED_AGAIN, count=len(names), proven=proven, refuted=refuted, open=still_open)
    report = structs.replace(
        report,
        findings=findings,
        conclusion=conclusion_of(findings, suite=SuiteChange(change=0.0, is_suspected=True) if has_moved else None),
        notes=(note, *notes),
    )
    return structs.replace(report, failed=report.fails)


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """A target and its report. `stored_runs` names all runs that the history held at that time."""

    run: Run
    report: Report
    stored_runs: tuple[str, ...] = ()


def collect_run(
    files: Sequence[str],
    *,
    config: Config,
    tool: str = "auto",
    stdin: BinaryIO | None = None,
    commit: str | None = None,
    paired: bool = False,
    is_ci_log: bool = False,
    tell: Callable[[str], None] | None = None,
) -> Run:
    """Read the run in these files. If they were measured here, just now, it gets this machine's environment.

    `paired`: each file is an execution, measured in turn with one of the other side. `is_ci_log`: a CI job printed them
    elsewhere. `tell` gets a summary of what was read.
    """
    heard = None if tell is None else (lambda reads: tell(collected_text(reads)))
    environment = None if is_ci_log else surroundings(Path())
    chosen = replace(reading(config, tool=tool, stdin=stdin), environment=environment, is_ci_log=is_ci_log)
    return (collect_executions if paired else partial(collect, tell=heard))(files, chosen, commit=commit)


def formats_list(name: str) -> str:
    """List the formats that can be read, with an example of how to write each, or those that `name` is part of."""
    readers = [
        reader
        for reader in READERS.values()
        if any(name.casefold() in text.casefold() for text in (reader.id, reader.description, *reader.aliases))
    ]
    if not readers:
        question = did_you_mean(name, READERS) or "list all:"
        raise UsageError(f"no format is called `{shown(name)}`", next_step=f"{question} perf-culprit formats")
    return formats_text((reader.id, reader.description, reader.example) for reader in readers)


def compare_result_files(
    request: Compare,
    *,
    config: Config,
    stdin: BinaryIO | None = None,
    base_commit: str | None = None,
    target_commit: str | None = None,
) -> Report:
    """Compare result files with result files. Only `request.reference` needs git."""
    as_configured = reading(config, tool=request.tool, stdin=stdin)
    side = collect_executions if request.paired else collect_separate
    repository, reference = request.repository or Path(), request.reference
    stands_for = None if reference is None else find_reference(repository, reference, target=target_commit or "HEAD")

    def runs(files: Sequence[str]) -> tuple[Run, ...]:
        """Read one run per file, or for a paired measurement one run with a file per execution."""
        return (side(files, as_configured),) if request.paired else collect_each(files, as_configured)

    return compare_runs(
        side(request.target, as_configured, commit=target_commit),
        baseline=runs(request.baseline),
        source=BaselineSource.PAIRED if request.paired else BaselineSource.FILES,
        config=config,
        base_commit=base_commit,
        reference=stands_for,
        files={Path(file).stem for file in (*request.baseline, *request.target) if Path(file).is_file()},
        **second_measurement(request, as_configured),
    )


class SecondMeasurement(TypedDict):
    """A second measurement of the flagged benchmarks. Its own baseline, if any, was executed in turn with it."""

    confirm: Run | None
    confirm_baseline: tuple[Run, ...]


def second_measurement(request: Compare, as_configured: Reading) -> SecondMeasurement:
    if request.confirm_baseline and not request.confirm:
        raise UsageError("--confirm-baseline without --confirm", next_step="give the target's second results as well")
    in_turn = request.paired or bool(request.confirm_baseline)
    side = collect_executions if in_turn else collect_separate
    return SecondMeasurement(
        confirm=side(request.confirm, as_configured) if request.confirm else None,
        confirm_baseline=(side(request.confirm_baseline, as_configured),) if request.confirm_baseline else (),
    )


def compare_runs(
    run: Run,
    *,
    baseline: Sequence[Run],
    source: BaselineSource,
    config: Config,
    base_commit: str | None = None,
    accepted: Sequence[Acceptance] = (),
    confirm: Run | None = None,
    confirm_baseline: Sequence[Run] = (),
    merge: Merge | None = None,
    reference: ReferenceCommit | None = None,
    files: Collection[str] = frozenset(),
) -> Report:
    """Compare a run with its baseline. `accepted`: the changes between them that somebody accepted.

    `merge`: the run measures GitHub's merge of a pull request. `reference`: the commit of the baseline's measurement.
    `files`: the names of the files of both sides, without their endings.
    """
    runs, run = named_alike(tests_apart(baseline, run), run, files)
    commits = {each.commit for each in runs}
    stated = commits.pop() if len(commits) == 1 else None
    if reference is not None and stated not in (None, reference.commit):
        raise UsageError(
            f"the baseline was measured at {stated[:12]}, {reference.name} is {reference.commit[:12]}",
            place="--reference",
            next_step="name the commit that was measured, or measure this one",
        )
    base_commit = base_commit or stated or (merge.base if merge else None)
    against = Baseline(runs=runs, source=source, base_commit=base_commit, accepted=tuple(accepted))
    report = judge_run(against, run, config=config)
    if confirm is not None:
        again, confirm = named_alike(confirm_baseline or baseline, confirm)
        own = again if confirm_baseline else ()
        report = confirm_report(report, baseline=against, again=confirm, own_baseline=own, config=config)
    return of_ends(report, merge, reference)


def of_ends(report: Report, merge: Merge | None, reference: ReferenceCommit | None) -> Report:
    """Set the report's ends: the reference by its name, or the pull request's head if GitHub's merge was measured."""
    if reference is not None:
        return structs.replace(report, base_commit=reference.commit, reference=reference.name)
    if merge is None or report.target_commit != merge.commit:
        return report
    return structs.replace(report, target_commit=merge.head, merge_commit=merge.commit)
