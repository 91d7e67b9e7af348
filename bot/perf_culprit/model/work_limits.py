"""Limit what is computed, tried, kept in memory and named in a result.

A suite, a history or a request may be of any size, and its author may mean harm. Beyond a limit a part stands for the
whole, or the work ends and says so.
"""

from typing import Final, NamedTuple


class WorkLimits(NamedTuple):
    """The limits; counts are named by what is counted."""

    # Samples and runs.
    shapiro_samples: int = 5_000  # scipy's p-value of Shapiro and Wilk is valid up to this number
    # On which the fit of a load is tested, drawn at random: 100 predicted values per split suffice for a correlation.
    tested_samples: int = 300
    mode_values: int = 600  # show whether a counter has two modes; more of them only cost time
    # Premises of two items are counted per consequent in a square table; beyond this, only single ones are mined.
    paired_items: int = 600
    relabelled_values: int = 4_000_000  # of all benchmarks and labellings, held at once
    labellings: int = 2_000
    # A mixed model of more takes seconds and gives the same result.
    modelled_metrics: int = 20
    modelled_runs: int = 20
    modelled_samples: int = 30
    # An audit, and what it foresees.
    audited_runs: int = 200  # the newest stored ones; older ones were measured on machines that are gone
    audit_trials: int = 60  # the newest runs show how the machines are now; older ones would only cost time
    swept_trials: int = 10
    # Per table, drawn at random: rules between all pairs of thousands take minutes per run.
    audited_counters: int = 100
    values_per_half: int = 40
    foreseen_benchmarks: int = 20  # a larger suite takes longer and needs no fewer runs
    trial_benchmarks: int = 100  # the trial of a larger suite would take as long as its comparison
    # Larger numbers are no useful advice.
    advised_rounds: int = 1_000
    advised_repetitions: int = 100_000
    advised_times: int = 20  # as much as was recorded
    advised_multiple: float = 10.0  # of the executions of a search so far
    # A report.
    budget_checks: int = 500
    drawn_values: int = 50
    charts: int = 200  # of counters; each needs its samples sorted once more
    chart_intervals: int = 160
    inherited_levels: int = 10
    noted_rules: int = 3  # in a finding's reason
    listed_rules: int = 5  # enough to see the change; a counter may have hundreds
    names: int = 5
    panel_series: int = 500  # a larger panel judges only a part of its series anew after each run
    histories: int = 500  # the loudest: change points take milliseconds each
    compared_names: int = 100  # of missing metrics, each with all new ones
    # A search.
    commits: int = 2_000_000  # more than the largest public history
    suspects: int = 3  # of a round, and in the line of progress
    compared_commits: int = 24  # thinned in p
    joint_picks: int = 8  # whose joint outcomes are distinguished: 2^8 states
    patterns_in_triples: int = 12
    mode_starts: int = 6  # the best solutions, compared with all offsets integrated out
    search_models: int = 8  # those before each stretch of a confirmation, and the newest
    recovery_executions: int = 40
    residual_executions: int = 40  # of a check for a further step
    pair_executions: int = 100  # of the commit that counts name, and its parent
    # A simulation; the model may be untrusted, and more would take hours and gigabytes.
    simulated_requests: int = 10_000_000
    simulated_receivers: int = 10_000
    bracket_steps: int = 12
    scenarios: int = 5  # of a pull request
    # What runs or stays open.
    credential_questions: int = 64  # a partial clone asks once for each batch of objects that it lacks
    kept_folders: int = 4
    commands_at_once: int = 4


WORK_LIMITS: Final = WorkLimits()
