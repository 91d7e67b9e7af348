"""The search on seeded noise: correct, affordable and calibrated, whatever the rounds' offsets are.

The offsets matter: a search without blocks, below, is misled on the same machine on which the real one succeeds.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import ndtr

from benchmarks.bisect.grid import Cell, cells, trial
from benchmarks.bisect.machine import chain
from perf_culprit.model.bisection import Outcome, OutcomeKind, Phase, Sought
from tests.support.virtual_searches import Virtual, names, planted, steps, suspects_of

pytestmark = pytest.mark.slow  # dozens of whole searches

COMMITS = 64
RUNS = 12
STEP, NOISE_SD, OFFSET_SD = 0.05, 0.03, 0.06
# Fano's bound (docs/evidence/bisection.md): executions between the ends that even known distributions require.
FANO_EXECUTIONS = 15.0
G = 16.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """A search. `leaders`: the leader's posterior after each round between ends, and whether it is the culprit."""

    outcome: Outcome
    right: bool
    between_ends: int
    leaders: Sequence[tuple[float, bool]]


def watch(virtual: Virtual, seed: int) -> Run:
    search, machine = virtual.start(seed), virtual.machine(seed)
    leaders = []
    between = 0
    while (outcome := search.outcome()) is None:
        for job in search.propose():
            between += len(suspects_of(search, job.commits))
            search.record(job.id, *machine.run(job.commits))
        suspects = search.progress().suspects
        if search.state.phase in (Phase.SEARCH, Phase.CONFIRM) and suspects:
            leader = suspects[0]
            leaders.append((leader.posterior, leader.commit in virtual.culprits()))
    right = names(outcome) == virtual.culprits()
    return Run(outcome=outcome, right=right, between_ends=between, leaders=leaders)


@pytest.fixture(scope="module", name="runs")
def _runs() -> list[Run]:
    return [watch(planted(COMMITS, effect=STEP, seed=seed, offset_sd=OFFSET_SD), seed) for seed in range(RUNS)]


def test_offsets_of_twice_the_noise_mislead_nobody(runs: Sequence[Run]) -> None:
    assert sum(run.right for run in runs) >= 0.9 * RUNS


def naive_search(culprit: int, *, offset_sd: float, seed: int) -> int:
    """The commit (1..N) that a search names if it runs one commit five times per job and pools all samples.

    It uses the published closed form without blocks, the pick nearest to one half, and the balance of the ends.
    """
    generator = np.random.default_rng(seed)
    count, total, squares = np.zeros(COMMITS + 1), np.zeros(COMMITS + 1), 0.0

    def job(commit: int) -> float:
        y = generator.normal(generator.normal(0, offset_sd), NOISE_SD, 5) + np.log1p(STEP) * (commit >= culprit)
        count[commit] += 5
        total[commit] += y.sum()
        return float(y @ y)

    posterior = np.full(COMMITS, 1 / COMMITS)
    squares += sum(job(end) for end in (0, COMMITS, 0, COMMITS))
    for _ in range(200):
        n, mean = count.sum(), total.sum() / count.sum()
        slow_n, slow_total = (np.cumsum(part[::-1])[::-1][1:] for part in (count, total))
        sxx, sxy = slow_n * (n - slow_n) / n, slow_total - slow_n * mean
        sse = squares - n * mean**2 - sxy**2 / (sxx + 1 / G)
        t = sxy / np.sqrt((sxx + 1 / G) * sse / (n - 1))
        log_m = -0.5 * np.log1p(G * sxx) - 0.5 * (n - 1) * np.log(sse) + np.log(2 * ndtr(t) + 1e-300)
        posterior = np.exp(log_m - log_m.max())
        posterior /= posterior.sum()
        if posterior.max() >= 0.95:
            break
        slow = np.concatenate(([0.0], np.cumsum(posterior)))
        useful = np.minimum(slow, 1 - slow)
        pick = int(np.argmax(useful[1:-1])) + 1
        fast_known, slow_known = count[slow < 0.02].sum(), count[slow > 0.98].sum()
        if count[pick] >= min(fast_known, slow_known):
            pick = 0 if fast_known <= slow_known else COMMITS
        squares += job(pick)
    return int(np.argmax(posterior)) + 1


def test_the_same_offsets_mislead_a_search_without_blocks() -> None:
    def share(offset_sd: float) -> float:
        culprits = np.random.default_rng(0).integers(1, COMMITS + 1, 40).tolist()
        return float(np.mean([naive_search(c, offset_sd=offset_sd, seed=s) == c for s, c in enumerate(culprits)]))

    assert share(0.0) >= 0.85
    assert share(OFFSET_SD) < 0.5


def test_it_is_as_sure_as_it_is_right(runs: Sequence[Run]) -> None:
    """Compare the leader's mean posterior with the share of rounds in which it is the culprit."""
    posterior, right = np.array([pair for run in runs for pair in run.leaders], dtype=float).T
    # Rounds of one search are correlated: with 12 searches, the difference has a standard error of about 0.05.
    assert abs(posterior.mean() - right.mean()) < 0.15
    sure = posterior > 0.9
    assert right[sure].mean() > 0.8
    assert right[posterior < 0.3].mean() < 0.5


def test_the_named_posterior_keeps_its_word(runs: Sequence[Run]) -> None:
    posteriors = [
        culprit.posterior for run in runs for culprit in run.outcome.culprits if culprit.posterior is not None
    ]
    assert min(posteriors) > 0.9
    assert np.mean(posteriors) - np.mean([run.right for run in runs]) < 0.1


def test_the_cost_is_between_the_bound_and_a_budget(runs: Sequence[Run]) -> None:
    """A cost below the bound means that the simulator leaks the truth; above the budget, the choice got worse."""
    between = float(np.mean([run.between_ends for run in runs]))
    assert FANO_EXECUTIONS < between < 7 * FANO_EXECUTIONS
    assert np.mean([run.outcome.executions for run in runs]) < 230


def test_a_lower_stop_is_not_dearer(runs: Sequence[Run]) -> None:
    few = range(4)
    early = [planted(COMMITS, effect=STEP, seed=seed, offset_sd=OFFSET_SD).search(seed, stop=0.8) for seed in few]
    late = [runs[seed].outcome for seed in few]
    assert np.mean([one.executions for one in early]) < np.mean([one.executions for one in late]) + 10


def test_plain_noise_is_given_no_shape(runs: Sequence[Run]) -> None:
    modes = [run.outcome.noise.mode_ratio for run in runs if run.outcome.noise is not None]
    assert sum(ratio is None for ratio in modes) >= 0.9 * len(modes) > 0


def test_two_modes_are_learned_and_pay() -> None:
    """A quarter of the executions is 15% slower, three times the step. A normal model needs 167 executions."""
    runs = [watch(planted(COMMITS, effect=STEP, seed=seed, noise="bimodal"), seed) for seed in range(6)]
    assert sum(run.right for run in runs) >= 5
    ratios = [run.outcome.noise.mode_ratio for run in runs if run.outcome.noise and run.outcome.noise.mode_ratio]
    assert len(ratios) >= 4
    assert np.median(ratios) == pytest.approx(1.15, abs=0.04)
    assert np.mean([run.between_ends for run in runs]) < 110


@pytest.mark.parametrize("noise", ["3%", "bimodal", "heavy"])
def test_nothing_is_named_where_nothing_changed(noise: str) -> None:
    for seed in range(2):
        outcome = steps(chain(8), {}, noise=noise, offset_sd=OFFSET_SD).search(seed)
        assert not outcome.culprits
        assert outcome.kind in {OutcomeKind.NOT_REPRODUCED, OutcomeKind.INCONCLUSIVE}


def test_what_noise_hides_is_said_with_a_number() -> None:
    """Noise of 10% hides a step of 2%. The answer gives the larger change that would have been seen."""
    outcome = steps(chain(COMMITS), {20: 0.02}, noise="10%").search(1)
    assert outcome.kind in {OutcomeKind.NOT_REPRODUCED, OutcomeKind.INCONCLUSIVE}
    assert outcome.visible_effect is not None
    assert 0.02 < outcome.visible_effect < 0.2


@pytest.mark.parametrize(("true", "kind"), [(0.0, OutcomeKind.NOT_REPRODUCED), (0.1, OutcomeKind.CULPRIT)])
def test_a_change_that_was_expected_is_denied_by_few_executions_and_never_where_it_is_there(
    true: float, kind: OutcomeKind
) -> None:
    for seed in range(3):
        virtual = planted(8, effect=true, seed=seed, offset_sd=0.05)
        settings = {"one_machine": False, "expected_change": float(np.log1p(0.1))}
        outcome = virtual.search(seed, jobs=4, **settings)
        assert outcome.kind is kind
        assert true or outcome.executions <= 20


def test_a_machine_that_is_faster_than_the_stored_rounds_were_by_just_the_step_hides_nothing() -> None:
    """Stored rounds without the bad end made the good end's new level look like a mode of the machine."""
    for seed in range(8):
        virtual = steps(chain(14), {2: 1.4}, noise="10%", offset_sd=0.05)
        slower = virtual.machine(seed + 100)
        stored = [slower.run(["c0", "c4"])[0] for _ in range(6)]
        stored = [{commit: [2.4 * value for value in values] for commit, values in block.items()} for block in stored]
        settings = {"one_machine": False, "expected_change": float(np.log1p(1.4)), "budget_executions": 40}
        outcome = virtual.search(seed, jobs=4, stored=stored, sought=Sought.ANY, **settings)
        assert names(outcome) == virtual.culprits(), (seed, outcome)


def test_a_suspect_that_convinces_before_it_is_sure_is_measured_on() -> None:
    """Whole rounds confirm without new ones. The suspect once moved between search and confirmation without end."""
    virtual = planted(8, effect=STEP, seed=11, noise="heavy", offset_sd=OFFSET_SD)
    assert names(virtual.search(11)) in ([], virtual.culprits())


def test_a_suspect_meets_its_parent_once_the_ends_surely_differ() -> None:
    """The pair's rounds hold no ends. Started too early, they convinced repeatedly, but nothing could be named."""
    cell = next(cells("chain 64; heavy; offsets 6%"))
    assert trial(cell, "bayes", 1007, budget=400).verdict == "right"


@pytest.mark.parametrize("number", [1, 11])
def test_ends_that_will_hardly_decide_are_not_measured_to_the_last(number: int) -> None:
    """+2% at 10% noise: both searches once took 214 executions, 100 per end, and ended inconclusive."""
    answer = trial(Cell(history="chain", size=8, noise="10%", effect=0.02, offset_sd=0.0), "bayes", number, budget=400)
    assert answer.verdict == "none"
    assert 60 <= answer.executions < 150
