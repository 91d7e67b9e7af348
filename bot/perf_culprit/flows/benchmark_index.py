"""trace -> history: the methods that each benchmark runs, traced now and then on the default branch."""

import math
import os
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from msgspec.structs import replace

from perf_culprit import git
from perf_culprit.config.settings import Config
from perf_culprit.errors import DataError
from perf_culprit.explain.tracer.traced_command import methods_of_tests
from perf_culprit.github.runner_files import read_event, value_at
from perf_culprit.machine.this_machine import TracePlan
from perf_culprit.machine.trace_means import PYTHON_MEANS, means_of, reached_python, trace_revisions
from perf_culprit.measure.runner import Commands
from perf_culprit.measure.workplace import Workplace
from perf_culprit.model.call_tree import Profile
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.reason import Caveat, because
from perf_culprit.model.report import TreeComparison
from perf_culprit.model.run_file import decode_run
from perf_culprit.progress import Say
from perf_culprit.store.run_names import read_names

Index = Mapping[str, Sequence[str]]

# An index is traced again after this time or this number of commits *(choice)*.
INDEX_DAYS: Final = 30
INDEX_COMMITS: Final = 200


def is_default_push(environ: Mapping[str, str]) -> bool:
    """Return whether this is a GitHub job of a push to the default branch."""
    path = environ.get("GITHUB_EVENT_PATH")
    if environ.get("GITHUB_EVENT_NAME") != "push" or not path:
        return False
    default = value_at(read_event(Path(path)), "repository", "default_branch")
    return environ.get("GITHUB_REF") == f"refs/heads/{default}"


def stored_index(repository: Path, commit: str, *, config: Config) -> Index | None:
    """Return the newest index before `commit`, unless it is too old, or None if the history is elsewhere.

    It is read from the checkout, which has all branches: the job that runs code has no token.
    """
    if config.history.url is not None:
        return None
    branch = git.find_commit(repository, f"refs/remotes/origin/{config.history.branch}")
    if branch is None:
        return {}
    before = set(git.ancestors(repository, [commit])[:INDEX_COMMITS])
    files = [file for file in read_names(git.list_tree(repository, branch)) if file.commit in before]
    for file in sorted(files, key=lambda file: file.age_order, reverse=True):
        with suppress(DataError):
            run = decode_run(git.read_blobs(repository, [file.blob or ""])[0], place=file.path)
            if run.methods and run.suite == config.suite:
                is_new = run.time is not None and datetime.now(UTC) - run.time < timedelta(days=INDEX_DAYS)
                return run.methods if is_new else {}
    return {}


def traced_index(
    workplace: Workplace,
    commit: str,
    commands: Commands,
    tool: str,
    *,
    names: Collection[str],
    plan: TracePlan,
    say: Say,
) -> dict[str, tuple[str, ...]]:
    """Trace one commit. A method belongs to the benchmark whose function is the root of its path."""
    with TemporaryDirectory(prefix="perf-culprit-index-") as name:
        if means_of(commands.run, tool) is PYTHON_MEANS:
            with reached_python(commands.run) as (command, variables):
                methods = methods_of_tests(
                    lambda own: _run(workplace, commit, command, {**variables, **own}),
                    root=workplace.tree(commit),
                    python_path=os.environ.get("PYTHONPATH", ""),
                )
            return bounded({name: methods[name] for name in sorted(names) if name in methods})
        commits = {"target": commit}
        traced = trace_revisions(
            commands.run, tool, workplace=workplace, commits=commits, plan=plan, folder=Path(name), say=say
        )
        (profiles,) = traced.profiles()
    return bounded(below_benchmarks(profiles, names))


def _run(workplace: Workplace, commit: str, command: str, variables: Mapping[str, str]) -> None:
    workplace.run(commit, command=command, variables=variables)


def below_benchmarks(profiles: Sequence[Profile], names: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the methods below each benchmark's function, most time first. Names of no function are left out."""
    functions: dict[str, list[str]] = {}
    for name in sorted(names):
        functions.setdefault(_function(name), []).append(name)
    times: dict[str, dict[str, float]] = {}
    for profile in profiles:
        roots: list[str | None] = []
        for node in profile.nodes:
            above = None if node.parent is None else roots[node.parent]
            own = (word for word in re.findall(r"\w+", node.method) if word in functions)
            roots.append(above or next(own, None))
            if (root := roots[-1]) is not None:
                methods = times.setdefault(root, {})
                methods[node.method] = max(methods.get(node.method, 0.0), math.fsum(node.elapsed_ms))
    return {
        name: tuple(sorted(methods, key=lambda method: (-methods[method], method)))
        for root, methods in times.items()
        for name in functions[root]
    }


def _function(name: str) -> str:
    """The function of a benchmark such as `BenchmarkCount/size=8`, `Count/8` or `org.example.Bench.count`."""
    words = re.findall(r"\w+", re.split(r"[/(\[<:]", name, maxsplit=1)[0])
    return words[-1] if words else name


def bounded(index: Index) -> dict[str, tuple[str, ...]]:
    """Return the benchmarks, in their order, that fit the limits of a stored index."""
    entries: dict[str, tuple[str, ...]] = {}
    room = FILE_LIMITS.index_characters
    for name, methods in index.items():
        some = tuple(method for method in methods if len(method) <= FILE_LIMITS.index_method_characters)[
            : FILE_LIMITS.index_methods
        ]
        room -= len(name) + sum(map(len, some))
        if room < 0 or len(entries) == FILE_LIMITS.index_benchmarks:
            break
        entries[name] = some
    return entries


def runs_file(index: Index, paths: Collection[str]) -> tuple[str, str, str] | None:
    """Return the first benchmark that runs a method of one of these files, with method and file, or None.

    A method's name begins with its file's name, or in Python with the end of its module's.
    """
    by_place: dict[str, str] = {}
    for path in paths:
        words = re.sub(r"(?:/__init__)?\.py$", "", path).split("/")
        by_place[path.rpartition("/")[2]] = path
        by_place |= {".".join(words[start:]): path for start in range(len(words)) if path.endswith(".py")}
    for name, methods in index.items():
        for method in methods:
            words = method.split(".")
            places = (method.partition(":")[0], *(".".join(words[:end]) for end in range(1, len(words))))
            if place := next((place for place in places if place in by_place), None):
                return name, method, by_place[place]
    return None


def with_impact(comparison: TreeComparison, index: Index, *, benchmarks: Collection[str]) -> TreeComparison:
    """Add how many benchmarks run the first suspect, and how many of these were not measured."""
    for suspect in comparison.suspects[:1]:
        # A function that the change has added is known by its caller.
        for method in reversed(suspect.path):
            if names := [name for name, methods in index.items() if method in methods]:
                unmeasured = sum(name not in benchmarks for name in names)
                more = {"left": unmeasured} if unmeasured else {}
                note = because(Caveat.RUN_BY, method=method, running=len(names), count=len(index), **more)
                return replace(comparison, notes=(note, *comparison.notes))
    return comparison
