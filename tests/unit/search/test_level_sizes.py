"""The size of a named commit's change in an answer."""

from collections.abc import Mapping

import numpy as np
import pytest

from perf_culprit.model.bisection import Job, NamedStep, Purpose, Result
from perf_culprit.search import pattern_evidence
from perf_culprit.search.level_sizes import level_difference, named_sizes, sizes_of
from tests.unit.search.test_search_view import ENDS, LEVELS, NOISE, RANGE, searched, standing

WHOLE = (Purpose.REPRODUCE, ("g", "c1", "c2", "c3", "c4"))
PAIR = (Purpose.CONFIRM, ("c1", "c2"))


def test_a_size_is_the_contrast_of_levels_by_least_squares() -> None:
    """The machine is quiet, so its rounds have no level of their own. The expected values are from statsmodels."""
    import statsmodels.api as sm  # a large import for one test

    where = searched(ENDS, (Purpose.SEARCH, ("g", "c1", "c2", "c4")), PAIR, named="c2")
    assert where.model.is_quiet
    commits = np.unique(where.samples.commit)
    dummies = (where.samples.commit[:, None] == commits).astype(float)
    contrast = (commits == 2).astype(float) - (commits == 1)
    expected = sm.OLS(where.samples.y, dummies).fit().t_test(contrast)
    (size,) = named_sizes(where)
    assert (size.center, size.spread) == pytest.approx((expected.effect.item(), expected.sd.item()), rel=1e-4)
    assert size.dof == expected.df_denom


@pytest.mark.parametrize("noise", [1, 40])
@pytest.mark.parametrize("others", [{"c4": 2.0}, {"c3": 0.7}, {"g": 0.8, "c4": 1.5}])
def test_what_other_commits_change_does_not_leak_into_a_named_ones_size(
    others: Mapping[str, float], noise: float
) -> None:
    where = searched(ENDS, WHOLE, PAIR, levels={**LEVELS, **others}, named="c2", noise=noise)
    (fitted,) = sizes_of(pattern_evidence.fit(where.model.design, where.model.named_columns))
    (size,) = named_sizes(where)
    assert abs(size.center - np.log(1.2)) < size.half
    assert size.half < 0.1
    assert abs(fitted.center - np.log(1.2)) > 0.1


def test_a_difference_of_levels_is_that_of_means_and_turns_with_its_ends() -> None:
    where = searched(ENDS, WHOLE, PAIR, levels={**LEVELS, "c4": 1.5}, named="c2")
    up, down = level_difference(where, 2, 4), level_difference(where, 4, 2)
    assert up is not None
    assert down is not None
    assert up.center == pytest.approx(np.log(1.25), abs=0.002)
    assert (down.center, down.spread) == pytest.approx((-up.center, up.spread), rel=1e-3)


def test_a_commit_without_samples_has_no_level() -> None:
    where = searched((Purpose.SEARCH, ("g", "c2", "c4")), named="c2")
    assert level_difference(where, 1, 2) is None
    assert level_difference(where, 2, 1) is None
    assert level_difference(where, 0, 2) is not None


def test_a_step_whose_edge_was_not_measured_has_the_fit_of_the_named_steps() -> None:
    where = searched((Purpose.SEARCH, ("g", "c2", "c4")), named="c2")
    (fitted,) = sizes_of(pattern_evidence.fit(where.model.design, where.model.named_columns))
    assert named_sizes(where) == (fitted,)


@pytest.mark.parametrize("first", [("g", "c1", "c2", "c3", "c4"), ("g", "c2", "c3", "c4")])  # 2 and 1 to spare
def test_where_too_few_samples_say_the_noise_other_commits_have_the_levels_of_the_named_steps(
    first: tuple[str, ...],
) -> None:
    where = searched((Purpose.SEARCH, first), PAIR, named="c2", noise=8).before(2)
    (size,) = named_sizes(where)
    assert size.dof == 2
    assert size.center == pytest.approx(np.log(1.2), abs=0.02)


def test_a_merge_changes_what_it_changes_against_its_nearest_parent() -> None:
    levels = {"g": 1.0, "c2": 1.0, "c3": 1.2, "c4": 1.25, "c6": 1.25}
    jobs = tuple(Job(id=f"{i}", commits=tuple(levels), purpose=Purpose.SEARCH) for i in range(4))
    results = [
        Result(job_id=job.id, values={c: (level * NOISE[(i + k) % 5],) for k, (c, level) in enumerate(levels.items())})
        for i, job in enumerate(jobs)
    ]
    named = (NamedStep(commit="c4", posterior=1.0, log_bayes_factor=9.0),)
    (size,) = named_sizes(standing(RANGE, *results, jobs=jobs, named=named))
    assert size.center == pytest.approx(np.log(1.25 / 1.2), abs=0.002)
