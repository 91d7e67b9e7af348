"""Limit what is read from files: results, counters, logs, profiles, their archives, and source code.

Anybody can write such a file: the author of a fork, a tool with a defect. A file beyond a limit is refused, or only a
part of it is used, and a message or a remark says so. Counts are named by what is counted.
"""

from typing import Final, NamedTuple


class FileLimits(NamedTuple):
    """The limits; bytes are those in memory, so of packed files those of the content."""

    # Files.
    file_bytes: int = 64 << 20
    large_file_bytes: int = 1 << 30  # lists of JSON, our own runs, standard input and members of archives
    streamed_file_bytes: int = 4 << 30  # read line by line: hours of a load test, one line per request
    total_bytes: int = 512 << 20
    files: int = 20_000
    members: int = 20_000
    member_bytes: int = 128 << 20  # in memory; larger members are unpacked while they are read
    unpacked_ratio: int = 200  # real results compress by a factor of 10 to 50, zeros by 1,000
    json_value_bytes: int = 64 << 20
    # Our own runs: no machine and no suite has more, and an untrusted file could fill the history.
    # All are in memory at once, and their report has to be read again: benchmarks/README.md has the cost.
    metrics: int = 50_000
    components: int = 2_000  # of an environment
    environment_characters: int = 100_000
    component_characters: int = 100  # of a name, a version or a hash
    component_value_characters: int = 1_000
    losses: int = 1_000
    loss_characters: int = 300
    executions: int = 1_000_000
    measuring_s: float = 1e9
    unreached: int = 100
    # Half of the smallest history would be too much for one run's index.
    index_characters: int = 200_000
    index_benchmarks: int = 500
    index_methods: int = 200
    index_method_characters: int = 200
    # Text of any format.
    line_characters: int = 4 << 20
    number_characters: int = 100
    unit_characters: int = 100
    # Results.
    name_characters: int = 10_000
    kept_samples: int = 10_000  # more of a benchmark add nothing to a test, but a file may hold millions
    kept_bytes: int = 512 << 20  # of all benchmarks
    json_samples: int = 1_000_000
    json_depth: int = 100  # results are nested less than ten levels deep; stops early on a hostile file
    # `<` and `&`, which cost a parser time and memory. A megabyte of real results has about 20,000.
    xml_marks: int = 1_000_000
    documents: int = 2_000  # of results in one text
    paragraphs: int = 500
    # Every failed attempt reads the text up to its error to count lines. This is about a second of that.
    attempted_characters: int = 500_000_000
    printed_line_characters: int = 100  # of a timer's line and of the heading above it
    printed_cells: int = 100
    asv_values: int = 100_000
    parameter_combinations: int = 100_000
    scope_characters: int = 10_000
    commit_rows: int = 20_000
    commit_cells: int = 2_000_000
    commit_header_characters: int = 200_000
    machine_files: int = 20  # of the system that describe the machine
    machine_answer_s: float = 5.0
    # Counters.
    counter_cells: int = 20_000_000  # 160 MB of numbers: a day of 2,000 counters every 15 seconds is 11.5 million
    counter_columns: int = 50_000
    counter_tables: int = 1_000
    # Of values that arrive one at a time: each instant costs a hundred bytes until the table is built.
    counter_instants: int = 2_000_000
    counter_readings: int = 1_000_000
    counter_grids: int = 1_000
    time_characters: int = 40
    activities: int = 200
    activity_depth: int = 6
    load_labels: int = 200
    load_test_s: int = 7 * 24 * 3600  # a longer span comes from a broken time, not from a test
    user_digits: int = 10
    # Logs.
    log_line_bytes: int = 1 << 16
    # Of a block. A line takes some 200 bytes while it is analysed, however short it is; usual blocks have fewer.
    log_lines: int = 1 << 19
    # gzip and zstd make repetitive text some 100 times smaller. A far higher ratio indicates a decompression bomb.
    log_ratio: int = 300
    zstd_window_bytes: int = 1 << 27
    pattern_bytes: int = 10_000
    pattern_steps: int = 256  # the regular expression reads longer runs of one set
    label_bytes: int = 1 << 15
    # A call that never ends must not fill the memory: it is closed early and counted.
    call_rows: int = 100_000
    call_bytes: int = 192 << 20
    # Real programs have thousands of paths; more come from arguments or ids in method names, or from very many request
    # types. Beyond this, the half with the least time is pruned, so that pruning is rare.
    log_nodes: int = 100_000
    rare_methods: int = 100_000  # on rare paths; beyond it, those with the least time become one
    remembered_shapes: int = 2_000  # the same calls recur in every block of a log, so their shapes are cached
    remembered_lines: int = 200
    services: int = 1_000
    windows: int = 1_440
    elapsed_ms: float = 1e12  # some decades: longer times come from a broken clock
    # Profiles.
    profile_bytes: int = 512 << 20  # in memory as a whole
    streamed_profile_bytes: int = 16 << 30
    source_map_bytes: int = 32 << 20  # larger bundles and maps are ignored, because reading one takes seconds
    method_map_bytes: int = 1 << 20
    method_characters: int = 1_000
    message_characters: int = 200
    line_number: int = 2**31
    # Real programs have thousands of paths; more come from arguments or ids within names.
    profile_nodes: int = 200_000
    profile_depth: int = 10_000
    compared_profiles: int = 100
    tree_nodes: int = 1_000_000
    tree_repetitions: int = 10_000
    # A page of JSON per thousand nodes: larger trees lose the paths with the least time in both revisions.
    compared_nodes: int = 10_000
    compared_methods: int = 1_000
    reported_costs: int = 100  # a report has the first ones, the diagnosis file the whole list
    # A file of cProfile; real ones are smaller.
    marshal_depth: int = 5
    marshal_items: int = 16
    marshal_digits: int = 8
    graph_paths: int = 5_000  # the costliest; the cost of a graph's other paths is kept per function
    threads: int = 20_000
    time_us: float = 1e17  # some thousands of years
    spans: int = 5_000_000
    span_time_ns: int = 2**63 - 1
    request_types: int = 1_000
    # Per request type. More calls are grouped in the order of their time; a large tree lowers the limit.
    repetitions: int = 1_000
    repetition_times: int = 1_000_000  # of all request types, shared in proportion to their spans
    held_events: int = 2_000_000
    held_events_of_trace: int = 100_000  # that wait for an earlier event, which a file that begins late lacks
    event_time_ns: float = 1e19
    # What people write, and what our own commands wrote.
    config_bytes: int = 256 * 1024
    model_bytes: int = 256 * 1024  # of a simulation: text that people write; a scenario takes seconds to minutes
    labels_bytes: int = 1 << 20
    list_bytes: int = 16 << 20  # of a suite's benchmarks
    init_files: int = 5_000
    init_file_bytes: int = 1 << 20
    command_line_characters: int = 4_000  # longer than people write
    commands_characters: int = 20_000
    commands_words: int = 2_000
    report_bytes: int = 512 << 20  # 50,000 metrics against one run are 107 MB; an undecided one lists stored values too
    measured_side_bytes: int = 256 << 20  # as for a search's state
    answer_file_bytes: int = 64 << 20
    runner_file_bytes: int = 1 << 16
    # The measured repository.
    uncommitted_bytes: int = 64 << 20
    benchmark_code_bytes: int = 4 << 20
    log_section_bytes: int = 4 << 20  # a benchmark with endless output must not fill the disk
    weighed_files: int = 1_000_000  # and folders; a `node_modules` has a tenth
    renamed_files: int = 1_000  # of an untrusted commit, compared with the old ones
    changed_paths: int = 3_000  # each is searched in the sources
    dynamic_imports: int = 20  # each is searched in the source
    updated_candidates: int = 500
    lock_files: int = 200
    updates: int = 50  # of packages, per commit
    packages: int = 1_000
    package_sources_bytes: int = 48 << 20  # a fork wrote the sources: more text is not read
    module_bytes: int = 1 << 20  # a tree has a hundred times its text
    # The source code of a comparison's two sides.
    source_bytes: int = 1 << 20
    sources_bytes: int = 64 << 20  # all together
    source_files: int = 2_000
    source_scopes: int = 50_000  # functions and classes of a file
    source_line_bytes: int = 20_000
    # A megabyte takes about a second; the rest is for busy machines and for files designed to be slow.
    source_reading_s: float = 5.0
    line_diffs: int = 200  # each takes one git call
    sought_names: int = 500  # of functions whose callers are sought
    calling_files: int = 1_000
    file_name_characters: int = 255
    method_name_characters: int = 2_000


FILE_LIMITS: Final = FileLimits()
