"""Artifacts in any known format become a run."""

# mypy: implicit-reexport

from bot.collect.archive import read_archive
from bot.collect.collect import (
    Reading,
    collect,
    collect_each,
    collect_executions,
    collect_history,
    collect_separate,
    collect_sources,
)
from bot.collect.executions import join_executions
from bot.collect.machine import machine_environment, surroundings
from bot.collect.packages import ecosystem_of, packages
from bot.collect.plain import named_alike
from bot.collect.registry import ALIASES, AUTO, PARSERS
from bot.collect.source import Source, read_file
