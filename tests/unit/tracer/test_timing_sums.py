from perf_culprit.explain.tracer.timing_sums import HookCost, Sums, corrected

COST = HookCost(interval_ns=100, inner_ns=50, c_interval_ns=20)


def test_hooks_own_time_is_taken_off() -> None:
    sums = Sums()
    sums.add(0, 1_000, 0)
    sums.add(0, 1_000, 2)
    sums.add(1, 1_000, 0)
    assert corrected(sums, {1}, COST) == {0: 2_000 - 2 * 100 - 2 * 50, 1: 1_000 - 20}


def test_a_correction_never_takes_a_time_away() -> None:
    sums = Sums()
    sums.add(0, 110, 30)
    assert corrected(sums, set(), COST) == {0: 11.0}
