"""Execution logs of one revision -> suspects and impacted services."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.model.call_tree import Diagnosis


@dataclass(frozen=True, kw_only=True, slots=True)
class DiagnosisPlan:
    """`pattern`: a preset's name or a file. `minimum_self_ms`: None for a share of the mean response time."""

    logs: Sequence[str]
    pattern: str
    fluctuation_weight: float = 1.0
    minimum_self_ms: float | None = None
    window_s: float = 60.0
    workers: int = 2


def diagnose(plan: DiagnosisPlan) -> Diagnosis:
    from bot.diagnose import RankingSettings, ReadingSettings, diagnose_log, load_pattern

    return diagnose_log(
        plan.logs,
        pattern=load_pattern(plan.pattern),
        reading=ReadingSettings(window_s=plan.window_s),
        ranking=RankingSettings(fluctuation_weight=plan.fluctuation_weight, minimum_self_ms=plan.minimum_self_ms),
        workers=plan.workers,
    )


def diagnosis_text(diagnosis: Diagnosis, *, top: int) -> str:
    from bot.report.diagnosis import diagnosis_text

    return diagnosis_text(diagnosis, top=top)


def diagnosis_json(diagnosis: Diagnosis) -> bytes:
    from bot.report.diagnosis import diagnosis_json

    return diagnosis_json(diagnosis)
