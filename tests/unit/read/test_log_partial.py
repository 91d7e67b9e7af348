"""Stretches of a log: the lines that are used, those that are only counted, and calls across edges."""

import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.call_tree import LineFault
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.read.logs.log_partial import Part, finish, merge
from perf_culprit.read.logs.log_pattern import compile_pattern, load_pattern
from perf_culprit.read.logs.reading_settings import ReadingSettings
from tests.support.execution_logs import Execution, call, line, log, part_of, paths, trees_of

ROWS = [("1", "order", 10.0), ("1.1", "find", 4.0), ("1.1.1", "read", 1.0)]


ANY_TIME = compile_pattern(rb"(?P<service>s) (?P<call>c) (?P<label>\S+) (?P<method>\S+) (?P<elapsed_ms>.*)", name="p")


ONE_CALL = {"order": (1, 10, 6), "order > find": (1, 4, 3), "order > find > read": (1, 1, 1)}


def test_a_call() -> None:
    assert paths(trees_of(part_of(log(call("c1", ROWS))))["shop"]) == ONE_CALL


def test_windows_line_ends_and_no_end_at_all() -> None:
    data = log(call("c1", ROWS)).replace(b"\n", b"\r\n").rstrip()
    assert paths(trees_of(part_of(data))["shop"]) == ONE_CALL


def test_interleaved_threads() -> None:
    threads = [call(f"c{i}", ROWS) for i in range(5)]
    data = log(execution for executions in zip(*threads, strict=True) for execution in executions)
    assert paths(trees_of(part_of(data))["shop"])["order > find"] == (5, 20, 15)


@pytest.mark.parametrize("horizon", [1, 3, 100])
def test_a_call_over_the_edge_of_blocks(horizon: int) -> None:
    lines = [line(execution) for execution in [*call("c1", ROWS), *call("c2", ROWS), *call("c3", ROWS)]]
    for cut in range(len(lines) + 1):
        head, tail = b"".join(lines[:cut]), b"".join(lines[cut:])
        whole = merge(part_of(head, horizon=horizon), part_of(tail, horizon=horizon))
        assert paths(trees_of(whole)["shop"])["order > find > read"] == (3, 3, 3)


def test_beyond_the_horizon_a_name_is_another_call() -> None:
    first = part_of(log([*call("c1", ROWS[:1]), *call("x", [("1", "other", 1.0)] * 1), *call("y", ROWS)]), horizon=2)
    second = part_of(log(call("c1", ROWS[1:])), horizon=2)
    assert trees_of(merge(first, second))["shop"].calls == 4


def test_two_open_calls_of_one_name_are_each_joined_on_their_own_side() -> None:
    other = call("x", [("1", "other", 1.0), ("1.1", "other", 1.0), ("1.2", "other", 1.0)])
    stretches = [
        call("c1", [("1.1", "find", 4.0)]),
        [*call("c1", [("1", "order", 10.0)]), *other],
        call("c1", [("1", "order", 20.0)]),
        call("c1", [("1.1", "save", 5.0)]),
    ]
    parts = [part_of(log(stretch), horizon=3) for stretch in stretches]
    middle = merge(parts[1], parts[2])
    assert [call.key[1] for call in middle.open_calls].count(b"c1") == 2
    for whole in (merge(merge(parts[0], middle), parts[3]), merge(parts[0], merge(middle, parts[3]))):
        files = paths(trees_of(whole)["shop"])
        assert (files["order"], files["order > find"], files["order > save"]) == ((2, 30, 21), (1, 4, 4), (1, 5, 5))


def test_broken_lines_are_counted_and_shown_with_their_numbers() -> None:
    data = b"start of the log\n\n" + log(call("c1", ROWS)) + b"y" * (FILE_LIMITS.log_line_bytes + 1) + b"\n"
    whole = merge(part_of(data), part_of(b"Exception: no\n\tat line 5"))
    assert whole.unused == {LineFault.NO_MATCH: 3, LineFault.TOO_LONG: 1}
    assert [(example.fault, example.line) for example in whole.examples] == [
        (LineFault.NO_MATCH, 1),
        (LineFault.TOO_LONG, 6),
        (LineFault.NO_MATCH, 7),
        (LineFault.NO_MATCH, 8),
    ]
    assert whole.lines == 8
    assert paths(trees_of(whole)["shop"]) == ONE_CALL


@pytest.mark.parametrize("elapsed", ["-1", "1e13", "nan", "inf", "-inf", "12,5", "", "1.2.3"])
def test_bad_times(elapsed: str) -> None:
    data = f"s c 1 order 10\ns c 1.1 find {elapsed}\ns c 1.2 save 3\n".encode()
    broken = part_of(data, pattern=ANY_TIME)
    tree = trees_of(broken)["s"]
    assert paths(tree) == {"order": (1, 10, 7), "order > save": (1, 3, 3)}


@pytest.mark.parametrize("elapsed", ["4.", "+4", "04.0", "0_4"])
def test_times_that_json_writes_in_another_way(elapsed: str) -> None:
    read = part_of(f"s c 1 order 10\ns c 1.1 find {elapsed}\n".encode(), pattern=ANY_TIME)
    assert paths(trees_of(read)["s"])["order > find"] == (1, 4, 4)


def test_bad_labels_and_groups_that_took_no_part() -> None:
    pattern = compile_pattern(
        rb"(?:(?P<service>s)|t) (?P<call>\w) (?P<label>\S*) (?:(?P<method>[a-z]+)|-) (?P<elapsed_s>\d+)", name="p"
    )
    lines = [
        b"s c 1 order 10", b"s c 1..1 find 1", b"s c .1 find 1", b"s c 1. find 1", b"s c  find 1",
        b"s c " + b"1." * 20_000 + b"1 find 1", b"s c 1.2 - 1", b"t c 1 order 10",
    ]  # fmt: skip
    broken = finish(part_of(b"\n".join(lines), pattern=pattern))
    assert broken.unused == {LineFault.LABEL: 5, LineFault.NO_MATCH: 2}
    assert paths(trees_of(broken)["s"]) == {"order": (1, 10_000, 10_000)}


def test_a_name_that_comes_again_is_another_call() -> None:
    twice = trees_of(part_of(log(call("c1", ROWS) + call("c1", ROWS))))["shop"]
    assert paths(twice) == {name: (2 * n, 2 * t, 2 * s) for name, (n, t, s) in ONE_CALL.items()}
    backwards = trees_of(part_of(log(call("c1", ROWS)[::-1] + call("c1", ROWS)[::-1])))["shop"]
    assert paths(backwards) == paths(twice)


def test_a_name_that_two_threads_use_at_once() -> None:
    data = log(
        Execution(label=label, method=method, elapsed_ms=elapsed, thread=thread)
        for label, method, elapsed in ROWS
        for thread in ("exec-1", "exec-2")
    )
    assert paths(trees_of(part_of(data))["shop"])["order > find > read"] == (2, 2, 2)


def test_a_line_logged_twice_counts_once() -> None:
    whole = finish(part_of(log([call("c1", ROWS)[0], *call("c1", ROWS)])))
    assert whole.unused == {LineFault.REPEATED: 1}
    assert paths(trees_of(whole)["shop"]) == ONE_CALL


def test_without_times_equal_lines_are_calls_of_their_own() -> None:
    pattern = compile_pattern(rb"(?P<service>s) (?P<call>c) (?P<label>\S+) (?P<method>m) (?P<elapsed_ms>\d+)", name="p")
    assert trees_of(part_of(b"s c 1 m 5\n" * 3, pattern=pattern))["s"].calls == 3


def test_calls_without_root_are_in_trees_and_counted() -> None:
    whole = finish(part_of(log(call("c1", ROWS[1:]))))
    assert whole.services[b"shop"].headless_calls == 1
    assert whole.services[b"shop"].times.calls == 0
    assert paths(trees_of(whole)["shop"]) == {"find": (1, 4, 3), "find > read": (1, 1, 1)}


def test_clock_steps_back_are_no_matter() -> None:
    data = log([*call("c1", ROWS, second=5_000), *call("c2", ROWS, second=100)])
    windows = dict(finish(part_of(data)).services[b"shop"].times.windows)
    assert sorted(total[0] for total in windows.values()) == [1, 1]


def test_10_000_levels() -> None:
    depth = 10_000
    pattern = compile_pattern(
        rb"(?P<service>s) (?P<call>c) (?P<label>[1.]+) (?P<method>m) (?P<elapsed_ms>\d+)", name="p"
    )
    data = b"".join(b"s c %s m %d\n" % (b".".join([b"1"] * level), depth - level) for level in range(1, depth, 7))
    tree = trees_of(part_of(data, pattern=pattern))["s"]
    assert len(tree.nodes) == len(range(1, depth, 7))
    assert tree.nodes[-1].parent == len(tree.nodes) - 2


def test_names_with_every_byte() -> None:
    data = b"".join(b"1 2 [t] service=%c call=c 1 m%c 1 ms\n" % (byte, byte) for byte in range(0x21, 256))
    whole = part_of(data)
    assert whole.rows == 256 - 0x21
    assert trees_of(whole)["!"].nodes[0].method == "m!"
    escaped = rb'{"service": "\u0000\n\u202e", "call": "\ud800", "label": "1", "method": "\u001b[2J", "elapsed_ms": 1}'
    assert trees_of(part_of(escaped, pattern=load_pattern("json")))["\x00\n\u202e"].nodes[0].method == "\x1b[2J"


def test_a_call_that_never_ends_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(FILE_LIMITS), "call_rows", 100)
    rows = [("1", "order", 300.0), *((f"1.{i}", "find", 1.0) for i in range(1, 151))]
    whole = merge(part_of(log(call("c1", rows))), part_of(log(call("c1", [("1.151", "find", 1.0)]))))
    assert whole.cut_calls == 1
    assert trees_of(whole)["shop"].calls == 2


def test_services_that_never_repeat_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(FILE_LIMITS), "services", 10)
    data = log(execution for i in range(11) for execution in call("c1", ROWS, service=f"s{i}"))
    with pytest.raises(DataError, match="more than 10 different services"):
        trees_of(part_of(data))
    lines = data.splitlines(keepends=True)
    first, second = (finish(part_of(b"".join(half))) for half in (lines[:18], lines[18:]))
    with pytest.raises(DataError, match="more than 10 different services"):
        merge(first, second)


def test_nothing_is_neutral() -> None:
    some = part_of(log(call("c1", ROWS)))
    assert merge(Part(settings=ReadingSettings()), some) is some
    assert merge(some, part_of(b"")) is some
