"""The stages in order, nothing else: the only importer of all of them. One module per part of the way."""

from bot.model.bisection import Engine
from bot.pipeline.audit import audit_as_json, audit_files, audit_history, audit_svg, audit_text
from bot.pipeline.bisect import BisectPlan, bisect, bisection_plan, state_file
from bot.pipeline.compare import (
    Compared,
    collect_as_json,
    collect_run,
    compare_files,
    compare_run_with_files,
    compare_run_with_history,
    compare_with_history,
)
from bot.pipeline.measure import Measured, MeasurePlan, commands, measure_commits
from bot.pipeline.publish import (
    Destination,
    comment,
    complete_check,
    connect,
    fetch_results,
    fetch_run,
    open_check,
    publish_file,
)
from bot.pipeline.record import record_files, record_run
from bot.pipeline.render import (
    bisection_json,
    bisection_markdown,
    bisection_text,
    headline,
    preview_html,
    report_json,
    report_markdown,
    report_outputs,
    report_summary,
    report_text,
    schema,
)

__all__ = [
    "BisectPlan",
    "Compared",
    "Destination",
    "Engine",
    "MeasurePlan",
    "Measured",
    "audit_as_json",
    "audit_files",
    "audit_history",
    "audit_svg",
    "audit_text",
    "bisect",
    "bisection_json",
    "bisection_markdown",
    "bisection_plan",
    "bisection_text",
    "collect_as_json",
    "collect_run",
    "commands",
    "comment",
    "compare_files",
    "compare_run_with_files",
    "compare_run_with_history",
    "compare_with_history",
    "complete_check",
    "connect",
    "fetch_results",
    "fetch_run",
    "headline",
    "measure_commits",
    "open_check",
    "preview_html",
    "publish_file",
    "record_files",
    "record_run",
    "report_json",
    "report_markdown",
    "report_outputs",
    "report_summary",
    "report_text",
    "schema",
    "state_file",
]
