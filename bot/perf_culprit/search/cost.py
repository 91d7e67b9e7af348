"""Remaining cost of a search, from its own posterior and the size of the step relative to the noise."""

from typing import Final

import numpy as np

from perf_culprit.model.bisection import Phase, Purpose
from perf_culprit.search.next_rounds import information_bits
from perf_culprit.search.search_view import ROUNDS_WITHOUT_ENDS, Standing, executions

# Executions of the suspects themselves relative to the bound H / C, as simulated (benchmarks/bisect).
OVER_THE_BOUND: Final = 1.5
CONFIRMATION: Final = 12  # executions of suspect and parent that a forecast assumes
QUIET_CONFIRMATION: Final = 2  # the same on a quiet machine
KNOWN: Final = 12.0  # executions that the theoretical pace is worth, in addition to those that were made
QUIET_KNOWN: Final = 3.0  # the same if an execution halves the range, so that slow progress shows a problem
SLOWEST: Final = 0.01  # as a share of the theoretical pace
STOP_BITS: Final = 3.0  # bits between a posterior of one half and the one that stops the search


def entropy_bits(standing: Standing) -> float:
    mass = standing.model.mass
    return max(0.0, float(-(mass * np.log2(np.maximum(mass, 1e-300))).sum()))


def expected_executions(standing: Standing, *, optimistic: bool = False) -> int:
    """Predict remaining executions: (H + certainty) / C suspects, each with its share of the ends, and confirmation.

    `optimistic` assumes a step one standard error larger: only a search that is hopeless even then is not started.
    """
    model = standing.model
    d_prime = model.d_prime
    if optimistic:
        d_prime += float(2 / np.sqrt(max(int(model.ends.sum()), 1)))
    bits = entropy_bits(standing)
    if model.is_quiet:
        return int(np.ceil(bits / _pace(standing, information_bits(d_prime), bits))) + QUIET_CONFIRMATION
    # On a stable machine both ends are measured only in every fourth round.
    per_ends = standing.state.settings.suspects_per_round + (ROUNDS_WITHOUT_ENDS if model.is_stable else 0)
    confirmation = CONFIRMATION // 3 if model.is_stable else CONFIRMATION
    pace = _pace(standing, information_bits(d_prime) / OVER_THE_BOUND * per_ends / (2 + per_ends), bits)
    return int(min(np.ceil((bits + _missing_bits(standing)) / pace) + confirmation, 10**6))


def _pace(standing: Standing, theory: float, bits: float) -> float:
    """Bits per execution: the theory counts as a few executions (`KNOWN`), next to those that the search has made.

    A search without progress therefore expects more executions, and the forecast keeps changing.
    """
    if standing.state.phase is not Phase.SEARCH or standing.named:
        return theory
    # Count all executions of the search, also those before a suspect was withdrawn, because its gain is the total.
    searched = {job.id for job in standing.state.jobs if job.purpose is Purpose.SEARCH}
    spent = executions(tuple(result for result in standing.state.results if result.job_id in searched))
    gained = max(float(np.log2(standing.reach.size)) - bits, 0.0)
    assumed = QUIET_KNOWN if standing.model.is_quiet else KNOWN
    return max((assumed * theory + gained) / (assumed + spent), SLOWEST * theory)


def _missing_bits(standing: Standing) -> float:
    """Bits between the odds of the leading commit and those that stop the search; at most `STOP_BITS`."""
    best = float(np.clip(standing.model.posterior.max(), 1e-9, 1 - 1e-9))
    stop = standing.meets_parent
    missing = np.log2(stop / (1 - stop)) - np.log2(best / (1 - best))
    return float(np.clip(missing / 2, 0.0, STOP_BITS))


def expected_confirmation(standing: Standing, *, log_e: float, convincing: float, per_round: int) -> int:
    """Executions until the rounds' evidence reaches `convincing`, at their pace so far.

    Without rounds, the pace of a pair is ln 2 times the capacity of one execution at sqrt(2) d' (exchange.py). It
    counts as three rounds.
    """
    prior_rounds, rounds = 3, standing.fresh_rounds
    pace = float(np.log(2)) * information_bits(float(np.sqrt(2)) * standing.model.d_prime)
    pace = max((prior_rounds * pace + log_e) / (prior_rounds + rounds), 0.05)
    return per_round * max(int(np.ceil((convincing - log_e) / pace)), 1)
