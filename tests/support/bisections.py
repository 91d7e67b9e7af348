"""A bisection's answer with something in every field."""

from msgspec.structs import replace

from perf_culprit.model.bisection import (
    BisectionReport,
    CommitFacts,
    CommitRange,
    Culprit,
    CulpritDiagnosis,
    MeasuredCommit,
    Noise,
    Outcome,
    OutcomeKind,
    SearchSettings,
)
from perf_culprit.model.call_tree import Certainty
from perf_culprit.model.finding import Interval
from perf_culprit.model.reason import remark
from perf_culprit.model.report import ChangeCause, ComparedSuspect, NodeAmount, ScoreParts, SuspectReason, TouchedCode
from perf_culprit.model.run import Direction, Metric, MetricKey

GOOD, FIRST, SECOND, BAD = ("a" * 40, "b" * 40, "c" * 40, "d" * 40)
RANGE = CommitRange(good=GOOD, bad=BAD, commits=(FIRST, SECOND, BAD), parents=((), (0,), (1,)))
FOLDED = ComparedSuspect(
    method="fold_accents",
    score=0.8,
    parts=ScoreParts(own_time=0.8, origin=0.0, branch=0.0, slowdown=0.8, touched=1.0),
    reasons=(SuspectReason.ADDED, SuspectReason.TOUCHED),
    service="profile",
    unit="instructions",
    path=("search", "fold_accents"),
    target=NodeAmount(elapsed=48_320.0, self_time=48_320.0, calls=40.0),
    touched=TouchedCode(file="shop/fold.c", name="fold_accents", certainty=Certainty.QUALIFIED_NAME, first_line=12),
)
SEARCHED = replace(
    FOLDED,
    method="search",
    parts=replace(FOLDED.parts, own_time=0.15),
    baseline=NodeAmount(elapsed=80_000.0, self_time=71_000.0, calls=8.0),
    target=NodeAmount(elapsed=137_380.0, self_time=80_060.0, calls=8.0),
    path=("main", "search"),
    cause=ChangeCause.TIME_PER_CALL,
    touched=None,
)

REPORT = BisectionReport(
    outcome=Outcome(
        kind=OutcomeKind.CULPRIT,
        unresolved=0.04,
        culprits=(
            Culprit(
                commit=SECOND,
                posterior=0.994,
                relative_change=0.604,
                confidence_interval=Interval(low=0.55, high=0.66, level=0.95),
                log_bayes_factor=9.5,
            ),
        ),
        relative_change=0.61,
        confidence_interval=Interval(low=0.56, high=0.66, level=0.95),
        executions=57,
        rounds=16,
        noise=Noise(standard_deviation=0.031, autocorrelation=0.28, mode_ratio=1.52, slow_share=0.6),
        skipped={FIRST: "the build ended with exit code 2"},
        notes=(remark("The machine has a fast and a slow state."),),
    ),
    commit_range=RANGE,
    settings=SearchSettings(seed=3),
    key=MetricKey("parse", "time"),
    metric=Metric(name="time", unit="s", direction=Direction.LOWER_IS_BETTER),
    measured=(
        MeasuredCommit(commit=GOOD, executions=16, relative_change=0.0),
        MeasuredCommit(commit=FIRST, executions=1, failures=("the build ended with exit code 2",)),
        MeasuredCommit(
            commit=SECOND,
            executions=14,
            relative_change=0.6,
            confidence_interval=Interval(low=0.55, high=0.65, level=0.95),
        ),
        MeasuredCommit(
            commit=BAD,
            executions=16,
            relative_change=0.61,
            confidence_interval=Interval(low=0.56, high=0.66, level=0.95),
        ),
    ),
    subjects={SECOND: "Fold accents, so that café finds cafe", BAD: "Mention accents"},
    diagnosis=CulpritDiagnosis(commit=SECOND, counted=(FOLDED, SEARCHED)),
    facts={SECOND: CommitFacts(author="Zoë Q", date="2026-03-02T10:00:00+01:00", files=2, insertions=41, deletions=3)},
    repository_url="https://github.com/acme/words",
    command="perf-culprit bisect --good aaa --bad ddd --run 'python bench.py'",
)
