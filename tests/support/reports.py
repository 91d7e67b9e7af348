"""Reports to render: one for each conclusion, with realistic numbers."""

from msgspec.structs import replace

from perf_culprit.model.finding import (
    BaselineSource,
    Evidence,
    Finding,
    Interval,
    Level,
    Precision,
    RunChoice,
    Severity,
    Side,
    Verdict,
)
from perf_culprit.model.reason import BaselineReason, Reason, Remark, Untested, VerdictReason, because, remark
from perf_culprit.model.report import Conclusion, Report, Settings
from perf_culprit.model.run import Cost, Direction, Environment, Metric, MetricKey

BASE_COMMIT = "9f8e7d6c5b4a39281706f5e4d3c2b1a098765432"
HEAD_COMMIT = "a1b2c3d4e5f60718293a4b5c6d7e8f9012345678"

TIME_MS = Metric(name="time", unit="ms", direction=Direction.LOWER_IS_BETTER)
TIME_NS = Metric(name="time", unit="ns", direction=Direction.LOWER_IS_BETTER)
MEMORY = Metric(name="peak memory", unit="B", direction=Direction.LOWER_IS_BETTER)
THROUGHPUT = Metric(name="throughput", unit="ops/s", direction=Direction.HIGHER_IS_BETTER)
ALLOCATIONS = Metric(name="allocations", unit="allocs/op", direction=Direction.LOWER_IS_BETTER)

SETTINGS = Settings(detector="anova", proven=0.01, suspected=0.1, minimum_effect=0.05, fail=0.2)


def side(mean: float, *, count: int = 30, spread: float = 0.02, runs: int = 1) -> Side:
    return Side(value=mean, mean=mean, median=mean, standard_deviation=abs(mean) * spread, count=count, runs=runs)


def finding(
    benchmark: str,
    before: float,
    after: float,
    *,
    verdict: Verdict = Verdict.UNCHANGED,
    metric: Metric = TIME_MS,
    half_width: float | None = 0.0175,
    rate: float | None = 0.4,
    test: str = "anova",
    count: int = 30,
    spread: float = 0.02,
    runs: int = 12,
    reason: Reason | str = "",
    notes: tuple[Reason | str, ...] = (),
    severity: Severity | None = None,
    level: Level = Level.NOTE,
    detectable: float | None = None,
    category: str | None = None,
    category_now: str | None = None,
    series: tuple[float, ...] = (),
) -> Finding:
    """Make a finding. Text for `reason` and `notes` is kept unchanged, as in a report of another version."""
    change = (after - before) / before if before else None
    text = remark(reason) if isinstance(reason, str) else reason
    return Finding.judged(
        evidence=Evidence.of(
            key=MetricKey(benchmark, metric.name),
            metric=metric,
            test=test,
            baseline=side(before, count=count, spread=spread, runs=runs),
            target=side(after, count=count, spread=spread),
            relative_change=change,
            confidence_interval=None
            if change is None or half_width is None
            else Interval(low=change - half_width, high=change + half_width, level=0.95),
            p_value=rate,
            rate=rate,
            evidence_reason=text if reason else None,
            notes=tuple(remark(note) if isinstance(note, str) else note for note in notes),
        ),
        verdict=verdict,
        reason=text if reason else because(VerdictReason.EXCLUDED, effect=0.05),
        severity=severity,
        level=level,
        detectable_effect=detectable,
        minimum_effect=0.05,
        category=category,
        category_now=category_now,
        series=series,
    )


SLOWER = (
    finding(
        "parse_large",
        12.1,
        16.77,
        verdict=Verdict.REGRESSION,
        rate=1e-9,
        severity=Severity.MAJOR,
        level=Level.FAIL,
        category="fast",
        category_now="medium",
        series=(12.0, 12.1, 12.2, 12.1, 12.0, 12.3, 12.1, 16.77),
    ),
    finding(
        "parse_small",
        0.31,
        0.3413,
        verdict=Verdict.REGRESSION,
        rate=0.0004,
        severity=Severity.MINOR,
        level=Level.WARN,
        series=(0.309, 0.315, 0.31, 0.308, 0.312, 0.31, 0.311, 0.3413),
    ),
)
FASTER = (
    finding(
        "render_page",
        48.2,
        41.5,
        verdict=Verdict.IMPROVEMENT,
        rate=0.00002,
        series=(48.0, 48.4, 48.1, 48.2, 48.3, 41.5),
    ),
)
NOISY = (
    finding(
        "fetch_remote",
        210.0,
        236.0,
        verdict=Verdict.SUSPECTED,
        half_width=0.19,
        rate=0.08,
        spread=0.18,
        reason=because(VerdictReason.SUSPECTED, rate=0.08),
    ),
    finding(
        "startup",
        95.0,
        106.0,
        verdict=Verdict.SUSPECTED,
        half_width=0.12,
        rate=0.09,
        spread=0.11,
        reason=because(VerdictReason.SUSPECTED, rate=0.09),
    ),
)
UNCHANGED = tuple(
    finding(f"encode[{size}]", size * 0.0125, size * 0.01252, rate=0.7, detectable=0.05)
    for size in (8, 64, 512, 4096, 32768)
)
# Nothing was seen in it, and little would have been.
WEAK = finding(
    "fetch_remote",
    210.0,
    236.0,
    half_width=0.19,
    rate=0.4,
    spread=0.18,
    detectable=0.338,
    verdict=Verdict.NOT_SEEN,
    reason=because(VerdictReason.NOTHING_SEEN, effect=0.338),
)
NOT_SEEN = tuple(
    finding(
        name,
        80.0,
        82.0,
        half_width=0.07,
        detectable=effect,
        verdict=Verdict.NOT_SEEN,
        reason=because(VerdictReason.NOTHING_SEEN, effect=effect),
    )
    for name, effect in (("list_files", 0.09), ("read_index", 0.12), ("write_index", 0.11))
)
BLIND = tuple(
    finding(
        name,
        4.0,
        after,
        verdict=Verdict.UNTESTED,
        half_width=None,
        count=2,
        rate=0.6,
        runs=1,
        reason=because(VerdictReason.BLIND),
    )
    for name, after in (("warm_up", 4.4), ("cold_start", 5.64))
)
UNTESTED = BLIND[0]
DIFFERING = tuple(
    replace(
        finding(
            name,
            before,
            after,
            verdict=Verdict.DIFFERS,
            half_width=0.9,
            count=8,
            rate=0.9,
            runs=1,
            reason=because(VerdictReason.DIFFERS, quiet=1, shared=4),
        ),
        differs=True,
    )
    for name, before, after in (("parse_large", 12.1, 15.8), ("parse_small", 0.31, 0.41), ("render_page", 48.2, 62.5))
)
# Its own code differs between base and head.
CHANGED_BENCHMARK = replace(
    finding(
        "parse_large",
        12.1,
        31.0,
        verdict=Verdict.UNTESTED,
        half_width=None,
        rate=None,
        test="none",
        reason=because(Untested.BENCHMARK_CHANGED, before="41f0c2a97be3", now="d05b3c118e6a"),
    ),
    relative_change=None,
    notes=(),
)
CHOICES = (
    RunChoice(
        commit=BASE_COMMIT, time="2026-03-02T10:11:12Z", chosen=True, reason=because(BaselineReason.AT_MERGE_BASE)
    ),
    RunChoice(
        commit="0123456789abcdef0123456789abcdef01234567",
        time="2026-03-01T08:00:00Z",
        chosen=False,
        reason=because(
            BaselineReason.OTHER_HARDWARE,
            there="Intel(R) Xeon(R) Platinum 8370C",
            here="AMD EPYC 7763",
            component="cpu",
        ),
    ),
)


def withdrawn(item: Finding) -> Finding:
    """Return the finding as the policy changes it when the machine may explain the change."""
    return replace(item, verdict=Verdict.UNTESTED, reason=because(VerdictReason.BLIND), severity=None, level=Level.NOTE)


def report(conclusion: Conclusion, *findings: Finding) -> Report:
    return Report(
        conclusion=conclusion,
        findings=findings,
        settings=SETTINGS,
        target_commit=HEAD_COMMIT,
        base_commit=BASE_COMMIT,
        baseline_source=BaselineSource.HISTORY,
        baseline_runs=12,
        choices=CHOICES,
        environment=Environment(
            components={"cpu": "AMD EPYC 7763", "runner_image": "ubuntu-24.04", "os": "Linux", "python": "3.13.5"}
        ),
        detectable_effect=max((item.detectable_effect or 0.0 for item in findings), default=0.0) or None,
    )


def every_conclusion() -> dict[str, Report]:
    """Return a report of each conclusion, by golden file's name."""
    regression = report(Conclusion.REGRESSION, *SLOWER, *FASTER, *NOISY, *UNCHANGED)
    mixed = (
        finding(
            "decode",
            3.2e7,
            4.1e7,
            metric=MEMORY,
            verdict=Verdict.REGRESSION,
            rate=0.003,
            severity=Severity.MINOR,
            level=Level.WARN,
        ),
        finding(
            "decode",
            182_000.0,
            151_000.0,
            metric=THROUGHPUT,
            verdict=Verdict.REGRESSION,
            level=Level.WARN,
            rate=0.007,
        ),
        finding(
            "decode",
            12.0,
            14.0,
            metric=ALLOCATIONS,
            verdict=Verdict.REGRESSION,
            level=Level.WARN,
            test="exact",
            half_width=None,
        ),
        finding("decode", 5400.0, 5420.0, metric=TIME_NS),
    )
    return {
        "regression-fails": replace(
            regression,
            failed=True,
            missing=(MetricKey("legacy_export", "time"),),
            new=(MetricKey("encode_v2", "time"), MetricKey("decode_v2", "time")),
            notes=(because(Remark.CATEGORY_ASSIGNED, category="medium", count=3),),
        ),
        "regression-warns": report(Conclusion.REGRESSION, SLOWER[1], *UNCHANGED),
        "regression-several-metrics": replace(
            report(Conclusion.REGRESSION, *(replace(item, precision=Precision(rounds=5)) for item in mixed)),
            suite="codec",
            baseline_source=BaselineSource.PAIRED,
            baseline_runs=1,
            cost=Cost(22, 130),
        ),
        "improvement": report(Conclusion.IMPROVEMENT, *FASTER, *UNCHANGED),
        "no-change": report(Conclusion.NO_CHANGE, *UNCHANGED),
        "nothing-seen": report(Conclusion.NO_CHANGE, *UNCHANGED, *NOT_SEEN, WEAK, UNTESTED),
        "suspected": report(Conclusion.SUSPECTED, *NOISY, *UNCHANGED),
        "cannot-tell": replace(
            report(Conclusion.INCONCLUSIVE, *BLIND), baseline_runs=1, notes=(because(Remark.LONE_BASELINE),)
        ),
        "differs": replace(
            report(Conclusion.INCONCLUSIVE, *DIFFERING),
            baseline_source=BaselineSource.FILES,
            baseline_runs=1,
            notes=(because(Remark.LONE_BASELINE),),
        ),
        "benchmark-changed": replace(
            report(Conclusion.NOT_COMPARABLE, CHANGED_BENCHMARK, *FASTER, *UNCHANGED, *NOT_SEEN),
            notes=(because(Remark.HARNESS_CHANGED, files=("benchmarks/test_parse.py",)),),
        ),
        "first-run": replace(
            report(Conclusion.FIRST_RUN),
            new=tuple(item.key for item in UNCHANGED),
            base_commit=None,
            baseline_runs=0,
            choices=(),
            detectable_effect=None,
        ),
        "not-affected": replace(
            report(Conclusion.NOT_AFFECTED),
            baseline_runs=0,
            choices=(),
            detectable_effect=None,
            notes=(
                because(Remark.NOT_AFFECTED, documents=1, sources=3, changed=("crates/cli/src", "crates/cli/tests")),
            ),
        ),
        "other-hardware": replace(
            report(Conclusion.OTHER_HARDWARE, *(withdrawn(item) for item in (*SLOWER, *UNCHANGED))),
            notes=(
                because(
                    VerdictReason.OTHER_HARDWARE,
                    component="cpu",
                    here="AMD EPYC 7763",
                    there="Intel(R) Xeon(R) Platinum 8370C",
                ),
            ),
        ),
        "suite-moved": replace(
            report(Conclusion.SUSPECTED, *UNCHANGED, WEAK), notes=(because(Remark.SUITE_MOVED, change=0.112),)
        ),
    }
