"""Benchmarks that the tools of a repository know of, asked for in a trial: a tool may run the repository's code."""

import json
import re
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from perf_culprit.files import temporary_folder
from perf_culprit.init.build_files import cmake_suggestions
from perf_culprit.init.native_output import BenchmarkCommand, compiling, native
from perf_culprit.init.repository import Repository, Suggestion, look

ANSWER_SECONDS: Final = 60
SCRATCH: Final = "{scratch}"  # a folder of its own for what a tool writes
_BENCHMARK_WORD: Final = re.compile(r"(?<![\w-])[\w:./-]*bench[\w:./-]*", re.IGNORECASE)
NO_MEASUREMENT: Final = re.compile(
    r"check|build|lint|clean|install|compile|compare|report|publish|upload", re.IGNORECASE
)


def asked_suggestions(root: Path) -> Iterator[Suggestion]:
    """Suggest what the tools answer; a tool that is not here, or fails, has no answer."""
    repository = look(root)
    for file, command, read in QUESTIONS:
        if file in repository.files and (answer := _answer(command, root)):
            yield from read(answer, command, repository)


def _answer(command: str, root: Path) -> str:
    with temporary_folder() as scratch:
        words = [word.replace(SCRATCH, str(scratch)) for word in command.split()]
        try:
            done = subprocess.run(words, cwd=root, capture_output=True, timeout=ANSWER_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return ""
    # `make -q` has 1 where a target is out of date.
    return done.stdout.decode(errors="replace") if done.returncode in (0, 1) else ""


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return {}


def _cargo(answer: str, _: str, repository: Repository) -> Iterator[Suggestion]:
    """Run the benchmark targets by name: without names `cargo bench` also runs tests, which refuse its options."""
    targets: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for package in _parse(answer).get("packages", ()):
        targets[str(package["name"])] += [each for each in package["targets"] if "bench" in each["kind"]]
    lines = []
    for package, benches in targets.items():
        names = "".join(f" --bench {each['name']}" for each in benches)
        features = sorted({feature for each in benches for feature in each.get("required-features", ())})
        wanted = f" --features {','.join(features)}" if features else ""
        lines += [f"cargo bench -p {package}{names}{wanted}"] * bool(benches)
    if lines:
        command = native(BenchmarkCommand(text=" && ".join(lines)), repository)
        run = " && ".join(filter(None, (command.text, command.after)))
        build = compiling(command.text)
        yield Suggestion(tool="cargo metadata", run=run, build=build, place="Cargo.toml")


def _workspaces(answer: str, _: str, repository: Repository) -> Iterator[Suggestion]:
    for workspace, about in _parse(answer).items():
        scripts = about if isinstance(about, dict) else {}
        for script in scripts:
            if _BENCHMARK_WORD.fullmatch(script) and not NO_MEASUREMENT.search(script):
                yield _task(f"npm run {script} --workspace {workspace}", "npm install --silent", repository)


def _cmake(answer: str, _: str, repository: Repository) -> Iterator[Suggestion]:
    names = re.findall(r"(?m)^(\w*(?:BENCH|DEVELOPER)\w*):BOOL=OFF$", answer)
    yield from cmake_suggestions(repository, also=names)


def _tasks(answer: str, command: str, repository: Repository) -> Iterator[Suggestion]:
    """Run a task that is named after benchmarks by the program that lists it."""
    launch = LAUNCHED[command.split(maxsplit=1)[0]]
    for name in dict.fromkeys(_BENCHMARK_WORD.findall(answer)):
        if not (NO_MEASUREMENT.search(name) or name.startswith("-") or name in repository.files):
            yield _task(f"{launch} {name.strip(':./')}", "", repository)


def _task(text: str, build: str, repository: Repository) -> Suggestion:
    command = native(BenchmarkCommand(text=text), repository)
    printed = " && ".join(filter(None, (command.text, command.after)))
    return Suggestion(tool=text, run=printed, build=build, place=text.split(maxsplit=1)[0])


LAUNCHED: Final = {
    "just": "just",
    "mise": "mise run",
    "pixi": "pixi run",
    "tox": "tox run -e",
    "nox": "nox -s",
    "hatch": "hatch run",
    "make": "make",
}
_SuggestionReader = Callable[[str, str, Repository], Iterator[Suggestion]]
# A file, the command whose answer is read if there is that file, and the reader.
QUESTIONS: Final[tuple[tuple[str, str, _SuggestionReader], ...]] = (
    ("Cargo.toml", "cargo metadata --no-deps --format-version 1", _cargo),
    ("package.json", "npm pkg get scripts --workspaces --json", _workspaces),
    ("CMakeLists.txt", f"cmake -S . -B {SCRATCH} -LA", _cmake),
    ("justfile", "just --summary", _tasks),
    ("mise.toml", "mise tasks ls --no-header", _tasks),
    ("pixi.toml", "pixi task list --summary", _tasks),
    ("tox.ini", "tox list --no-desc", _tasks),
    ("noxfile.py", "nox --list", _tasks),
    ("pyproject.toml", "hatch env show --ascii", _tasks),
    ("Makefile", "make -qpr", _tasks),
)
