"""detect -> detect: what was flagged is measured again, and only what both measurements see is reported."""

import json
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Final

from bot.config import Config
from bot.detect.conclusion import conclusion_of, confirmed, flagged_benchmarks
from bot.model.baseline import Baseline
from bot.model.finding import Finding, Level
from bot.model.reason import Remark, because
from bot.model.report import Report
from bot.model.run import Run
from bot.pipeline.judge import judge_run

# In the environment of the command that measures again: the benchmarks, one per line.
BENCHMARKS_VARIABLE: Final = "PERF_CULPRIT_BENCHMARKS"

_INERT: Final = " _-./:,=[]"


def flagged(report: Report) -> tuple[str, ...]:
    """The benchmarks that a second measurement should look at."""
    return flagged_benchmarks(report.findings)


def flagged_json(reports: Iterable[Report]) -> str:
    """The action's output: a JSON list whose text is no command wherever a workflow may paste it by mistake."""

    def inert(name: str) -> str:
        return "".join(
            character if character.isascii() and (character.isalnum() or character in _INERT) else _escaped(character)
            for character in name
        )

    return "[" + ",".join(f'"{inert(name)}"' for report in reports for name in flagged(report)) + "]"


def _escaped(character: str) -> str:
    return json.dumps(character)[1:-1] if not character.isascii() else f"\\u{ord(character):04x}"


def only(run: Run, benchmarks: Collection[str]) -> Run:
    """The run without all other benchmarks, and without counters: a second measurement is about the flagged ones."""
    kept = tuple(benchmark for benchmark in run.benchmarks if benchmark.name in benchmarks)
    return replace(run, benchmarks=kept, counters=())


def confirm_report(report: Report, *, baseline: Baseline, again: Run, config: Config) -> Report:
    """`report` after a second measurement of the target, judged against `baseline` by the same rule."""
    names = flagged(report)
    target = only(again, names)
    if not names:
        return report
    second: tuple[Finding, ...] = ()
    if target.benchmarks:
        runs = tuple(only(run, names) for run in baseline.runs)
        second = judge_run(replace(baseline, runs=runs), target, config=config).findings
    findings = confirmed(report.findings, second)
    left = len(flagged(replace(report, findings=findings)))
    note = because(Remark.MEASURED_AGAIN, count=len(names), unconfirmed=len(names) - left)
    return replace(
        report,
        findings=findings,
        conclusion=conclusion_of(findings),
        failed=any(finding.level is Level.FAIL for finding in findings),
        notes=(note, *report.notes),
    )
