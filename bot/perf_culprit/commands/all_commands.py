"""Every command, in the order and sections of the help."""

from collections.abc import Mapping
from typing import Final

from perf_culprit.commands.analysis_requests import Diagnose, Simulate
from perf_culprit.commands.declared import Command
from perf_culprit.commands.history_requests import (
    Accept,
    AuditRuns,
    BuildDashboard,
    FindChanges,
    HistoryAccepted,
    HistoryCompact,
    HistoryCopy,
    HistoryMigrate,
    HistoryStats,
)
from perf_culprit.commands.judge_requests import Collect, Compare, Import, Publish, Record
from perf_culprit.commands.measure_requests import Backfill, Bisect, Measure, MeasureBisectJob, Qualify, Verify
from perf_culprit.commands.setup_requests import Completion, Demo, Doctor, Formats, Init, Mcp, Schema

# The keys are the titles under which the help lists the commands.
SECTIONS: Final[Mapping[str, tuple[type[Command], ...]]] = {
    "start": (Demo, Init, Qualify, Doctor, Formats),
    "every day": (Compare, Measure, Bisect, Diagnose, Verify, FindChanges, BuildDashboard),
    "on CI": (
        Collect,
        Record,
        Publish,
        Accept,
        Backfill,
        AuditRuns,
        HistoryAccepted,
        HistoryStats,
        HistoryCompact,
        HistoryCopy,
        HistoryMigrate,
    ),
    "more": (Import, Simulate, MeasureBisectJob, Mcp, Schema, Completion),
}
COMMANDS: Final = tuple(command for commands in SECTIONS.values() for command in commands)
# The first words of two-word commands.
COMMAND_GROUPS: Final[Mapping[str, str]] = {
    "history": "show the size of the stored history, compact it, copy it, or prepare a database for it"
}
