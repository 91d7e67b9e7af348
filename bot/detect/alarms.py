"""Which alarms of judged trials were wrong: those that did not last."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bot.detect.trials import Judge, JudgedTrial
from bot.model.audit import Rate
from bot.model.finding import Finding, Verdict
from bot.model.metric import MetricKey
from bot.stats.binomial import share_interval

CHANGES: Final = frozenset({Verdict.REGRESSION, Verdict.IMPROVEMENT})


@dataclass(frozen=True, kw_only=True, slots=True)
class Alarms:
    """Of one trial: the findings that called an unchanged metric, how many were right, and how many had an answer.

    `unknown`: alarms of the newest run, which no later run can confirm or refute yet.
    """

    wrong: tuple[Finding, ...] = ()
    lasting: int = 0
    unknown: int = 0
    judged: int = 0


def alarms_of(judged: JudgedTrial, judge: Judge, *, surely_unchanged: bool = False) -> Alarms:
    """An alarm lasts if the following runs, judged against the same baseline, say the same of the metric."""
    called = [entry for entry in judged.findings if entry.verdict in CHANGES]
    answered = sum(_is_answer(entry) for entry in judged.findings)
    if surely_unchanged or not called:
        return Alarms(wrong=tuple(called), judged=answered)
    later = [_verdicts(judge(judged.trial.baseline, run)) for run in judged.trial.following]
    verdicts = {
        entry.evidence.key: [of[entry.evidence.key] for of in later if entry.evidence.key in of] for entry in called
    }
    unknown = [entry for entry in called if not verdicts[entry.evidence.key]]
    wrong = [entry for entry in called if any(verdict is not entry.verdict for verdict in verdicts[entry.evidence.key])]
    lasting = len(called) - len(unknown) - len(wrong)
    return Alarms(wrong=tuple(wrong), lasting=lasting, unknown=len(unknown), judged=answered - lasting - len(unknown))


def wrong_runs(alarms: Sequence[Alarms], *, q_value: float = 1.0) -> Rate:
    """Runs with a wrong alarm, of those of which all is known; only alarms of at most this q-value count."""
    decided = [entry for entry in alarms if entry.wrong or not entry.unknown]
    return rate(sum(any((f.q_value or 0.0) <= q_value for f in entry.wrong) for entry in decided), len(decided))


def wrong_metrics(alarms: Sequence[Alarms]) -> Rate:
    return rate(sum(len(entry.wrong) for entry in alarms), sum(entry.judged for entry in alarms))


def rate(count: int, trials: int) -> Rate:
    low, high = share_interval(count, trials)
    return Rate(count=count, trials=trials, low=low, high=high)


def _verdicts(findings: Sequence[Finding]) -> dict[MetricKey, Verdict]:
    return {entry.evidence.key: entry.verdict for entry in findings}


def _is_answer(finding: Finding) -> bool:
    return finding.evidence.p_value is not None or finding.evidence.score is not None
