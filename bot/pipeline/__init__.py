"""The stages in order, nothing else: the only importer of all of them. One module per command."""

from typing import TYPE_CHECKING

from bot.lazy import front_door

if TYPE_CHECKING:
    from bot.codec.diagnosis import encode_diagnosis as diagnosis_json
    from bot.codec.releases import encode_releases
    from bot.codec.run import encode_run as run_json
    from bot.codec.simulation import encode_simulation as simulation_json
    from bot.codec.tree_comparison import encode_tree_comparison as tree_comparison_json
    from bot.dispatch.tracing import TracePlan
    from bot.model.simulation import SimulationReport
    from bot.pipeline.acceptance import Accepted, accept, accept_here
    from bot.pipeline.audit import audit_files, audit_history, audit_runs
    from bot.pipeline.backfill import Backfilled, BackfillPlan
    from bot.pipeline.backfill import backfill as backfill_history
    from bot.pipeline.bisection import bisect, bisection_json, git_run
    from bot.pipeline.causes import report_search
    from bot.pipeline.changes import (
        Changes,
        changes_in_file,
        changes_in_history,
        releases_in_files,
        releases_in_history,
    )
    from bot.pipeline.commands import counting_commands, profiling, shell_commands
    from bot.pipeline.compare import (
        Compared,
        FilesComparison,
        HistoryComparison,
        collect_run,
        compare_files,
        compare_run_with_history,
        compare_with_history,
        formats_list,
    )
    from bot.pipeline.confirm import flagged, flagged_json
    from bot.pipeline.dashboard import BuiltDashboard, DashboardPlan, build_dashboard, plotting_library
    from bot.pipeline.databases import compact_history, copy_between, history_size, migrate_database
    from bot.pipeline.diagnosis import DiagnosisPlan, ProfilePlan, diagnose, diagnose_profiles
    from bot.pipeline.doctor import checkup, recording_permissions
    from bot.pipeline.event import BaselineOrigin, EventEnds, Merge, event_ends, merge_of
    from bot.pipeline.job_results import JobResults, collect_baseline, compare_results, judge_anew, result_files
    from bot.pipeline.measure import Measured, MeasurePlan, foreseen, measure_commits
    from bot.pipeline.pages import report_html
    from bot.pipeline.prediction import predict
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
        leave_check_open,
        mark_outdated,
        open_check,
        publish_file,
        published_results,
    )
    from bot.pipeline.record import HistoryImport, import_history, record_files, record_run
    from bot.pipeline.render import headline, report_json, report_markdown, report_summary
    from bot.pipeline.revisions import RevisionsPlan, diagnose_revisions, flame_graph, with_diagnosis
    from bot.pipeline.saved import saved_report, stored_benchmarks
    from bot.pipeline.schemas import schema
    from bot.pipeline.settings import with_detector
    from bot.pipeline.simulate import (
        SimulationPlan,
        calibrate_design,
        compare_designs,
        counters_json,
        samples_json,
        saturate_design,
        simulate_design,
        sweep_design,
    )
    from bot.pipeline.tracking import carried_acceptances, settle_acceptances, stored_acceptances, track_regressions
    from bot.report.audit import audit_json
    from bot.report.audit import render_audit as audit_text
    from bot.report.audit_plot import render_audit_svg as audit_svg
    from bot.report.bisection import bisection_markdown, bisection_text, commit_pages
    from bot.report.bisection_plot import bisection_svg
    from bot.report.changes import changes_json, changes_text
    from bot.report.collected import imported_text
    from bot.report.diagnosis import diagnosis_text
    from bot.report.foresight import foresight_text
    from bot.report.git_bisect import bisection_log
    from bot.report.history_size import compacted_text, history_size_text
    from bot.report.html import releases_page
    from bot.report.inert import plain
    from bot.report.outputs import outputs as report_outputs
    from bot.report.releases import releases_text
    from bot.report.simulation import simulation_html, simulation_text
    from bot.report.text import render_text as report_text
    from bot.report.tree_comparison import tree_comparison_text
    from bot.report.unmeasured import Lack, unmeasured_text, unpublished_text
    from bot.report.words import counted, took
else:
    __getattr__ = front_door(__name__)
