"""The function of each command."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from perf_culprit.cli import analysis_commands, history_commands, judge_commands, measure_commands, setup_commands
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

# Each function takes its command.
VERBS: Final[Mapping[type[Command], Callable[[Any], int]]] = {
    Init: setup_commands.init,
    Doctor: setup_commands.doctor,
    Collect: judge_commands.collect,
    Compare: judge_commands.compare,
    Record: judge_commands.record,
    Import: judge_commands.import_runs,
    Publish: judge_commands.publish_report,
    Accept: history_commands.accept_level,
    HistoryAccepted: history_commands.accepted,
    HistoryStats: history_commands.stats,
    HistoryCompact: history_commands.run_compaction,
    HistoryCopy: history_commands.copy,
    HistoryMigrate: history_commands.migrate_history,
    Measure: measure_commands.measure,
    Verify: measure_commands.verify,
    Qualify: measure_commands.qualify,
    Backfill: measure_commands.backfill,
    Bisect: measure_commands.bisect,
    MeasureBisectJob: measure_commands.bisect_job,
    AuditRuns: history_commands.print_audit,
    FindChanges: history_commands.changes,
    BuildDashboard: history_commands.dashboard,
    Diagnose: analysis_commands.diagnose,
    Simulate: analysis_commands.simulate,
    Mcp: setup_commands.mcp,
    Demo: setup_commands.demo,
    Formats: setup_commands.formats,
    Schema: setup_commands.print_schema,
    Completion: setup_commands.completion,
}
