"""Limit what is written as text: comments, checks, messages and the names in them.

GitHub refuses or drops what is longer than it accepts. Our own limits keep a hostile name from filling a page.
"""

from typing import Final, NamedTuple


class TextLimits(NamedTuple):
    """The limits; counts are named by what is counted."""

    # What GitHub accepts.
    body_characters: int = 65_536  # of an issue, a comment or a pull request
    check_text_characters: int = 65_535
    answer_body_characters: int = 65_000  # a marker is added
    asked_report_characters: int = 60_000  # an answer's own text is added
    check_title_characters: int = 255
    summary_bytes: int = 1 << 20  # above this size the runner drops the whole summary of the step
    # What we write to it.
    issue_title_characters: int = 200
    notified_entries: int = 10  # issues of a message, and changes of an issue
    check_name_characters: int = 80
    id_characters: int = 40
    hash_characters: int = 12  # of a commit, or of a benchmark's version
    answer_characters: int = 200  # of GitHub's answer, in a message
    output_characters: int = 600  # of a command or a database, in a message
    output_lines: int = 4
    # A diagnosis: the most entries that an answer shows and the history branch keeps.
    diagnosed_functions: int = 20
    diagnosed_services: int = 10
    diagnosed_suspects: int = 10
    diagnosed_names: int = 30
    # Names and examples in messages on files.
    quoted_characters: int = 120
    key_characters: int = 60
    names: int = 5
    counter_names: int = 3
    column_names: int = 20
    metric_names: int = 100
    event_names: int = 10
    rounded_names: int = 3
    passed_over: int = 5
    log_examples: int = 8
    profile_examples: int = 3
    mistakes: int = 20  # of a configuration
    # An assistant's answer.
    assistant_characters: int = 40_000
    assistant_text_characters: int = 1_000
    assistant_entries: tuple[int, ...] = (100, 30, 10, 3)  # of a list inside an item: fewer in a larger answer
    assistant_log_characters: int = 16_000
    # What a page, a comment, an issue or the terminal shows.
    notes: int = 10  # on a history, an import or a search
    suites: int = 20
    choices: int = 100  # among stored runs
    older_runs: int = 3
    suggestions: int = 5
    verified_benchmarks: int = 10  # in a command to copy
    picture_nodes: int = 12  # a picture with more boxes is unreadable
    sparkline_points: int = 16
    percent_decimals: int = 6
    audited_limits: int = 5
    search_rows: int = 60
    subject_characters: int = 120
    suspect_characters: int = 48  # in a table for 80 columns
    command_characters: int = 2000
    search_updates: int = 10
    search_functions: int = 3
    plot_label_characters: int = 55
    step_subject_characters: int = 72
    frame_label_characters: int = 48
    frame_name_characters: int = 500
    listed_methods: int = 12  # next to a picture
    listed_shares: int = 5
    tree_subject_characters: int = 80
    named_services: int = 3
    next_step_characters: int = 500
    page_name_characters: int = 300
    unit_characters: int = 24
    issue_subject_characters: int = 100
    dashboard_gains: int = 3
    dashboard_months: int = 3
    tag_characters: int = 24
    impacts: int = 40
    impact_services: int = 20
    trees: int = 5
    tree_series: int = 5
    diagnosis_line_characters: int = 160
    waiting_findings: int = 20
    category_characters: int = 40
    metric_characters: int = 60
    moved_rows: int = 20
    name_characters: int = 120
    sentence_characters: int = 300
    line_characters: int = 4_000  # of a log: complete, but not endless
    issue_commits: int = 20
    issue_benchmarks: int = 100
    title_name_characters: int = 100
    issue_metrics: int = 50
    issue_commands: int = 5
    maintenance_months: int = 24
    shown_unit_characters: int = 20
    reason_names: int = 10  # of a list
    page_rows: int = 300
    table_rows: int = 5_000  # no medium shows more
    remarks: int = 20  # as many annotations fit into one request
    path_characters: int = 500
    series_name_characters: int = 80
    release_name_characters: int = 60
    wide_versions: int = 12  # a number fits into each cell
    curves: int = 60


TEXT_LIMITS: Final = TextLimits()
