"""Profiles and traces of one revision -> suspects, and what of the files was not used."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.diagnose import RankingSettings
from bot.diagnose.profiles import diagnosis, read_profiles
from bot.model.call_tree import Diagnosis
from bot.report.diagnosis import RECORD_FAULTS
from bot.report.inert import plain


@dataclass(frozen=True, kw_only=True, slots=True)
class ProfilePlan:
    """`format`: an id of PROFILE_READERS or `auto`. `trusted`: the files come from no stranger."""

    profiles: Sequence[str]
    format: str = "auto"
    trusted: bool = False
    fluctuation_weight: float = 1.0
    minimum_self_ms: float | None = None


def diagnose_profiles(plan: ProfilePlan) -> tuple[Diagnosis, tuple[str, ...]]:
    """The diagnosis, and remarks for the user: what the numbers mean, what was not used and why."""
    reading = read_profiles(plan.profiles, format=plan.format, trusted=plan.trusted)
    ranking = RankingSettings(fluctuation_weight=plan.fluctuation_weight, minimum_self_ms=plan.minimum_self_ms)
    unused = [f"{count:,} not used: {RECORD_FAULTS[fault]}" for fault, count in reading.unused]
    examples = [f"{example.place}: {example.text}" for example in reading.examples]
    remarks = [plain(text, limit=300) for text in (*reading.notes, *unused, *examples)]
    return diagnosis.diagnose_profiles(reading, ranking), tuple(remarks)
