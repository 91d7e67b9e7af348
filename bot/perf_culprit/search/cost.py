"""The cost of a search: before anything is measured, and what remains by its own posterior and noise."""

from dataclasses import dataclass
from math import ceil, log2
from typing import Final

import numpy as np

from perf_culprit.model.bisection import CommitRange, Engine, Phase, Purpose, SearchSettings
from perf_culprit.search.descendants import Descendants
from perf_culprit.search.next_rounds import information_bits
from perf_culprit.search.search_view import FIRST_ANALYSIS, QUIET_ANALYSIS, ROUNDS_WITHOUT_ENDS, SearchView, executions
from perf_culprit.search.weighted import tests_left

# Executions of the suspects themselves relative to the bound H / C, as simulated (benchmarks/bisect).
OVER_THE_BOUND: Final = 1.3
CONFIRMATION: Final = 12  # executions of suspect and parent that a forecast assumes
THEORY_WORTH: Final = CONFIRMATION  # executions that the theoretical pace is worth, in addition to those that were made
STOP_BITS: Final = 3.0  # bits between a posterior of one half and the one that stops the search
# Size of the step relative to the standard deviation of one execution: clearly visible, and hidden in its noise.
CLEAR_STEP: Final = 4.0
HIDDEN_STEP: Final = 1.0
OF_CERTAIN: Final = 13  # executions of ends and confirmation for a rate that rises from 0 to 100%
RATE_BITS: Final = 0.14  # of one execution at 5% against 40%
EXECUTIONS_OF_ENDS: Final = (
    2 * QUIET_ANALYSIS
)  # executions of the ends until a change is likely, on one machine; by counts, with the confirmation


def entropy_bits(standing: SearchView) -> float:
    mass = standing.model.mass
    return max(0.0, float(-(mass * np.log2(np.maximum(mass, 1e-300))).sum()))


def expected_executions(standing: SearchView, *, optimistic: bool = False) -> int:
    """Predict remaining executions: (H + certainty) / C suspects, each with its share of the ends, and confirmation.

    `optimistic` assumes a step one standard error larger: only a search that is hopeless even then is not started.
    """
    model = standing.model
    d_prime = model.d_prime
    if optimistic:
        d_prime += float(2 / np.sqrt(max(int(model.ends.sum()), 1)))
    bits = entropy_bits(standing)
    if model.is_quiet:
        return int(np.ceil(bits / _pace(standing, information_bits(d_prime), bits))) + CONFIRMATION // 6
    # On a stable machine both ends are measured only in every fourth round.
    per_ends = standing.state.settings.suspects_per_round + (ROUNDS_WITHOUT_ENDS if model.is_stable else 0)
    confirmation = CONFIRMATION // 3 if model.is_stable else CONFIRMATION
    pace = _pace(standing, information_bits(d_prime) / OVER_THE_BOUND * per_ends / (2 + per_ends), bits)
    return int(min(np.ceil((bits + _missing_bits(standing)) / pace) + confirmation, 10**6))


def _pace(standing: SearchView, theory: float, bits: float) -> float:
    """Return bits per execution; the theory counts as `THEORY_WORTH` executions, next to those of the search.

    A search without progress therefore expects more executions, and the forecast keeps changing.
    """
    if standing.state.phase is not Phase.SEARCH or standing.named:
        return theory
    # Count all executions of the search, also those before a suspect was withdrawn, because its gain is the total.
    searched = {job.id for job in standing.state.jobs if job.purpose is Purpose.SEARCH}
    spent = executions(tuple(result for result in standing.state.results if result.job_id in searched))
    gained = max(float(np.log2(standing.reach.size)) - bits, 0.0)
    # If an execution halves the range, slow progress soon shows a problem.
    assumed = THEORY_WORTH / 4 if standing.model.is_quiet else THEORY_WORTH
    return (assumed * theory + gained) / (assumed + spent)


def _missing_bits(standing: SearchView) -> float:
    """Bits between the odds of the leading commit and those that stop the search; at most `STOP_BITS`."""
    best = float(np.clip(standing.model.posterior.max(), 1e-9, 1 - 1e-9))
    stop = standing.meets_parent
    missing = np.log2(stop / (1 - stop)) - np.log2(best / (1 - best))
    return float(np.clip(missing / 2, 0.0, STOP_BITS))


def expected_confirmation(standing: SearchView, *, log_e: float, convincing: float, per_round: int) -> int:
    """Executions until the rounds' evidence reaches `convincing`, at their pace so far.

    Without rounds, the pace of a pair is ln 2 times the capacity of one execution at sqrt(2) d' (`pair_evidence`). It
    counts as three rounds.
    """
    prior_rounds, rounds = 3, standing.fresh_rounds
    pace = float(np.log(2)) * information_bits(float(np.sqrt(2)) * standing.model.d_prime)
    pace = max((prior_rounds * pace + log_e) / (prior_rounds + rounds), 0.05)
    return per_round * max(int(np.ceil((convincing - log_e) / pace)), 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Forecast:
    """Executions for a step of four standard deviations of one execution, and for a step of one.

    In a search for a rate they are those for 0 to 100%, and for 5 to 40%.

    With the weighted engine both are equal. `tests` is the number of its tests: of the bad end, of commits before it,
    and of the last one next to its parent.
    """

    clear: int
    hidden: int
    tests: int | None = None


def forecast(commit_range: CommitRange, settings: SearchSettings) -> Forecast:
    if settings.engine is Engine.WEIGHTED:
        candidates = np.ones(len(commit_range.commits), dtype=np.bool_)
        candidates[list(commit_range.unchanged)] = False
        usable = np.ones(candidates.size + 1, dtype=np.bool_)
        tests = 2 + tests_left(Descendants(commit_range), usable, candidates) + bool(commit_range.merge_bases)
        return Forecast(clear=(each := 2 * settings.repetitions) * tests, hidden=each * tests, tests=tests)
    if settings.of_failures:
        bits = log2(max(len(commit_range.commits) - len(commit_range.unchanged), 1))
        return Forecast(clear=ceil(bits) + OF_CERTAIN, hidden=ceil((bits + 2 * STOP_BITS) / RATE_BITS))
    return Forecast(
        clear=executions_for(commit_range, settings, d_prime=CLEAR_STEP),
        hidden=executions_for(commit_range, settings, d_prime=HIDDEN_STEP),
    )


def executions_for(commit_range: CommitRange, settings: SearchSettings, *, d_prime: float) -> int:
    """Predict the executions for a step of `d_prime` standard deviations of one execution.

    Both ends run first, then (log2 N + certainty) / information suspects, each with its share of the ends (BISECT 4).
    The prior is assumed uniform over the possible culprits, and a single machine stable. With counts any step is clear.
    """
    candidates = max(len(commit_range.commits) - len(commit_range.unchanged), 1)
    bits = log2(candidates)
    if settings.counts:
        return ceil(bits) + EXECUTIONS_OF_ENDS
    suspects = OVER_THE_BOUND * (bits + STOP_BITS) / information_bits(d_prime)
    per_ends, around = settings.suspects_per_round, 2 * FIRST_ANALYSIS + CONFIRMATION
    if settings.one_machine:
        per_ends, around = per_ends + ROUNDS_WITHOUT_ENDS, EXECUTIONS_OF_ENDS + CONFIRMATION // 3
    return ceil(suspects * (2 + per_ends) / per_ends) + around
