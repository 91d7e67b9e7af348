"""`pytest --perf-culprit-trace OUT`: a trace of each test function, or of its workload for the `benchmark` fixture."""

import inspect
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, Final

import pytest

from .call_paths import TracedScope
from .session import REPETITIONS, run_trace
from .trace_profile import encode_trace
from .tracer_fault import TraceError

OPTION: Final = "perf_culprit_trace"
REPETITIONS_OPTION: Final = "perf_culprit_trace_repetitions"
FIXTURE: Final = "benchmark"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("perf-culprit")
    group.addoption(
        "--perf-culprit-trace", dest=OPTION, metavar="OUT", help="call tests many times and write where time goes"
    )
    group.addoption(
        "--perf-culprit-trace-repetitions",
        dest=REPETITIONS_OPTION,
        metavar="N",
        type=int,
        default=REPETITIONS,
        help=f"per level of calls (default: {REPETITIONS})",
    )


def pytest_configure(config: pytest.Config) -> None:
    out = config.getoption(OPTION)
    if out:
        if config.getoption(REPETITIONS_OPTION) < 1:
            raise pytest.UsageError("--perf-culprit-trace-repetitions: at least 1")
        config.pluginmanager.register(TracePlugin(config, Path(out)), "perf-culprit-trace-writer")


class TracePlugin:
    def __init__(self, config: pytest.Config, out: Path) -> None:
        self._out = out
        self._repetitions: int = config.getoption(REPETITIONS_OPTION)
        self._root = str(config.rootpath)
        self._lines: list[bytes] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, object, object]:
        function = pyfuncitem.obj
        arguments = pyfuncitem.funcargs
        if inspect.iscoroutinefunction(function):
            return (yield)
        if FIXTURE in arguments:
            given_before = arguments[FIXTURE]
            arguments[FIXTURE] = TracedBenchmark(lambda workload: self.trace(pyfuncitem.nodeid, workload))
            try:
                return (yield)
            finally:
                # pytest-benchmark reports on no fixture but its own.
                arguments[FIXTURE] = given_before
        names = inspect.signature(function).parameters
        fixtures = {name: value for name, value in arguments.items() if name in names}
        self.trace(pyfuncitem.nodeid, lambda: function(**fixtures))
        # Call the test again in pytest's way, so that pytest's checks remain unchanged.
        return (yield)

    def trace(self, service: str, workload: Callable[[], object]) -> None:
        try:
            trace = run_trace(workload, repetitions=self._repetitions, scope=TracedScope(self._root), service=service)
        except TraceError as error:
            pytest.fail(f"perf-culprit: {error}", pytrace=False)
        self._lines.append(encode_trace(trace))

    def pytest_sessionfinish(self) -> None:
        if self._lines:
            self._out.parent.mkdir(parents=True, exist_ok=True)
            self._out.write_bytes(b"".join(self._lines))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        summary = f"{len(self._lines)} traces in {self._out}" if self._lines else "no test was traced"
        terminalreporter.write_line(f"perf-culprit: {summary}")


class TracedBenchmark:
    """Replaces pytest-benchmark's fixture, whose own loops would also be traced."""

    def __init__(self, trace: Callable[[Callable[[], object]], None]) -> None:
        self._trace = trace
        self.extra_info: dict[str, object] = {}

    def __call__(self, function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        return self.pedantic(function, arguments, keywords)

    def pedantic(
        self,
        target: Callable[..., Any],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
        setup: Callable[[], Any] | None = None,
        **_rounds: Any,
    ) -> Any:
        """Trace `target`. `setup` is called before each call, as a root of its own: no method contains its time."""
        result: Any = None

        def workload() -> None:
            nonlocal result
            prepared = setup() if setup is not None else None
            arguments, keywords = prepared if prepared is not None else (args, kwargs or {})
            result = target(*arguments, **keywords)

        self._trace(workload)
        return result
