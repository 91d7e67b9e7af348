import gc
import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from coverage import Coverage

from perf_culprit.explain.tracer.call_paths import TracedScope
from perf_culprit.explain.tracer.session import run_trace, trace
from perf_culprit.explain.tracer.trace_profile import as_profile, descended_paths, encode_trace
from perf_culprit.explain.tracer.tracer_fault import TraceError
from perf_culprit.model.call_tree import decode_profile
from tests.support import traced_programs
from tests.support.interpreters import newer_interpreters
from tests.support.profiles import encode_profile
from tests.support.traced import ROOT, traced

BOTH = pytest.mark.parametrize("newer", [pytest.param(False, id="this Python"), pytest.param(True, id="3.12 or newer")])
SUPPORT = Path(traced_programs.__file__).parent


@pytest.fixture(scope="module", autouse=True)
def few_objects() -> Iterator[None]:
    """Hide a worker's collected tests from the tracer, which looks for functions among all objects."""
    gc.freeze()
    importlib.reload(traced_programs)
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def without_coverage() -> Iterator[None]:
    """Stop coverage: a tracer refuses to run next to another, and pytest-cov's `no_cover` stops one of two in xdist."""
    measuring = Coverage.current()
    if measuring is not None:
        measuring.stop()
    tracer = sys.gettrace()
    sys.settrace(None)
    yield
    sys.settrace(tracer)
    if measuring is not None:
        measuring.start()


@BOTH
def test_calls_are_counted_along_their_path(newer: bool) -> None:
    seen = traced("chatty", newer=newer)
    assert seen["chatty"].calls == 1
    assert seen["chatty/tiny"].calls == 300


@BOTH
def test_a_generators_resumptions_are_no_calls_and_its_pauses_no_time(newer: bool) -> None:
    seen = traced("generator", newer=newer)
    assert seen["generator/numbers"].calls == 1
    assert seen["generator/numbers/spin"].calls == 4
    assert seen["generator/spin"].calls == 4
    attempts = [seen, *(traced("generator", newer=newer) for _ in range(3))]
    # The two are timed one after the other, so a machine that slows down in between needs another attempt.
    assert min(one["generator/numbers"].elapsed_ms / one["generator"].elapsed_ms for one in attempts) < 0.9


@BOTH
def test_a_coroutine_is_timed_only_while_it_runs(newer: bool) -> None:
    seen = traced("coroutines", newer=newer)
    (path,) = [path for path in seen if path.endswith("/step")]
    assert seen[path].calls == 2
    assert seen[f"{path}/spin"].calls == 4
    assert seen["coroutines"].elapsed_ms > 20
    assert seen[path].elapsed_ms < 15


@BOTH
def test_recursion_is_one_node_with_all_its_calls(newer: bool) -> None:
    seen = traced("recursion", newer=newer)
    assert [path for path in seen if "countdown" in path] == ["recursion/countdown"]
    assert seen["recursion/countdown"].calls == 51


@BOTH
def test_mutual_recursion_is_folded_too(newer: bool) -> None:
    seen = traced("mutual", newer=newer)
    assert {path: seen[path].calls for path in seen if not path.endswith("range")} == {
        "mutual": 1,
        "mutual/ping": 6,
        "mutual/ping/spin": 6,
        "mutual/ping/pong": 5,
    }


@BOTH
def test_an_error_ends_the_time_of_what_it_leaves(newer: bool) -> None:
    seen = traced("raising", newer=newer)
    assert seen["raising/fail"].calls == 3
    assert seen["raising/fail"].elapsed_ms > 0
    assert seen["raising/fail/spin"].calls == 3


@BOTH
def test_threads_are_merged_by_what_they_run(newer: bool) -> None:
    seen = traced("threads", newer=newer)
    assert seen["in_thread"].calls == 2
    assert seen["in_thread/spin"].calls == 2


@BOTH
def test_a_decorated_function_lies_under_its_wrapper(newer: bool) -> None:
    seen = traced("decorators", newer=newer)
    assert seen["decorators/decorator.<locals>.wrapper"].calls == 1
    assert seen["decorators/decorator.<locals>.wrapper/decorated"].calls == 1


@BOTH
def test_methods_of_one_name_are_told_apart_by_their_class(newer: bool) -> None:
    seen = traced("namesakes", newer=newer)
    assert {path for path in seen if path.endswith("run")} == {"namesakes/First.run", "namesakes/Second.run"}


@BOTH
def test_a_helper_on_two_levels_is_timed_on_both_paths(newer: bool) -> None:
    seen = traced("shared", newer=newer)
    assert seen["shared/helper"].calls == 1
    assert seen["shared/parse/helper"].calls == 1


def test_c_functions_are_leaves_unless_they_call_python() -> None:
    seen = traced("c_functions", newer=True)
    assert seen["c_functions/sum"].calls == 10
    assert seen["c_functions/tiny"].calls == 3
    assert not any("sorted" in path for path in seen)


def test_before_3_12_c_functions_stay_in_their_callers_time() -> None:
    if sys.version_info >= (3, 12):
        pytest.skip("this interpreter has sys.monitoring")
    assert not any("sum" in path for path in traced("c_functions", newer=False))


@BOTH
def test_10_000_levels_of_recursion(newer: bool) -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); sys.setrecursionlimit(12_000)\n"
        "from perf_culprit.explain.tracer.session import TracedScope, run_trace\n"
        "def down(n): return n and down(n - 1)\n"
        "def main(): down(10_000)\n"
        "trace = run_trace(main, repetitions=1, scope=TracedScope('.', ('<string>',)), service='main')\n"
        "print([(node.method.name, node.calls) for node in trace.nodes])\n"
    )
    from tests.support.interpreters import newer_interpreter

    interpreter = newer_interpreter() if newer else sys.executable
    output = subprocess.run([interpreter, "-I", "-c", program], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[('<string>.main', 1), ('<string>.down', 10001)]"


@BOTH
def test_the_package_works_alone(newer: bool) -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); before = set(sys.modules)\n"
        "from perf_culprit.explain import tracer\n"
        "from perf_culprit.explain.tracer import trace_child, traced_command\n"
        "names = {name.split('.')[0] for name in set(sys.modules) - before}\n"
        "print(sorted(names - sys.stdlib_module_names - {'perf_culprit'}))\n"
        "ours = sorted(name for name in sys.modules if name.startswith('perf_culprit.'))\n"
        "print([name for name in ours if not name.startswith('perf_culprit.explain')])\n"
    )
    from tests.support.interpreters import newer_interpreter

    interpreter = newer_interpreter() if newer else sys.executable
    output = subprocess.run([interpreter, "-I", "-S", "-c", program], capture_output=True, text=True, check=True).stdout
    assert output.split("\n")[:2] == ["[]", "[]"]


def test_what_is_written_is_what_the_codec_reads() -> None:
    written = run_trace(traced_programs.shared, repetitions=2, scope=TracedScope(str(SUPPORT)), service="shared")
    profile = decode_profile(encode_trace(written), place="trace.json")
    assert [node.method for node in profile.nodes] == [node.method for node in as_profile(written).nodes]
    assert decode_profile(encode_profile(profile), place="again") == profile
    assert profile.repetitions == 2
    helper = next(node for node in profile.nodes if node.method.endswith(".helper"))
    assert (helper.file, helper.line) == ("traced_programs.py", traced_programs.helper.__code__.co_firstlineno)


def test_paths_with_callees_are_descended_in_the_other_revision_too() -> None:
    profile = trace(traced_programs.shared, repetitions=1, root=SUPPORT, full=True)
    name = "traced_programs"
    assert {path for path in descended_paths([profile]) if len(path) == 1} == {(f"{name}.shared",)}
    assert (f"{name}.shared", f"{name}.parse") in descended_paths([profile])


def test_a_second_trace_sees_code_that_the_first_one_did_not_time() -> None:
    """The first trace's last pass disables events for all code but one method, and some Pythons remember that."""
    program = (
        f"import sys; sys.path[:0] = [{str(ROOT)!r}, {str(SUPPORT)!r}]; import traced_programs\n"
        "from perf_culprit.explain.tracer.session import TracedScope, run_trace\n"
        f"scope = TracedScope({str(SUPPORT)!r})\n"
        "kept = dict(scope=scope, service='s', minimum_share=0.0)\n"
        "sizes = [len(run_trace(traced_programs.shared, repetitions=1, **kept).nodes) for _ in range(3)]\n"
        "print(len(set(sizes)), sizes[0] > 2)"
    )
    for interpreter in {sys.executable, *newer_interpreters()}:
        output = subprocess.run([interpreter, "-c", program], capture_output=True, text=True, check=True).stdout
        assert output.strip() == "1 True", interpreter


def test_another_profiler_is_refused() -> None:
    sys.setprofile(lambda *_: None)
    try:
        with pytest.raises(TraceError, match="would be measured too"):
            trace(traced_programs.shared, root=SUPPORT)
    finally:
        sys.setprofile(None)


def test_a_profiler_that_the_program_sets_is_refused() -> None:
    def workload() -> None:
        sys.setprofile(lambda *_: None)

    try:
        with pytest.raises(TraceError, match="would be measured too"):
            trace(workload, root=Path(__file__).parent)
    finally:
        sys.setprofile(None)


def test_a_workload_without_the_users_code_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="no code that is to be followed"):
        trace(traced_programs.shared, root=tmp_path, repetitions=1)


def test_the_workloads_own_error_passes_and_leaves_nothing_behind() -> None:
    code = traced_programs.fail.__code__
    with pytest.raises(ValueError, match=r"^$"):
        trace(traced_programs.fail, root=SUPPORT)
    assert traced_programs.fail.__code__ is code
    assert sys.getprofile() is None
