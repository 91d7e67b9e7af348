"""The stages in order, nothing else: the only importer of all of them. One module per command."""

from typing import TYPE_CHECKING

from bot.lazy import front_door

if TYPE_CHECKING:
    from bot.pipeline.acceptance import Accepted, accept, accept_here
    from bot.pipeline.audit import audit_as_json, audit_files, audit_history, audit_runs, audit_svg, audit_text
    from bot.pipeline.bisection import bisect
    from bot.pipeline.changes import Changes, changes_in_file, changes_in_history, changes_json, changes_text
    from bot.pipeline.commands import counting_commands, shell_commands
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
    from bot.pipeline.diagnose_revisions import with_diagnosis
    from bot.pipeline.diagnosis import DiagnosisPlan, diagnose, diagnosis_json, diagnosis_text
    from bot.pipeline.event import BaselineOrigin, EventEnds, Merge, event_ends, merge_of
    from bot.pipeline.job_results import JobResults, collect_baseline, compare_results, judge_anew, result_files
    from bot.pipeline.measure import Measured, MeasurePlan, measure_commits
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
    from bot.pipeline.releases import encode_releases, releases_in_files, releases_in_history, releases_text
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
else:
    __getattr__ = front_door(__name__)
