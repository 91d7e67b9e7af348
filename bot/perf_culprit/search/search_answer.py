"""The outcome of a search as values."""

from itertools import pairwise

import numpy as np
from msgspec.structs import replace
from scipy.optimize import isotonic_regression

from perf_culprit.arrays import Floats
from perf_culprit.model.artifact_limits import ARTIFACT_LIMITS
from perf_culprit.model.bisection import Culprit, DecayPart, Noise, Outcome, OutcomeKind, Phase, SearchState, Suspect
from perf_culprit.model.finding import Interval
from perf_culprit.model.reason import Reason, SearchReason, because
from perf_culprit.search import further_steps, pattern_evidence
from perf_culprit.search.confirmation import is_certain
from perf_culprit.search.level_sizes import StepSize, difference, named_sizes, sizes_of
from perf_culprit.search.noise import FEW_RESIDUALS
from perf_culprit.search.odds import ODDS_20
from perf_culprit.search.other_metrics import REFUTING_ANALYSIS, excludes
from perf_culprit.search.pattern_evidence import G, PatternDesign
from perf_culprit.search.round_samples import autocorrelation
from perf_culprit.search.search_view import SearchView
from perf_culprit.stats.conventions import LEVEL


def conclude(standing: SearchView, kind: OutcomeKind, *, needed: int | None = None) -> SearchState:
    return replace(standing.state, phase=Phase.DONE, outcome=outcome_of(standing, kind, needed=needed))


def outcome_of(standing: SearchView, kind: OutcomeKind, *, needed: int | None = None) -> Outcome:
    """Return the answer of this kind; named culprits outrank a spent budget.

    There are no suspects if the budget is spent and the ends deny a change: their posteriors assume one.
    """
    base = replace(standing.bare_outcome(kind), noise=_noise(standing))
    # Until the merge base was measured to be as fast as the good commit, a change has no good end.
    lacks_good_end = kind is OutcomeKind.NOT_REPRODUCED and standing.state.phase is Phase.MERGE_BASE
    if lacks_good_end or kind in {OutcomeKind.UNMEASURABLE, OutcomeKind.FIXED_ON_GOOD_SIDE}:
        return base
    base = _with_change(standing, base)
    if kind is OutcomeKind.BUDGET_SPENT and base.relative_change is not None and _is_doubtful(standing):
        base = replace(base, kind=OutcomeKind.INCONCLUSIVE)
    if base.kind in {OutcomeKind.NOT_REPRODUCED, OutcomeKind.INCONCLUSIVE}:
        return replace(base, needed=needed, visible_effect=visible_effect(standing))
    if kind in {OutcomeKind.DECAY, OutcomeKind.CHANGE_OF_GOOD}:
        return _decay(standing, base) if kind is OutcomeKind.DECAY else replace(base, notes=_change_of_good(standing))
    if standing.state.named:
        return _culprits(standing, base)
    if standing.state.phase in (Phase.MERGE_BASE, Phase.REPRODUCE):
        return replace(base, visible_effect=visible_effect(standing))
    return replace(base, suspects=likeliest(standing, standing.model.mass), notes=lost_parent(standing))


def _change_of_good(standing: SearchView) -> tuple[Reason, ...]:
    suspect = standing.suspect
    parent = standing.edges(suspect)[0][0]
    names = {"commit": standing.short(suspect + 1), "parent": standing.short(parent)}
    size = difference(standing, parent, 0)
    if size is None:
        return (because(SearchReason.CHANGE_OF_GOOD, **names),)
    change, interval = change_of(standing, size)
    return (because(SearchReason.CHANGE_OF_GOOD, **names, change=change, low=interval.low, high=interval.high),)


def lost_parent(standing: SearchView) -> tuple[Reason, ...]:
    suspect = standing.state.suspect
    parent = standing.state.commit_range.outside.get(suspect or "")
    if suspect is None or parent is None or standing.edges(standing.suspect)[0]:
        return ()
    at = standing.with_outside
    return (because(SearchReason.PARENT_LOST, commit=standing.short(at[suspect]), parent=standing.short(at[parent])),)


def _is_doubtful(standing: SearchView) -> bool:
    is_searched = standing.state.phase in (Phase.SEARCH, Phase.CONFIRM)
    return is_searched and standing.model.log_reproduced < 0 and not is_certain(standing)


def visible_effect(standing: SearchView) -> float | None:
    """Return the relative change whose log BF would have reached 3 with the present executions of the ends.

    Uses the plain form: a learned shape may detect less than it seems to.
    """
    counts = standing.samples.counts(standing.reach.size + 1)
    good, bad = int(counts[0]), int(counts[-1])
    if not good or not bad:
        return None
    pairs = good * bad / (good + bad)
    samples = standing.samples.select(standing.model.ends)
    plain = pattern_evidence.fit(
        PatternDesign(samples), (samples.commit == standing.reach.size).astype(np.float64)[None]
    )
    effect = float(np.expm1(plain.sigma * np.sqrt((2 * ODDS_20 + np.log1p(G * pairs)) / pairs)))
    return max(effect, standing.state.settings.minimum_effect)


def end_to_end(standing: SearchView) -> StepSize:
    """Return the change from good to bad in the direction searched."""
    (size,) = sizes_of(standing.model.step)
    return size


def excludes_expected(standing: SearchView) -> bool:
    """Return whether the expected change would have been seen at the ends by now, but was not."""
    settings = standing.state.settings
    counts = standing.samples.counts(standing.reach.size + 1)
    if settings.expected_change is None or min(counts[0], counts[-1]) < REFUTING_ANALYSIS:
        return False
    if standing.model.modes is not None and standing.model.log_reproduced > 0:
        return False  # no shape may deny a change that the plain form sees
    whole = end_to_end(standing)
    worse = whole.center if standing.sign == settings.direction.worse_sign else -whole.center
    return excludes(worse, whole.half, expected=settings.expected_change)


def _with_change(standing: SearchView, base: Outcome) -> Outcome:
    counts = standing.samples.counts(standing.reach.size + 1)
    if not counts[0] or not counts[-1]:
        return base
    change, interval = change_of(standing, end_to_end(standing))
    knows_noise = counts[0] + counts[-1] >= FEW_RESIDUALS
    return replace(base, relative_change=change, confidence_interval=interval if knows_noise else None)


def change_of(standing: SearchView, step: StepSize) -> tuple[float, Interval]:
    """Convert a step to a relative change of the metric, with its interval."""
    sign = standing.sign
    ends = (sign * (step.center - step.half), sign * (step.center + step.half))
    low, high = sorted(float(np.expm1(np.clip(end, -50, 50))) for end in ends)
    return float(np.expm1(sign * step.center)), Interval(low=low, high=high, level=LEVEL)


def _culprits(standing: SearchView, base: Outcome) -> Outcome:
    steps = {step.commit: step for step in standing.state.named}
    further = further_steps.further_probability(standing)
    culprits = []
    suspects: list[Suspect] = []
    for candidate, size in zip(standing.named, named_sizes(standing), strict=True):
        commit = standing.name(candidate + 1)
        change, interval = change_of(standing, size)
        step = steps[commit]
        culprits.append(
            Culprit(
                commit=commit,
                posterior=step.posterior,
                relative_change=change,
                confidence_interval=interval,
                log_bayes_factor=step.log_bayes_factor,
                improvement=bool(size.center < 0) != standing.seeks_improvement,
            )
        )
        group = standing.group_of(candidate)
        if len(group) > 1:
            share = standing.prior[group] / max(float(standing.prior[group].sum()), 1e-300) * step.posterior
            suspects += [_suspect(standing, int(c), float(p)) for c, p in zip(group, share, strict=True)]
    possible = [stretch for stretch in further_steps.stretches(standing) if stretch.probability > 0.05]
    widest = max(possible, key=lambda stretch: stretch.upper, default=None) or further_steps.contradicted(standing)
    if suspects:
        kind = OutcomeKind.SUSPECT_SET
        culprits = [culprit for culprit in culprits if culprit.commit not in {suspect.commit for suspect in suspects}]
    else:
        kind = OutcomeKind.CULPRIT if len(culprits) == 1 else OutcomeKind.SEVERAL_CULPRITS
    return replace(
        base,
        kind=kind,
        culprits=tuple(culprits),
        suspects=tuple(suspects),
        further_probability=further,
        unresolved=0.0 if widest is None else min(widest.upper, 1.0),
        unresolved_part=None if widest is None else (standing.name(widest.low), standing.name(widest.high)),
    )


def _suspect(standing: SearchView, candidate: int, posterior: float) -> Suspect:
    commit = standing.name(candidate + 1)
    return Suspect(commit=commit, posterior=posterior, skipped=standing.skipped.get(commit))


def likeliest(standing: SearchView, mass: Floats) -> tuple[Suspect, ...]:
    """Return the smallest set with `LEVEL` of the mass, most probable first."""
    order = np.argsort(-mass, kind="stable")
    count = int(np.searchsorted(np.cumsum(mass[order]), LEVEL)) + 1
    return tuple(
        _suspect(standing, int(c), float(mass[c])) for c in order[: min(count, ARTIFACT_LIMITS.listed_suspects)]
    )


def _decay(standing: SearchView, base: Outcome) -> Outcome:
    """Isotonic regression of the measured commits' levels on their depth, in stretches between levels."""
    samples, depth = standing.model.design.samples, standing.model.depth
    commits = sorted((int(c) for c in samples.measured()), key=lambda c: (depth[c], c))
    total = np.array([samples.weight[samples.commit == c].sum() for c in commits])
    mean = np.array(
        [np.average(samples.y[samples.commit == c], weights=samples.weight[samples.commit == c]) for c in commits]
    )
    level = isotonic_regression(mean, weights=total).x
    whole = max(float(level[-1] - level[0]), 1e-12)
    sign = standing.sign
    corners = [0, *(np.flatnonzero(np.diff(level) > 1e-12) + 1).tolist()]
    parts = []
    for low, high in pairwise(corners):
        rise = float(level[high] - level[low])
        parts.append(
            DecayPart(
                after=standing.name(commits[high - 1]),
                until=standing.name(commits[high]),
                relative_change=float(np.expm1(sign * rise)),
                share=rise / whole,
            )
        )
    return replace(base, decay=tuple(parts))


def _noise(standing: SearchView) -> Noise | None:
    if standing.state.phase is Phase.MERGE_BASE:
        return None
    model = standing.model
    ends = model.samples.select(model.ends)
    counts = ends.counts(standing.reach.size + 1)
    if min(counts[0], counts[-1]) < 2:
        return None
    modes = model.modes
    shift = modes.step if modes is not None else float(model.step.delta[0])
    rest = ends.y - shift * (ends.commit == standing.reach.size)
    return Noise(
        standard_deviation=float(np.std(rest)),
        autocorrelation=autocorrelation(rest, ends.block),
        # The learned "slow" mode may be the faster one.
        mode_ratio=None if modes is None else float(np.exp(abs(modes.gap))),
        slow_share=None if modes is None else modes.slow_share if modes.gap >= 0 else 1 - modes.slow_share,
    )
