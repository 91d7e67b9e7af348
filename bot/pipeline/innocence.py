"""A step against the stored runs that the base, measured now, shows as well: not this commit's doing."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from bot.config import Config
from bot.errors import BotError
from bot.history import choose_baseline
from bot.history.opening import HistoryPlace, code_remote, open_history
from bot.model.baseline import Baseline
from bot.model.environment import EnvironmentChange
from bot.model.finding import Verdict
from bot.model.metric import MetricKey
from bot.model.reason import Reason, VerdictReason, because
from bot.model.report import Report
from bot.model.run import Run
from bot.pipeline.judge import judge_run
from bot.report.surroundings import change_words

SHOWN_CHANGES: Final = 10


def with_innocence(report: Report, run: Run, *, base: Run, config: Config, place: HistoryPlace) -> Report:
    """`report` of `run` beside `base`, measured in one job. A history that cannot be read explains nothing."""
    try:
        stored = _stored(run, config=config, place=place)
    except BotError:
        return report
    if not stored.runs:
        return report
    here = base.environment if base.environment.components else run.environment
    changes = stored.runs[-1].environment.changes_to(here)
    if not changes:
        return report
    stepped = _worse(stored, run, config) & _worse(stored, base, config)
    reason = environment_changed(changes)
    findings = tuple(
        replace(finding, reason=reason)
        if finding.evidence.key in stepped and finding.verdict is Verdict.NO_CHANGE and finding.is_decided
        else finding
        for finding in report.findings
    )
    if findings == report.findings:
        return report
    return replace(report, findings=findings, environment_changes=(*changes, *report.environment_changes))


def _stored(run: Run, *, config: Config, place: HistoryPlace) -> Baseline:
    with open_history(config.history, place.repository, url=place.url, token=place.token) as history:
        return choose_baseline(
            history,
            place.repository,
            target=run,
            base=None,
            window=config.history.window,
            remote=code_remote(place),
            accepted=history.accepted(run.suite),
        )


def _worse(stored: Baseline, run: Run, config: Config) -> frozenset[MetricKey]:
    findings = judge_run(stored, run, config=config).findings
    return frozenset(finding.evidence.key for finding in findings if finding.verdict is Verdict.REGRESSION)


def environment_changed(changes: Sequence[EnvironmentChange]) -> Reason:
    words = tuple(change_words(change) for change in changes[:SHOWN_CHANGES])
    return because(VerdictReason.ENVIRONMENT_CHANGED, changes=words)
