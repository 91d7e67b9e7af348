"""The one metric that is followed, or a message that lists the available metrics."""

import pytest

from perf_culprit.errors import DataError, UsageError
from perf_culprit.measure import worktree_executor
from perf_culprit.measure.worktree_executor import require_benchmark
from perf_culprit.model.run import Benchmark, Direction, Metric, MetricKey, Run

TIME = Metric(name="time", unit="s", direction=Direction.LOWER_IS_BETTER)
MEMORY = Metric(name="memory", unit="B", direction=Direction.LOWER_IS_BETTER)
LOAD = Metric(name="load", unit="", direction=Direction.UNKNOWN)


def run_of(*entries: tuple[str, Metric], values: tuple[float, ...] = ()) -> Run:
    numbers = values or (1.0,) * len(entries)
    return Run(
        benchmarks=tuple(
            Benchmark.of(name=name, metric=metric, samples=(value,))
            for (name, metric), value in zip(entries, numbers, strict=True)
        )
    )


def choose_metric(
    good: Run, bad: Run, *, benchmark: str | None, metric: str | None, lines: list[str] | None = None
) -> tuple[MetricKey, Metric]:
    say = [] if lines is None else lines
    return worktree_executor.choose_metric(good, bad, benchmark=benchmark, metric=metric, say=say.append)


BOTH = run_of(("parse", TIME), ("parse", MEMORY), ("render", TIME))


def test_one_metric_needs_no_name() -> None:
    only = run_of(("parse", TIME))
    assert choose_metric(only, only, benchmark=None, metric=None) == (MetricKey("parse", "time"), TIME)


def test_names_narrow_the_choice() -> None:
    assert choose_metric(BOTH, BOTH, benchmark="parse", metric="memory") == (MetricKey("parse", "memory"), MEMORY)
    assert choose_metric(BOTH, BOTH, benchmark="render", metric=None)[0] == MetricKey("render", "time")
    assert choose_metric(BOTH, BOTH, benchmark=None, metric="memory")[0] == MetricKey("parse", "memory")


def test_what_only_one_end_has_is_no_choice() -> None:
    more = run_of(("parse", TIME), ("new", TIME))
    assert choose_metric(run_of(("parse", TIME)), more, benchmark=None, metric=None)[0] == MetricKey("parse", "time")


@pytest.mark.parametrize(
    ("good", "bad", "end"),
    [
        (run_of(("old", TIME)), run_of(("new", TIME)), "bad"),
        (run_of(("other", TIME)), run_of(("old", TIME)), "good"),
    ],
)
def test_a_benchmark_of_one_end_only(good: Run, bad: Run, end: str) -> None:
    with pytest.raises(DataError, match=f"old .time. is not measured at the {end} commit"):
        choose_metric(good, bad, benchmark="old", metric=None)


def test_of_several_the_one_that_changed_most_is_followed_and_said() -> None:
    entries = (("parse", TIME), ("parse", MEMORY), ("render", TIME), ("load", LOAD))
    good, bad = run_of(*entries, values=(1.0, 100.0, 2.0, 1.0)), run_of(*entries, values=(1.1, 60.0, 3.0, 9.0))
    lines: list[str] = []
    assert choose_metric(good, bad, benchmark=None, metric=None, lines=lines) == (MetricKey("parse", "memory"), MEMORY)
    (line,) = lines
    assert line.startswith("the search follows parse (memory), which changed most of 4 metrics (-40.0%, one execution")
    assert line.endswith("--benchmark and --metric choose another")
    assert choose_metric(good, bad, benchmark=None, metric="time")[0] == MetricKey("render", "time")
    zero = run_of(*entries, values=(1.0, 0.0, 2.0, 1.0))
    assert choose_metric(zero, bad, benchmark=None, metric=None, lines=lines)[0] == MetricKey("parse", "memory")
    assert "from or to zero" in lines[-1]


def test_a_name_that_matches_nothing_lists_what_there_is() -> None:
    many = run_of(*((f"b{number}", TIME) for number in range(50)))
    with pytest.raises(UsageError) as caught:
        choose_metric(many, many, benchmark="prase", metric="time")
    assert "there is no benchmark 'prase' with a metric 'time'" in str(caught.value)
    assert "b19 (time) and 30 more" in str(caught.value)


def test_names_in_messages_are_one_harmless_line() -> None:
    odd = run_of(("a\n::error::x\x1b[2J", TIME), ("b", TIME))
    lines: list[str] = []
    choose_metric(odd, odd, benchmark=None, metric=None, lines=lines)
    assert "\x1b" not in lines[0]
    assert not any(line.lstrip().startswith("::") for line in lines[0].splitlines())


def test_an_unknown_name_is_refused_at_the_first_end_with_the_nearest_first() -> None:
    one = run_of(("b.py::test_read", TIME), ("b.py::test_write[1]", TIME))
    require_benchmark(one, benchmark="b.py::test_read", metric=None, end="good")
    with pytest.raises(UsageError, match="at the good commit") as caught:
        require_benchmark(one, benchmark="b.py::test_write[2]", metric=None, end="good")
    assert (caught.value.next_step or "").startswith("use one of: b.py::test_write[1]")


def test_a_metric_without_a_good_direction() -> None:
    with pytest.raises(UsageError, match="lower or higher"):
        choose_metric(run_of(("a", LOAD)), run_of(("a", LOAD)), benchmark="a", metric=None)
