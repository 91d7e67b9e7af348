"""Execution logs to call trees, suspects and impacted services (docs/diagnosis.md)."""

from bot.diagnose.diagnose import call_trees, diagnose_log
from bot.diagnose.log import ReadLog, read_log
from bot.diagnose.part import Part, analyse, finish, merge
from bot.diagnose.pattern import LinePattern, compile_pattern, load_pattern
from bot.diagnose.presets import PRESETS
from bot.diagnose.ranking import distance_score, rank_suspects
from bot.diagnose.settings import RankingSettings, ReadingSettings
