"""The benchmark tools of a repository, and the commands that measure one commit with them."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from perf_culprit.init.build_files import build_file_suggestions
from perf_culprit.init.existing_workflows import with_program, workflow_suggestions
from perf_culprit.init.native_output import (
    JULIA_BUILD,
    JULIA_SUITE,
    OUTPUT_FILE,
    TIMED_NOTE,
    BenchmarkCommand,
    native,
    package_scripts,
)
from perf_culprit.init.proposal_faults import fault_of
from perf_culprit.init.repository import Repository, Suggestion


def suggestions(repository: Repository) -> tuple[Suggestion, ...]:
    return proposals(repository)[0]


def proposals(repository: Repository) -> tuple[tuple[Suggestion, ...], tuple[tuple[Suggestion, str], ...]]:
    """Return the suggestions, and those that are dropped, each with its reason."""
    pairs = [(one, fault_of(one)) for one in _every(repository)]
    return tuple(one for one, fault in pairs if not fault), tuple((one, fault) for one, fault in pairs if fault)


def _every(repository: Repository) -> tuple[Suggestion, ...]:
    """Suggest commands from the repository's workflows, then from its tasks, then guesses from its other files."""
    sure, tried = workflow_suggestions(repository)
    guesses = (
        Suggestion(tool=tool, setup=setup, run=run)
        for tool, files, text, setup, run in _TOOL_SIGNS
        if repository.says(files, text)
    )
    special = (_go_modules(repository), _pytest_benchmark(repository), _benchmark_dot_net(repository), _asv(repository))
    built = build_file_suggestions(repository)
    return (*sure, *_tasks(repository), *filter(None, special), *built, *guesses, *tried)


def _tasks(repository: Repository) -> Iterator[Suggestion]:
    """Suggest a task named after benchmarks from each file with tasks."""
    for program, name, pattern, before in _TASK_FILES:
        if (match := re.search(pattern, repository.read(name), re.MULTILINE)) is not None:
            yield _task(f"{program} {match[1]}", repository, build=before, place=name)
    scripts = package_scripts(repository, "package.json")
    if script := next(
        (name for name in scripts if re.fullmatch(r"(test:)?(bench|benchmarks?|perf)(:ci|:node)?", name)), ""
    ):
        program = next((program for file, program in LOCKS if repository.has(rf"^{file}$")), "npm")
        install = (
            "npm ci --silent" if program == "npm" and repository.has("^package-lock.json$") else f"{program} install"
        )
        yield _task(f"{program} run {script}", repository, build=install, place="package.json")


def _task(text: str, repository: Repository, *, build: str, place: str) -> Suggestion:
    command = native(BenchmarkCommand(text=text), repository)
    printed = " && ".join(filter(None, (command.text, command.after)))
    timed = replace(command, is_timed=True).line
    run, other = (timed, printed) if command.is_timed else (printed, timed)
    notes = (*command.notes, *[TIMED_NOTE] * command.is_timed)
    one = Suggestion(tool=text, run=run, build=build, place=place, notes=notes, others=(other,), fault=command.fault)
    return with_program(one, text.split(maxsplit=1)[0], repository)


def _go_modules(repository: Repository) -> Suggestion | None:
    """Run benchmarks in each module: `./...` stops at the next go.mod."""
    tests = [
        name for name in repository.matching(re.compile(r"_test\.go$")) if "func Benchmark" in repository.read(name)
    ]
    folders = sorted((name.rpartition("/")[0] for name in repository.matching(re.compile(r"(^|/)go\.mod$"))), key=len)
    holding = {max((folder for folder in folders if name.startswith(folder)), key=len, default="") for name in tests}
    if not tests or holding <= {""}:
        return None
    bench = "go test -run=^$ -bench . -benchmem ./..."
    parts = [f"(cd {folder} && {bench})" if folder else bench for folder in sorted(holding)]
    return Suggestion(tool="go test", run=" && ".join(parts), place="go.mod")


def _pytest_benchmark(repository: Repository) -> Suggestion | None:
    (manifests, depends), (files, uses) = PYTEST_BENCHMARK
    is_named = repository.says(manifests, depends) and not _has_other_scripts(repository)
    if not (is_named or repository.says(files, uses)):
        return None
    folder = repository.bench_folder
    packaged = "." if repository.has(r"^(pyproject\.toml|setup\.py)$") else None
    own = [f"{folder}/requirements.txt"] * bool(folder) + ["requirements.txt"] * (not packaged)
    required = [f"-r {name}" for name in own if name in repository.files]
    # The commit's own files come first: the installed package is the checked-out commit's, for both sides.
    path = "src" if (repository.root / "src").is_dir() else "."
    where = folder or "tests --benchmark-only"
    using = [name for name in repository.matching(re.compile(files)) if re.search(uses, repository.read(name))]
    inside = [name.removeprefix(f"{folder}/") for name in using if name.startswith(f"{folder}/")]
    if inside and all(name.startswith("bench") for name in inside) and not repository.says(manifests, "python_files"):
        # By default, pytest collects only files that are named after tests.
        where = f"{folder}/bench*.py"
    return Suggestion(
        tool="pytest-benchmark",
        setup=" ".join(filter(None, ("pip install", packaged, *required, "pytest pytest-benchmark"))),
        run=f'PYTHONPATH={path} pytest {where} --benchmark-json="$PERF_CULPRIT_OUTPUT"',
    )


def _has_other_scripts(repository: Repository) -> bool:
    """Return whether the folder of benchmarks has Python files, and none that pytest collects."""
    scripts = repository.matching(re.compile(rf"^{repository.bench_folder}/.*\.py$"))
    return bool(scripts) and not any(re.search(r"(^|/)test_[^/]*\.py$|_test\.py$", name) for name in scripts)


def _benchmark_dot_net(repository: Repository) -> Suggestion | None:
    """Suggest the project that names the package, or the nearest one to a source file that uses it."""
    projects = repository.matching(re.compile(r"\.(cs|fs)proj$"))
    naming = [name for name in projects if "BenchmarkDotNet" in repository.read(name)]
    sources = repository.matching(re.compile(r"[Bb]ench.*\.(cs|fs)$")) if projects and not naming else []
    using = [name for name in sources if "BenchmarkDotNet" in repository.read(name)]
    holding = [name for name in projects for source in using if source.startswith(f"{name.rpartition('/')[0]}/")]
    if not (naming or holding):
        return None
    run = f"dotnet run -c Release --project '{(naming or holding)[0]}' -- --filter '*' --exporters json"
    return Suggestion(tool="BenchmarkDotNet", run=f"{run} && cp -r BenchmarkDotNet.Artifacts/results {OUTPUT_FILE}")


def _asv(repository: Repository) -> Suggestion | None:
    """Suggest asv in its own environments, by its configuration: the commit's package is installed there."""
    name = next(iter(repository.matching(re.compile(r"(^|/)asv\.conf\.jsonc?$"))), None)
    if name is None:
        return None
    folder, _, file = name.rpartition("/")
    command = native(BenchmarkCommand(text=f"asv run --config {file}", folder=folder), repository)
    inside = f"(cd {folder}\n{command.text})" if folder else command.text
    run = f"{inside}\n{command.after}"
    return Suggestion(tool="asv", setup="pip install asv virtualenv", run=run, place=name, notes=command.notes)


# It is a dependency, or a test uses its fixture.
PYTEST_BENCHMARK: Final = (
    (r"(pyproject\.toml|setup\.(py|cfg)|tox\.ini|requirements[^/]*\.txt|Pipfile)$", "pytest.benchmark"),
    (r"(^|/)(test_|bench)[^/]*\.py$|_test\.py$", r"(?m)^ *(async )?def test_\w+\([^)]*\bbenchmark\b"),
)
# Tool, path and content of a file that shows it (regular expressions), setup, run.
_TOOL_SIGNS: Final = (
    ("go test", r"_test\.go$", r"func Benchmark\w*\(", "", "go test -run=^$ -bench . -benchmem ./..."),
    (
        "Julia",
        r"^benchmark/benchmarks\.jl$",
        r"\bSUITE\b",
        "",
        f'{JULIA_BUILD} && {JULIA_SUITE} && cp results.json "$PERF_CULPRIT_OUTPUT"',
    ),
    ("benchmark.js", r"package\.json$", r'"benchmark"\s*:\s*"[\^~]?\d', "", "npm ci --silent && node bench.js"),
    (
        "hyperfine",
        r"(Makefile|\.sh|\.ya?ml|justfile|README\.md)$",
        r"\bhyperfine\b",
        "sudo apt-get update && sudo apt-get install --yes hyperfine",
        "hyperfine --export-json \"$PERF_CULPRIT_OUTPUT\" './your-program'",
    ),
)
LOCKS: Final = (("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lockb?", "bun"), ("package-lock.json", "npm"))
# Program, its file, the name of the task (a group), the build that a checkout needs first.
_TASK_FILES: Final = (
    ("make", "Makefile", r"^(bench(?:mark)?s?)\s*:(?!=)", ""),
    ("just", "justfile", r"^(bench(?:mark)?s?)\b[^:=\n]*:(?!=)", ""),
    ("tox -e", "tox.ini", r"^\[testenv:((?:bench|perf)[\w-]*)\]", ""),
    ("nox -s", "noxfile.py", r"^def (bench\w*)\(", ""),
)
