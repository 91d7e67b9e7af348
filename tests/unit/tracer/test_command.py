import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from perf_culprit.explain.tracer import traced_command
from perf_culprit.explain.tracer.trace_child import FOLDER_VARIABLE
from perf_culprit.explain.tracer.trace_levels import Budget
from perf_culprit.explain.tracer.trace_profile import CallTrace
from perf_culprit.explain.tracer.traced_command import Execute, executed_functions, trace_command
from perf_culprit.explain.tracer.tracer_fault import TraceError
from tests.support.interpreters import newer_interpreter, newer_interpreters

BENCHMARK = """
import sys
import perf_culprit

def tiny(x):
    return x + 1

def work():
    for number in range(500):
        tiny(number)

work()
perf_culprit.own()
sys.exit(0)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "bench.py").write_text(BENCHMARK)
    # A program may have a module with our package's name, and it must find its own.
    (tmp_path / "perf_culprit.py").write_text("def own(): return [i for i in range(100)]\n")
    return tmp_path


def running(*command: str | Path, folder: Path, ran: list[Mapping[str, str]] | None = None) -> Execute:
    def execute(variables: Mapping[str, str]) -> None:
        if ran is not None:
            ran.append(variables)
        subprocess.run(command, cwd=folder, env={**os.environ, **variables}, check=True, capture_output=True)

    return execute


def traced(execute: Callable[[Mapping[str, str]], None], folder: Path, *, repetitions: int = 2) -> CallTrace:
    return trace_command(execute, root=folder, service="benchmark", repetitions=repetitions, minimum_share=0.0)


def test_a_script_is_traced_in_processes_of_its_own(project: Path) -> None:
    ran: list[Mapping[str, str]] = []
    trace = traced(running(newer_interpreter(), "bench.py", folder=project, ran=ran), project)
    calls = {node.method.name: node.calls for node in trace.nodes}
    assert calls["bench.<module>"] == 1
    assert calls["bench.work"] == 1
    assert calls["bench.tiny"] == 500
    assert calls["perf_culprit.own"] == 1
    assert len(ran) == 1 + 2 * (len(ran) // 2)
    assert all(len(node.elapsed_ms) == 2 for node in trace.nodes)


def test_two_processes_of_one_command_count_together(project: Path) -> None:
    python = newer_interpreter()
    execute = running("sh", "-c", f"{python} bench.py; {python} bench.py", folder=project)
    calls = {node.method.name: node.calls for node in traced(execute, project, repetitions=1).nodes}
    assert calls["bench.tiny"] == 1000


def test_the_sitecustomize_that_was_there_still_runs(project: Path) -> None:
    (project / "sitecustomize.py").write_text("import os; open(os.environ['SEEN'], 'a').write('x')\n")
    seen = project / "seen"
    python = newer_interpreter()

    def execute(variables: Mapping[str, str]) -> None:
        path = f"{variables['PYTHONPATH']}:{project}"
        environment = {**os.environ, **variables, "PYTHONPATH": path, "SEEN": str(seen)}
        subprocess.run([python, "bench.py"], cwd=project, env=environment, check=True)

    traced(execute, project, repetitions=1)
    assert seen.read_text()


def test_a_profiler_in_the_command_is_refused(project: Path) -> None:
    (project / "bench.py").write_text("import sys\nsys.setprofile(lambda *_: None)\n")
    with pytest.raises(TraceError, match="would be measured too"):
        traced(running(newer_interpreter(), "bench.py", folder=project), project)


THREADED = """
import json, threading
import shop

class Cart:
    def total(self):
        return [price() for _ in range(3)]

    def unused(self):
        return 0

def price():
    return json.dumps({})

thread = threading.Thread(target=shop.serve)
thread.start()
thread.join()
Cart().total()
"""


@pytest.mark.parametrize("python", [sys.executable, *newer_interpreters()])
def test_one_execution_lists_the_functions_that_run(tmp_path: Path, python: str) -> None:
    (tmp_path / "bench.py").write_text(THREADED)
    (tmp_path / "shop.py").write_text("def serve(): pass\n\ndef other(): pass\n")
    ran: list[Mapping[str, str]] = []
    executed = executed_functions(running(python, "bench.py", folder=tmp_path, ran=ran), root=tmp_path)
    functions = {one for one in executed if "<" not in one[1]}
    assert functions == {("bench.py", "Cart"), ("bench.py", "Cart.total"), ("bench.py", "price"), ("shop.py", "serve")}
    assert ("shop.py", "<module>") in executed
    assert len(ran) == 1


def test_a_command_without_python_is_executed_once_and_lists_nothing(tmp_path: Path) -> None:
    ran: list[Mapping[str, str]] = []
    assert executed_functions(running("true", folder=tmp_path, ran=ran), root=tmp_path) == frozenset()
    assert len(ran) == 1


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (("python3", "-E", "bench.py"), "python -E"),
        (("sh", "-c", "PYTHONPATH=lib exec python3 bench.py"), "PYTHONPATH of its own"),
        (("python3", "-c", "pass"), "no file of the checkout"),
        (("sh", "-c", 'echo \'{"refused": "too old"}\' > $PERF_CULPRIT_TRACE/result-1.json'), "too old"),
    ],
)
def test_a_python_that_lists_nothing_has_a_reason(tmp_path: Path, command: tuple[str, ...], reason: str) -> None:
    (tmp_path / "bench.py").write_text("import time\ntime.sleep(0.2)\n")
    here = [word.replace("python3", sys.executable) for word in command]
    with pytest.raises(TraceError, match=reason):
        executed_functions(running(*here, folder=tmp_path), root=tmp_path, is_watched=True)


BUSY = """
import os, sys, time, timeit

def wait(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

def culprit():
    wait(0.2)

def work():
    culprit()
    wait(0.05)

wait(0.1)
timeit.timeit(work, number=1)
if len(sys.argv) == 1:
    os.execv(sys.executable, [sys.executable, "-c", "while __import__('time').process_time() < 0.1: pass"])
"""


@pytest.mark.parametrize("seconds", [0.5, None], ids=["no time for levels", "an older Python"])
def test_stacks_are_sampled_where_levels_cannot_be_traced(tmp_path: Path, seconds: float | None) -> None:
    if seconds is None and sys.version_info >= (3, 12):
        pytest.skip("this interpreter can trace commands")
    python = newer_interpreter() if seconds else sys.executable
    (tmp_path / "bench.py").write_text(BUSY)
    messages: list[str] = []
    trace = trace_command(
        running(python, "bench.py", "once", folder=tmp_path),
        root=tmp_path,
        service="benchmark",
        repetitions=2,
        budget=Budget(seconds=seconds, say=messages.append),
    )
    assert (trace.is_sampled, trace.repetitions) == (True, 2)
    assert "stacks are sampled: 2 executions" in messages[0]
    nodes = {(node.method.name, node.parent): node for node in trace.nodes}
    work, culprit = nodes["bench.work", None], nodes["bench.culprit", 0]
    assert all(200 <= sum(own) < 600 for own in zip(*(node.self_ms for node in trace.nodes), strict=True))
    assert all(part > 0.5 * whole for part, whole in zip(culprit.elapsed_ms, work.elapsed_ms, strict=True))
    assert {node.calls for node in trace.nodes} == {None}


def test_a_sampled_program_may_put_another_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "bench.py").write_text(BUSY)
    execute = running(sys.executable, "bench.py", folder=tmp_path)
    with pytest.raises(TraceError, match="no sample fell into Python code"):
        trace_command(execute, root=tmp_path, service="benchmark", repetitions=2, is_sampled=True)


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside a Python that was there before"])
def test_a_command_without_python_is_refused(project: Path, *, beside: bool) -> None:
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env={}) if beside else None
    with pytest.raises(TraceError, match="left a trace: it runs no Python") as refused:
        traced(running("sleep", "0.5", folder=project), project)
    assert "--profile" in refused.value.next_step
    if other is not None:
        other.communicate(b"\n")


UNTIL_SEEN = """
import os, time
for _ in range(6000):
    if not os.path.exists("unseen"):
        break
    time.sleep(0.01)
"""


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are looked at in /proc")
@pytest.mark.parametrize(
    ("command", "why", "next_step"),
    [
        ("PYTHONPATH=. {python} bench.py", "sets a PYTHONPATH of its own", "PYTHONPATH=lib:$PYTHONPATH"),
        ("{python} -I bench.py", "`python -I`", "leave out -I"),
        ("{python} -sE -X utf8 bench.py", "`python -E`", "leave out -E"),
        ("{python} -W ignore -S bench.py", "`python -S`", "leave out -S"),
        ("env -i {python} bench.py", "without the environment", "PERF_CULPRIT_TRACE"),
        ("{python} -c 'exec(open(\"bench.py\").read()); os._exit(0)' -I -E -S", "os._exit", "end by itself"),
    ],
)
def test_why_the_tracer_was_lost(
    project: Path, monkeypatch: pytest.MonkeyPatch, command: str, why: str, next_step: str
) -> None:
    (project / "bench.py").write_text(UNTIL_SEEN)
    unseen, own, read = project / "unseen", traced_command._read_process(os.getpid()), traced_command._read_process
    execute = running("sh", "-c", command.format(python=newer_interpreter()), folder=project)

    def look(pid: int) -> traced_command.StartedProcess | None:
        process = read(pid)
        if process is not None and process.is_python and process != own:
            unseen.unlink(missing_ok=True)
        return process

    def watched(variables: Mapping[str, str]) -> None:
        """Execute, and let `look` watch for the next execution. The first one is traced, the second one watched."""
        execute(variables)
        unseen.touch()

    monkeypatch.setattr(traced_command, "_read_process", look)
    with pytest.raises(TraceError) as told:
        traced(watched, project)
    assert why in told.value.message
    assert next_step in told.value.next_step


@pytest.mark.parametrize(
    "result",
    [
        {"tree": [["x", None, None, False, 5, 1, False, []]]},
        {"tree": [["x", None, None, False, -1, 1, False, [7]]]},
        {"tree": [[]]},
        {"tree": 3},
        {},
    ],
)
def test_a_damaged_result_is_an_error_of_the_command(tmp_path: Path, result: object) -> None:
    def execute(variables: Mapping[str, str]) -> None:
        Path(variables[FOLDER_VARIABLE], "result-1.json").write_text(json.dumps(result))

    with pytest.raises(TraceError, match="damaged trace"):
        traced(execute, tmp_path)


SETUP = """
def prepare():
    return sum(range(20_000))

def step(x):
    return x + 1

def work():
    return [step(number) for number in range(500)]

prepare()
"""


@pytest.mark.parametrize(
    ("end", "at"),
    [("work()", "bench:work"), ("import timeit; timeit.timeit(work, number=3)", None)],
    ids=["named", "found"],
)
def test_imports_and_set_up_are_left_out(tmp_path: Path, end: str, at: str | None) -> None:
    (tmp_path / "bench.py").write_text(SETUP + end)
    messages: list[str] = []
    trace = trace_command(
        running(newer_interpreter(), "bench.py", folder=tmp_path),
        root=tmp_path,
        service="benchmark",
        repetitions=1,
        minimum_share=0.0,
        at=at,
        budget=Budget(say=messages.append),
    )
    assert {(node.method.name, node.parent) for node in trace.nodes if node.method.file} == {
        ("bench.work", None),
        ("bench.step", 0),
    }
    assert messages[0] == "from bench.work on; imports and set-up are left out"


def test_a_function_that_is_never_called_is_answered_with_those_that_are(tmp_path: Path) -> None:
    (tmp_path / "bench.py").write_text(SETUP + "work()")
    execute = running(newer_interpreter(), "bench.py", folder=tmp_path)
    with pytest.raises(TraceError, match="never calls bench:wrok") as caught:
        trace_command(execute, root=tmp_path, service="benchmark", repetitions=1, at="bench:wrok")
    assert "bench.work" in str(caught.value.next_step)
