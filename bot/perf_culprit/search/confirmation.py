"""Log Bayes factors for two questions: whether the change is real (reproduction) and whether it is this commit."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import numpy as np
from scipy.special import chdtri, ndtri

from perf_culprit.arrays import Floats
from perf_culprit.model.bisection import NEGLIGIBLE
from perf_culprit.search import pattern_evidence
from perf_culprit.search.hypotheses import SearchModel
from perf_culprit.search.level_sizes import round_differences
from perf_culprit.search.noise import QUIET_SPREADS, UNNAMED
from perf_culprit.search.odds import ODDS_20, ODDS_100, ODDS_1000
from perf_culprit.search.pair_evidence import DifferenceShape, combined, log_exchange_factors, log_quotient
from perf_culprit.search.round_samples import Samples, samples_of
from perf_culprit.search.search_view import WHOLE_ROUNDS, SearchView

CONFIRM_ROUNDS: Final = 3  # rounds of suspect and parent before a commit is named
QUIET_ROUNDS: Final = 4  # rounds of the ends and of the pair together: with fewer it could be a change of the machine
LEARNED_AFTER: Final = (0, 1, 2, 4, 8, 16, 32)  # confirming rounds after which noise and step are estimated again
# The mean of the quotient without a step stays below 1.1 for widths down to this part of the standard deviation. This
# was computed for normal, Laplace, uniform, Student's and two-valued noise. The bound of the width may be smaller by
# this factor, and remains a 95% bound.
SAFE_WIDTH: Final = 0.75


def is_certain(standing: SearchView) -> bool:
    """Return whether a change exists at all, by the ends or by all samples."""
    model = standing.model
    return bool(standing.state.named) or model.log_reproduced > ODDS_20 or model.log_change > ODDS_1000


def is_settled(standing: SearchView) -> bool:
    """Return whether, on a stable machine, all samples together show a step here that is no machine state."""
    model, settings = standing.model, standing.state.settings
    return (
        standing.is_plain
        and standing.leading[1] > settings.stop
        and model.log_change > ODDS_100
        and (settings.counts or model.log_two_states > ODDS_100)
    )


def log_pair(standing: SearchView, candidate: int) -> float:
    """Log e-value of "differs from the commit before it" against "equally fast", from this phase's rounds alone.

    A merge must differ from each of its parents, so the weakest pair counts.
    """
    before, after = standing.edges(candidate)
    factors = [
        [_log_factors(*stretch, candidate, (commit, after)) for stretch in _stretches(standing)] for commit in before
    ]
    return min((combined(np.sum(own, axis=0)) for own in factors if own), default=0.0)


def _stretches(standing: SearchView) -> Iterator[tuple[SearchView, Samples]]:
    """Split the rounds of this phase into stretches, each with all earlier measurements: no round judges itself."""
    results = standing.state.results
    starts = [start for place in LEARNED_AFTER if 0 < (start := standing.state.since + place) < len(results)]
    for start, end in pairwise([*starts, len(results)]):
        yield standing.before(start), samples_of(standing.state, standing.with_outside, results[start:end])


def _log_factors(earlier: SearchView, samples: Samples, candidate: int, pair: tuple[int, int]) -> Floats:
    """Evidence from exchanging a round's values, for each of `STEPS`, and from the known size of its noise.

    If modes of the machine were learned, the size is unknown.
    """
    pairs = round_differences(samples, *pair)
    shape_of_pairs = _difference_shape(earlier, candidate)
    exchanged = log_exchange_factors(pairs, shape_of_pairs)
    if earlier.model.modes is not None:
        return np.append(exchanged, exchanged[0])
    width = max(SAFE_WIDTH * _pair_bound(earlier.model), UNNAMED * abs(shape_of_pairs.step))
    two_states = not earlier.state.settings.counts and (bool(earlier.named) or earlier.model.log_two_states < ODDS_1000)
    return np.append(exchanged, log_quotient(pairs, shape_of_pairs.step, width, two_states=two_states))


def _pair_bound(model: SearchModel) -> float:
    """Upper 95% bound of the standard deviation of the difference of two executions of one round."""
    ends = round_differences(model.samples.select(model.ends), 0, model.reach.size)
    if model.is_quiet or model.is_stable or ends.size < 2:
        return 2**0.5 * model.spread_bound
    return float(np.sqrt(ends.var() * ends.size / chdtri(ends.size - 1, 0.95)))


def confirming_rounds(standing: SearchView) -> int:
    """Rounds required before a suspect is named; fewer are sufficient on a quiet machine."""
    if not standing.state.since:
        return WHOLE_ROUNDS
    model = standing.before_phase.model
    if not model.is_quiet:
        return WHOLE_ROUNDS if standing.begins_whole or model.is_stable else CONFIRM_ROUNDS
    if standing.state.settings.counts and model.change > 2 * QUIET_SPREADS * model.spread_bound:
        return 1
    counts = model.samples.counts(model.reach.size + 1)
    return max(QUIET_ROUNDS - int(min(counts[0], counts[-1])), 1)


def _difference_shape(standing: SearchView, candidate: int) -> DifferenceShape:
    """The shape known before the confirming rounds, so that they do not judge themselves."""
    model = standing.model
    columns = np.vstack([*(model.column_of(named) for named in model.named), model.column_of(candidate)])
    known_step = _seen_step(standing, candidate) if model.is_quiet else None
    step = float(pattern_evidence.fit(model.design, columns).delta[-1]) if known_step is None else known_step
    whole = float(model.step.delta[0])
    width, gap, apart = _round_noise(standing)
    size = max(abs(step), NEGLIGIBLE * abs(whole), 0.1 * width)
    return DifferenceShape(step=size if step >= 0 else -size, width=width, gap=gap, apart=apart)


def _seen_step(standing: SearchView, candidate: int) -> float | None:
    """Measured commit minus parent; on a quiet machine better than a fit, which spreads several steps over one."""
    before, after = standing.edges(candidate)
    samples = standing.samples
    levels = [samples.y[samples.commit == commit] for commit in (before[0], after)]
    return float(levels[1].mean() - levels[0].mean()) if all(level.size for level in levels) else None


def _round_noise(standing: SearchView) -> tuple[float, float, float]:
    """Width, gap and share of mixed pairs of differences inside a round, without steps."""
    modes = standing.model.modes
    if modes is not None:
        share = modes.slow_share
        inside = share * modes.slow_sd + (1 - share) * modes.fast_sd
        return 2**0.5 * inside, modes.gap, 2 * share * (1 - share)
    ends = standing.samples.select(standing.model.ends)
    pairs = round_differences(ends, 0, standing.reach.size)
    center = float(np.median(pairs)) if pairs.size else 0.0
    robust = float(np.median(np.abs(pairs - center))) / ndtri(0.75) if pairs.size else 0.0
    return max(robust, 1e-9), 0.0, 0.0
