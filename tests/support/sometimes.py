"""Rare states that the whole suite must reach. A green run says little about a state that no test ever saw.

This is a plugin of pytest. Each hit of a state is a byte in a file of its name, so workers of xdist and forked children
count together. A run of everything fails if a state was never reached; a part of the suite only counts.
"""

import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any, Final

import pytest

from perf_culprit import errors

# Tells the workers where to count.
FOLDER: Final = "TESTS_SOMETIMES"

# States that an expected error tells of: a pattern of its class and message.
ERRORS: Final[Mapping[str, str]] = {
    "a lost race for the branch": r"PushRejectedError: ",
    "patience that ended": r"InfrastructureError: .* after \d+ attempts; the last one",
    "a bisection that another job stored first": r"BisectionConflictError: another job",
    "a bisection that is gone": r"BisectionConflictError: .* is gone",
    "a branch that may not be replaced": r"InfrastructureError: the branch may not be replaced",
    "a locked SQLite": r"InfrastructureError: .*database is locked",
    "a PostgreSQL that went away": r"TransientError: .*(server closed|connection failed|terminating connection)",
    "a run of a later version": r"NewerVersionError: ",
    "an expired token": r"InfrastructureError: .*the token is not accepted \(HTTP 401\)",
    "a token without a permission": r"InfrastructureError: .*the token lacks a permission",
    "a spent rate limit": r"InfrastructureError: .*the rate limit is used up",
    "a job that sent too many requests": r"InfrastructureError: this job has sent",
    "an answer that is none": r"InfrastructureError: .*the answer is not what was asked for",
    "a download with another digest": r"DataError: the downloaded bytes differ",
    "an artifact that expired": r"DataError: the artifact has expired",
    "git without an answer in time": r"GitError: .*no answer within",
    "a push that a rule refused": r"GitError: .*hook declined",
    "a full disk": r"InfrastructureError: .*No space left on device",
    "a benchmark that took too long": r"ExecutionError: .*took longer than",
}


# A command's exit code, and that of a shell whose child was killed.
KILLED: Final = (-signal.SIGKILL, 128 + signal.SIGKILL)


def _waits(_: Any, response: Any = None) -> bool:
    return response is not None and (response.status == 429 or "Retry-After" in response.headers)


# States that a call tells of: its module, its name, and whether these arguments are that state.
CALLS: Final[Mapping[str, tuple[str, str, Callable[..., bool]]]] = {
    "a partial download, fetched again": ("github.workflow_runs", "fetch_zip", lambda *_, **named: "attempts" in named),
    "a rate limit that was waited for": ("github.client", "PatientRetry.sleep", _waits),
    "a lost answer of a post, looked for": ("github.posting", "look_again", lambda *_: True),
    "a dispatch that nobody sent": ("dispatch.controller", "_Event._take_over", lambda *_: True),
    "a benchmark that was killed": ("measure.processes", "_fault", lambda exit_code: exit_code in KILLED),
    "processes of a killed measurement": ("measure.workplace", "end_orphans", lambda *_: True),
}

STATES: Final = (*ERRORS, *CALLS)


def _has_postgresql() -> bool:
    from tests.support.postgresql import is_installed

    return is_installed()


# States that not every machine can reach.
NEEDS: Final[Mapping[str, Callable[[], bool]]] = {"a PostgreSQL that went away": _has_postgresql}

# Kept here, because a test may replace the environment.
_folder: list[Path] = []


def hit(state: str) -> None:
    """Count the state once more."""
    for folder in _folder:
        with suppress(OSError), (folder / state).open("ab", buffering=0) as file:  # the disk may be full here, too
            file.write(b".")


def counts() -> dict[str, int]:
    files = {state: folder / state for folder in _folder for state in STATES}
    return {state: file.stat().st_size if file.exists() else 0 for state, file in files.items()}


def _watch_errors() -> None:
    """Count the states of errors. All expected errors have one class above them."""
    real = errors.BotError.__init__
    patterns = {state: re.compile(pattern, re.DOTALL) for state, pattern in ERRORS.items()}

    @wraps(real)
    def watched(self: errors.BotError, message: str, **options: Any) -> None:
        real(self, message, **options)
        text = f"{type(self).__name__}: {message}"
        for state, pattern in patterns.items():
            if pattern.match(text):
                hit(state)

    errors.BotError.__init__ = watched  # type: ignore[method-assign]  # for the whole run


def _watch_calls() -> None:
    """Count the states of calls, of those modules that the collected tests have imported."""
    for state, (name, path, is_state) in CALLS.items():
        owner: Any = sys.modules.get(f"perf_culprit.{name}")
        *owners, attribute = path.split(".")
        for one in owners:
            owner = getattr(owner, one, None)
        if owner is not None:
            setattr(owner, attribute, _watched(getattr(owner, attribute), state, is_state))


def _watched(real: Callable[..., Any], state: str, is_state: Callable[..., bool]) -> Callable[..., Any]:
    @wraps(real)
    def watched(*arguments: Any, **options: Any) -> Any:
        if is_state(*arguments, **options):
            hit(state)
        return real(*arguments, **options)

    return watched


# The plugin.


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def _is_whole(config: pytest.Config) -> bool:
    """Whether this run has all tests, whatever their markers."""
    option = config.option
    parts = ("keyword", "markexpr", "deselect", "ignore", "ignore_glob", "lf", "stepwise", "splits", "collectonly")
    is_unnamed = config.args_source is not pytest.Config.ArgsSource.ARGS
    # With `--all` the second tier runs as well.
    return is_unnamed and getattr(option, "all", True) and not any(getattr(option, name, None) for name in parts)


def never_reached(reached: Mapping[str, int]) -> list[str]:
    return [state for state, count in reached.items() if not count and NEEDS.get(state, lambda: True)()]


def pytest_configure(config: pytest.Config) -> None:
    if not _is_worker(config):
        os.environ[FOLDER] = tempfile.mkdtemp(prefix="tests-sometimes-")
    _folder[:] = [Path(os.environ[FOLDER])]
    _watch_errors()


def pytest_collection_finish() -> None:
    _watch_calls()


@pytest.hookimpl(wrapper=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> Iterator[None]:
    """Fail a run of everything that was green until here."""
    config = session.config
    if exitstatus == pytest.ExitCode.OK and not _is_worker(config) and _is_whole(config) and never_reached(counts()):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    yield


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not _is_whole(config) and not config.option.verbose > 0:
        return
    reached = counts()
    terminalreporter.section("rare states")
    for state, count in sorted(reached.items(), key=lambda one: one[1]):
        terminalreporter.write_line(f"{count:7,} {state}")
    if _is_whole(config) and (never := never_reached(reached)):
        terminalreporter.write_line(f"never reached: {', '.join(never)}", red=True)


def pytest_unconfigure(config: pytest.Config) -> None:
    if not _is_worker(config):
        shutil.rmtree(_folder[0], ignore_errors=True)
