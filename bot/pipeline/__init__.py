"""The stages in order, nothing else: the only importer of all of them. One module per part of the way."""

from bot.model.bisection import Engine, Sought
from bot.pipeline.accept import Accepted, accept, accept_here
from bot.pipeline.audit import audit_as_json, audit_files, audit_history, audit_runs, audit_svg, audit_text
from bot.pipeline.bisect import BisectPlan, bisect, state_file
from bot.pipeline.bisect_advance import advance_bisection
from bot.pipeline.bisect_controller import Controller, Dispatcher
from bot.pipeline.bisect_ends import Ends, bisection_ends
from bot.pipeline.bisect_facts import Prior
from bot.pipeline.bisect_github import open_controller
from bot.pipeline.bisect_job import BisectJobDone, BisectJobPlan, bisect_job, run_commands
from bot.pipeline.bisect_plan import bisection_plan
from bot.pipeline.bisect_start import DispatchPlan, start_bisection
from bot.pipeline.bisect_stop import stop_bisection
from bot.pipeline.changes import Changes, changes_in_file, changes_in_history, changes_json, changes_text
from bot.pipeline.compare import (
    Compared,
    collect_as_json,
    collect_run,
    compare_files,
    compare_run_with_history,
    compare_with_history,
    formats_list,
)
from bot.pipeline.confirm import flagged, flagged_json
from bot.pipeline.counting import counting_commands
from bot.pipeline.diagnose import DiagnosisPlan, diagnose, diagnosis_json, diagnosis_text
from bot.pipeline.diagnose_revisions import with_diagnosis
from bot.pipeline.event import BaselineOrigin, EventEnds, Merge, event_ends, merge_of
from bot.pipeline.job_results import JobResults, collect_baseline, compare_results, judge_anew, result_files
from bot.pipeline.measure import Measured, MeasurePlan, commands, measure_commits
from bot.pipeline.publish import (
    Destination,
    StoredResult,
    comment,
    complete_check,
    connect,
    fail_check,
    fetch_results,
    fetch_run,
    joint_comment,
    mark_unmeasured,
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
    unmeasured_text,
    unpublished_text,
)
from bot.pipeline.tracking import carried_acceptances, settle_acceptances, stored_acceptances, track_regressions

__all__ = [
    "Accepted",
    "BaselineOrigin",
    "BisectJobDone",
    "BisectJobPlan",
    "BisectPlan",
    "Changes",
    "Compared",
    "Controller",
    "Destination",
    "DiagnosisPlan",
    "DispatchPlan",
    "Dispatcher",
    "Ends",
    "Engine",
    "EventEnds",
    "JobResults",
    "MeasurePlan",
    "Measured",
    "Merge",
    "Prior",
    "Sought",
    "StoredResult",
    "accept",
    "accept_here",
    "advance_bisection",
    "audit_as_json",
    "audit_files",
    "audit_history",
    "audit_runs",
    "audit_svg",
    "audit_text",
    "bisect",
    "bisect_job",
    "bisection_ends",
    "bisection_json",
    "bisection_markdown",
    "bisection_plan",
    "bisection_text",
    "carried_acceptances",
    "changes_in_file",
    "changes_in_history",
    "changes_json",
    "changes_text",
    "collect_as_json",
    "collect_baseline",
    "collect_run",
    "commands",
    "comment",
    "compare_files",
    "compare_results",
    "compare_run_with_history",
    "compare_with_history",
    "complete_check",
    "connect",
    "counting_commands",
    "diagnose",
    "diagnosis_json",
    "diagnosis_text",
    "event_ends",
    "fail_check",
    "fetch_results",
    "fetch_run",
    "flagged",
    "flagged_json",
    "formats_list",
    "headline",
    "joint_comment",
    "judge_anew",
    "mark_unmeasured",
    "measure_commits",
    "merge_of",
    "open_check",
    "open_controller",
    "preview_html",
    "publish_file",
    "record_files",
    "record_run",
    "report_json",
    "report_markdown",
    "report_outputs",
    "report_summary",
    "report_text",
    "result_files",
    "run_commands",
    "schema",
    "settle_acceptances",
    "start_bisection",
    "state_file",
    "stop_bisection",
    "stored_acceptances",
    "track_regressions",
    "unmeasured_text",
    "unpublished_text",
    "with_diagnosis",
]
