"""Changes to a workflow's command, so that its tool's results reach `$PERF_CULPRIT_OUTPUT` or are printed."""

import json
import os
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Final

from perf_culprit.init.command_lines import CONTROL, TALK, logical_lines, measuring_tool
from perf_culprit.init.repository import Repository
from perf_culprit.model.file_limits import FILE_LIMITS

OUTPUT_FILE: Final = '"$PERF_CULPRIT_OUTPUT"'


# The timer of a whole command.
TIMER: Final = "time sh -e -c"


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchmarkCommand:
    """A command that measures, and where its results are.

    A later step of the workflow reads the results from the file `output`. `after` is a second command, which runs at
    the top of the checkout and copies the results. `builds` holds earlier lines that compile for CodSpeed. `is_stored`:
    a service stores the results today. `is_timed`: we can read no output of it, so we time the whole command.
    `is_tried`: it only checks that the benchmarks run. `fault` says why it cannot measure a single commit.
    """

    text: str
    output: str = ""
    folder: str = ""
    after: str = ""
    builds: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    is_stored: bool = False
    is_timed: bool = False
    is_tried: bool = False
    fault: str = ""

    @property
    def line(self) -> str:
        if not self.is_timed:
            return self.text
        name = re.sub(r"\W+", "-", "".join(self.text.splitlines()[-1:]))[:150].strip("-") or "command"
        shell = f"bash -c '{{ {TIMER} \"$1\" >&3 2>&3; }} 3>&2 2> {OUTPUT_FILE}/{name}'"
        return f"mkdir -p {OUTPUT_FILE}\n{shell} -- {shlex.quote(self.text)}"

    def within(self, name: str) -> str:
        """Return a path of the command's folder, relative to the top of the checkout."""
        return f"{self.folder}/{name}" if self.folder not in ("", ".") else name

    def into(self, name: str) -> "BenchmarkCommand":
        """Write the results into a file of that name, because several results are read together."""
        inside = f'"$PERF_CULPRIT_OUTPUT/{name}"'
        if self.is_timed:
            return self
        if OUTPUT_FILE in self.text or self.after:
            return replace(
                self, text=self.text.replace(OUTPUT_FILE, inside), after=self.after.replace(OUTPUT_FILE, inside)
            )
        return replace(self, text=f"{{ {self.text}\n}} > {inside}" if "\n" in self.text else f"{self.text} > {inside}")


def native(command: BenchmarkCommand, repository: Repository) -> BenchmarkCommand:
    """Apply the first rule for the tool; without one, use the file that the workflow names, or the printed text."""
    plain = _without_redirection(command)
    for pattern, rule in RULES:
        if re.search(pattern, plain.text, re.IGNORECASE):
            return rule(plain, repository)
    return _by_task(plain, repository)


def copied(command: BenchmarkCommand) -> BenchmarkCommand:
    """Copy the named file as the result, unless the command prints the file's content."""
    if not command.output or command.after or OUTPUT_FILE in command.text:
        return command
    if "*" in command.output:
        return replace(command, after=f"mkdir -p {OUTPUT_FILE} && cp -r {command.output} {OUTPUT_FILE}")
    return replace(command, after=f"cp -r {command.output} {OUTPUT_FILE}")


# A measurement that only tries benchmarks out, as tests do.
TRIED: Final = re.compile(r"--quick\b|-benchtime[= ]1x\b|--dry-run\b|\bbench\b.*--test\b|smoke|--profile[= ]test")
TRIED_NOTE: Final = "it only tries the benchmarks out, as a test does"
TIMED_NOTE: Final = "no known tool was seen in it: the time of the whole command is measured, not what it prints"


def _without_redirection(command: BenchmarkCommand) -> BenchmarkCommand:
    """Remove `| tee FILE` and `> FILE`, which hide or copy the output. If only some lines have it, only those count."""
    name = re.escape(command.output.rpartition("/")[2]) or r"(?:/dev/null|[^\s;&|]+\.\w+)"
    file = rf"['\"]?[^\s;&|'\"]*{name}['\"]?"
    redirected = re.compile(
        rf"[ \t]*(2>&1[ \t]*)?(?<!2)(\|[ \t]*tee[ \t]+(-a[ \t]+|--append[ \t]+)?|(\b1)?>>?[ \t]*){file}"
        r"([ \t]+2>&1)?"
    )
    lines = [line for line in command.text.splitlines() if not re.match(r"(export|cd|rm|mkdir|set)\b", line)]
    into = [bool(redirected.search(line)) for line in lines]
    if not any(into):
        return command
    if all(into) or not command.output:
        return replace(command, text=redirected.sub("", command.text).strip(), output="")
    text = re.sub(rf"((?:\||>)[^\n]*?){file}", rf"\1{OUTPUT_FILE}", command.text)
    return replace(command, text=text, output="")


def _option(text: str, names: str, wanted: str) -> str | None:
    """Replace the value of one of the options in `text`; None if it has none of them."""
    pattern = re.compile(rf"(--?(?:{names}))(=|\s+)('[^']*'|\"[^\"]*\"|\S+)")
    return pattern.sub(rf"\1\2{wanted}", text) if pattern.search(text) else None


def _append(text: str, program: str, option: str) -> str:
    """Append `option` to the last line that names the program."""
    lines = text.splitlines()
    last = max((i for i, line in enumerate(lines) if program in line), default=len(lines) - 1)
    while lines[last].rstrip().endswith("\\") and last + 1 < len(lines):
        last += 1
    lines[last] = f"{lines[last].rstrip()} {option}"
    return "\n".join(lines)


def _to_file(names: str, program: str, option: str) -> Callable[[BenchmarkCommand, Repository], BenchmarkCommand]:
    """Return a rule for a tool with an option for its result file."""

    def rule(command: BenchmarkCommand, _: Repository) -> BenchmarkCommand:
        # A loop names a new file in each iteration.
        if named := re.search(rf"--?(?:{names})[= ]['\"]?(\S*\$\{{?\w+\}}?[^\s'\"]*)", command.text):
            parts = re.sub(r"\$\{?\w+\}?", "*", named[1]).rpartition("/")
            return _gather(command, f"*{parts[0].strip('./')}/{parts[2]}")
        lines = command.text.splitlines()
        measuring = [i for i, line in enumerate(lines) if program in line and not TALK.search(line)]
        if len(measuring) < 2 or CONTROL.search(command.text) or "\\\n" in command.text:
            return replace(command, text=written(command.text, OUTPUT_FILE), output="")
        for number, i in enumerate(measuring, 1):
            lines[i] = written(lines[i], f'"$PERF_CULPRIT_OUTPUT/{number}"')
        return replace(command, text="\n".join([f"mkdir -p {OUTPUT_FILE}", *lines]), output="")

    def written(text: str, file: str) -> str:
        return _option(text, names, file) or _append(text, program, f"{option}{file}")

    return rule


def _vitest(command: BenchmarkCommand, program: str, option: str) -> BenchmarkCommand:
    """Run the whole suite, even if the workflow splits it into several jobs."""
    whole = re.sub(r"\s--shard[= ]\S+", "", command.text)
    plain = replace(command, text="\n".join(dict.fromkeys(whole.splitlines())))
    changed = _option(plain.text, "outputJson", OUTPUT_FILE)
    return replace(plain, text=changed or _append(plain.text, program, f"{option}{OUTPUT_FILE}"), output="")


CODSPEED_NOTE: Final = "outside of CodSpeed its plugin measures time and writes it to .codspeed, which is read"


def _pytest(command: BenchmarkCommand, repository: Repository) -> BenchmarkCommand:
    if "--codspeed" in command.text:
        return _gather(replace(command, notes=(CODSPEED_NOTE,)), "*/.codspeed/*.json")
    stored = r"\s--benchmark-(save|compare|compare-fail|storage)(=\S+|\s+[^-\s]\S*)?|\s--benchmark-autosave"
    plain = replace(command, text=re.sub(stored, "", command.text))
    return _to_file("benchmark-json", "pytest", "--benchmark-json=")(plain, repository)


def _hyperfine(command: BenchmarkCommand, _: Repository) -> BenchmarkCommand:
    changed = _option(command.text, "export-json", OUTPUT_FILE)
    direct = re.sub(r"\bhyperfine\b", f"hyperfine --export-json {OUTPUT_FILE}", command.text, count=1)
    return replace(command, text=changed or direct, output="")


def _asv(command: BenchmarkCommand, repository: Repository) -> BenchmarkCommand:
    """Measure this commit only, in asv's own environments, as the project does, with results in an empty folder."""
    entered = re.search(r"(?m)^cd\s+['\"]?([^\s'\"]+)", command.text)
    folder = PurePosixPath(command.folder or (entered[1] if entered else "."))
    named = re.search(r"--conf(?:ig)?[= ]['\"]?([^\s'\"]+)", command.text)
    options = f" --config {named[1]}" if named else ""
    path = folder / (named[1] if named else "asv.conf.json")
    set_there = re.search(r'(?m)^\s*"results_dir":\s*"([^"]+)"', repository.read(str(path)))
    results = os.path.normpath(path.parent / (set_there[1] if set_there else "results"))
    line = "".join(re.findall(r"(?m)^.*\basv\s+(?:run|continuous)\b(.*)", command.text))
    filters = re.findall(r"\s(?:--bench|-b)[= ]('[^']*'|\"[^\"]*\"|[^\s'\"]+)", line)
    chosen = "".join(f" --bench {value}" for value in filters)
    launched = re.search(r"(?m)^\s*((?:\S+[ \t]+)*?)asv\s+(?:run|continuous)\b", command.text)
    asv = f"{launched[1] if launched else ''}asv"
    measure = f'{asv} machine --yes{options} && {asv} run{options}{chosen} "$PERF_CULPRIT_COMMIT^!"'
    where = f"cd {folder}\n" if entered and not command.folder else ""
    inside = results if where or not command.folder else os.path.relpath(results, folder)
    return replace(
        command,
        text=f"rm -rf {inside}\n{where}{measure}",
        after=f"cp -r {results} {OUTPUT_FILE}",
        output="",
        notes=("asv builds the commit in an environment of its own, as asv.conf.json says",),
    )


def _cargo(command: BenchmarkCommand, repository: Repository) -> BenchmarkCommand:
    text = re.sub(r"(?m)^.*\bcargo\s+codspeed\s+build\b.*\n?", "", command.text)
    text = re.sub(r"\bcargo\s+codspeed\s+run\b[^\n;&]*", "cargo bench", text)
    # cargo-criterion has its own format for samples, and its own options.
    text = re.sub(r"(?m)^(.*\bcargo\s+(?:\+\S+\s+)?)criterion\b(.*)", _plain_bench, text)
    if command.builds:
        # CodSpeed ran the benchmarks that were built for it.
        text = "\n".join(dict.fromkeys(bench_command(line) for line in command.builds))
    notes = ("measured by the benchmarks' own harness, not by CodSpeed's",) * ("codspeed" in command.text)
    if command.output:
        return copied(replace(command, text=text, notes=notes))
    manifests = "".join(repository.read(name) for name in repository.matching(re.compile(r"(^|/)Cargo\.toml$")))
    others = re.search(r"(?m)^(codspeed-)?(divan|iai|gungraun)\b", manifests)
    if "bencher" in text or others or not re.search(r"(?m)^(codspeed-)?criterion", manifests):
        return replace(command, text=text, notes=notes)
    if "cd " in text or "--manifest-path" in text:
        text = f'export CARGO_TARGET_DIR="$PWD/target"\n{text}'
    return replace(command, text=text, notes=notes, after=f"cp -r {command.within('target/criterion')} {OUTPUT_FILE}")


def _plain_bench(line: re.Match[str]) -> str:
    return f"{line[1]}bench" + re.sub(r"\s--(message|output)-format[= ]\S+|\s--history-\w+[= ]\S+", "", line[2])


def compiling(text: str) -> str:
    """Return the command that compiles the benchmarks of `cargo bench`: compiling must not count as execution time.

    Empty for a script with a loop or a condition, since its lines are not independent.
    """
    if CONTROL.search(text):
        return ""
    lines = [re.sub(r"(\s--\s|[|>;]|\s--$).*", "", line).strip() for line in re.split(r"\n|&&", text)]
    compiled = [re.sub(r"\bcargo\s+(\+\S+\s+)?bench\b.*", r"\g<0> --no-run", line) for line in lines]
    commands = [line for line in compiled if re.match(r"(cd|export)\s", line) or line.endswith(" --no-run")]
    return "\n".join(commands) if commands and commands[-1].endswith(" --no-run") else ""


def bench_command(line: str) -> str:
    """Convert `cargo codspeed build …` to `cargo bench`, without the measurement mode; a lone word is a benchmark."""
    words = re.findall(
        r"(?:[^\s'\"]|'[^']*'|\"[^\"]*\")+", re.split(r"\bcargo\s+codspeed\s+build\b", line, maxsplit=1)[1]
    )
    arguments: list[str] = []
    for i, word in enumerate(words):
        before = words[i - 1] if i else ""
        if re.match(r"(-m|--measurement-mode)(=|$)", word) or before in ("-m", "--measurement-mode"):
            continue
        is_value = before.startswith("-") and "=" not in before and before not in CARGO_SWITCHES
        arguments += [word] if word.startswith("-") or is_value else ["--bench", word]
    return " ".join(["cargo bench", *arguments])


CARGO_SWITCHES: Final = frozenset(
    ("--workspace", "--all", "--all-features", "--no-default-features", "--locked", "--offline", "--frozen", "-v", "-q")
)


def _jmh(command: BenchmarkCommand, repository: Repository) -> BenchmarkCommand:
    if "-jar" in command.text:
        changed = _to_file("rff", "-jar", "-rf json -rff ")(command, repository)
        return replace(changed, text=_option(changed.text, "rf", "json") or changed.text)
    if re.search(r"jmh[:/]run", command.text, re.IGNORECASE):
        return _gather(command, "*/jmh-result.json") if "-rf json" in command.text else copied(command)
    return _gather(command, "*/build/*/jmh/results.*")


def _gather(command: BenchmarkCommand, pattern: str) -> BenchmarkCommand:
    """Collect files from all folders, since a task may enter some, and delete them before the next execution."""
    into = f"mkdir -p {OUTPUT_FILE} && find . -path '{pattern}' -exec cp --parents {{}} {OUTPUT_FILE} ';' -delete"
    return replace(command, after=into, output="")


def _dotnet(command: BenchmarkCommand, _: Repository) -> BenchmarkCommand:
    text = command.text
    if "dotnet" in text and "--exporters" not in text:
        text = _append(text, "dotnet run", ("" if " -- " in text else "-- ") + "--exporters json")
    return _gather(replace(command, text=text), "*/results/*-report*.json")


# By the convention of PkgBenchmark, AirspeedVelocity and BenchmarkCI: a file that defines SUITE.
JULIA_SUITE: Final = (
    'julia --project=benchmark -e \'using BenchmarkTools; include("benchmark/benchmarks.jl"); '
    'BenchmarkTools.save("results.json", run(SUITE))\''
)
JULIA_BUILD: Final = (
    'julia --project=benchmark -e \'using Pkg; Pkg.develop(path="."); Pkg.add("BenchmarkTools"); Pkg.instantiate()\''
)


def _julia(command: BenchmarkCommand, repository: Repository) -> BenchmarkCommand:
    if "benchmark/benchmarks.jl" not in repository.files:
        return copied(command)
    return replace(
        command,
        text=f"{JULIA_BUILD}\n{JULIA_SUITE}",
        after=f"cp results.json {OUTPUT_FILE}",
        output="",
        notes=("benchmark/benchmarks.jl is run as it is, without a package that compares",),
    )


# The first pattern that the command matches decides. In the examples, OUT stands for "$PERF_CULPRIT_OUTPUT".
RULES: Final[tuple[tuple[str, Callable[[BenchmarkCommand, Repository], BenchmarkCommand]], ...]] = (
    # asv run -> asv run "$PERF_CULPRIT_COMMIT^!", then cp -r results OUT
    (r"\basv\s+(run|continuous)\b", _asv),
    # cargo codspeed run -> cargo bench
    (r"\bcargo\s+codspeed\b|\bcargo\s+(\+\S+\s+)?(-\S+\s+)*(bench|criterion)\b", _cargo),
    # hyperfine sort -> hyperfine --export-json OUT sort
    (r"\bhyperfine\b", _hyperfine),
    # go test -bench . | tee out.txt -> go test -bench .
    (r"\bgo\s+test\b", lambda command, _: copied(command)),
    # phpbench run -> phpbench run --dump-file=OUT
    (r"\bphpbench\b", _to_file("dump-file", "phpbench", "--dump-file=")),
    # pytest bench -> pytest bench --benchmark-json=OUT
    (r"\bpytest\b|--benchmark-json", _pytest),
    # vitest bench -> vitest bench --outputJson=OUT
    (r"\bvitest\b", lambda command, _: _vitest(command, "vitest", "--outputJson=")),
    # ./bench --benchmark_filter=x -> ./bench --benchmark_filter=x --benchmark_out=OUT
    (r"--benchmark_\w+", _to_file("benchmark_out", "--benchmark_", "--benchmark_out=")),
    # java -jar jmh.jar -> java -jar jmh.jar -rf json -rff OUT
    (r"\bgradlew?\b.*\bjmh\b|\bjmh[:/]run\b|-jar\s+\S*(jmh|bench)\S*\.jar", _jmh),
    # dotnet run -c Release -> dotnet run -c Release -- --exporters json, then find and cp
    (r"\bdotnet\s+run\b", _dotnet),
    (r"\bbenchpkg\b|\bjulia\b", _julia),
)


def _by_task(command: BenchmarkCommand, repository: Repository) -> BenchmarkCommand:
    bodies = [command.text, *_bodies(command, repository)]
    if file := next(filter(None, map(_RESULT_OPTION.search, bodies[1:])), None):
        return replace(command, after=f"cp {command.within(file[1])} {OUTPUT_FILE}", output="")
    rewritten = (_by_body(command, text, repository) for text in bodies)
    if (changed := next(filter(None, rewritten), None)) is not None:
        return changed
    if other := next(filter(None, map(OTHER_COMMIT.search, bodies)), None):
        if line := _inner(bodies):
            return native(replace(command, text=line, output=""), repository)
        command = replace(command, fault=f"it needs two commits (`{other[0]}`)")
    lines = [line for text in bodies for line in logical_lines(text) if TRIED.search(line)]
    if any(measuring_tool(line) not in ("", "task", "script") for line in lines):
        command = replace(command, is_tried=True)
    is_known = command.is_stored or any(READ.search(text) for text in bodies) or repository.says(*SOURCE)
    return replace(copied(command), is_timed=not is_known)


# A tool's own option for its result file, in a task that uses it.
_RESULT_OPTION: Final = re.compile(
    r"(?:-rff|--benchmark_out|--benchmark-json|--export-json|--outputJson|--outputFile|--dump-file)[= ]"
    r"['\"]?([\w./-]+\.(?:json|xml|csv))"
)


def _by_body(command: BenchmarkCommand, text: str, repository: Repository) -> BenchmarkCommand | None:
    if "BenchmarkDotNet" in text or re.search(r"dotnet\b.*[Bb]enchmark", text):
        return _dotnet(command, repository)
    if "vitest bench" in text:
        # pnpm, yarn and bun pass options on unchanged.
        dashes = "-- " if re.search(r"\bnpm\b", command.text) and " -- " not in command.text else ""
        return _vitest(command, "", f"{dashes}--outputJson=")
    if "--benchmark-json" in text and "posargs" in text:
        return replace(command, text=f"{command.text} -- --benchmark-json={OUTPUT_FILE}", output="")
    if re.search(r"--codspeed|[\"']codspeed[\"']", text) and re.search(TASK_RUNNERS, command.text):
        cargo = "what `cargo codspeed` measures inside the task is not read: give --run its `cargo bench`"
        notes = (CODSPEED_NOTE, *([cargo] if "cargo" in text else []))
        return _gather(replace(command, notes=notes), "*/.codspeed/*.json")
    if re.search(r"gradlew?\b.*[Bb]enchmark", text) and repository.says(
        r"\.gradle(\.kts)?$|\.toml$", r"kotlinx.benchmark"
    ):
        return _gather(command, "*/build/reports/benchmarks/*.*")
    return _gather(command, "*/build/*/jmh/results.*") if re.search(r"gradlew?\b.*\bjmh\b", text) else None


OTHER_COMMIT: Final = re.compile(r"\bgit (checkout|switch|worktree|stash)\b|\basv continuous\b")


def _inner(bodies: list[str]) -> str:
    """The measuring line in a script that does the comparison itself; only a line without the script's variables."""
    lines = [re.sub(r"^[@-]+|\s*\|\s*tee\s.*", "", line) for text in bodies for line in logical_lines(text)]
    plain = [" ".join(word for word in line.split() if "$" not in word) for line in lines if '"' not in line]
    return next((line for line in plain if measuring_tool(line) not in ("", "task", "script")), "")


# Commands whose printed text, or file kept by a workflow, can be read.
READ: Final = re.compile(
    "|".join(pattern for pattern, _ in RULES)
    + r"|\b(mitata|tinybench|benchmark\.js|nanobench|pyperf|benchmark_harness|BenchmarkTools|console\.table)\b"
    r"|\bdeno bench\b|Benchmark\.(Suite|bm|bmbm|measure)\b|(from |require\()['\"]benchmark['\"]|benchmark/ips"
    r"|\b(time|wrk2?|hey|vegeta|pgbench|sysbench|k6|locust|jmeter|redis-benchmark|memtier_benchmark|lighthouse) -",
    re.IGNORECASE,
)
# The libraries of a program can be seen in its source.
SOURCE: Final = (r"bench[^/]*(/.*)?\.(c|cc|cpp|cxx|h|hpp)$", r"benchmark/benchmark\.h|catch_?(2|test)|nanobench|celero")


TASK_RUNNERS: Final = r"\b(nox|tox|pixi|hatch|pdm|poe|rye|invoke|inv|just|make)\b"
TASK_FILES: Final = (
    ("tox", "tox.ini"),
    ("nox", "noxfile.py"),
    ("make", "Makefile"),
    ("just", "justfile"),
    ("pixi", "pixi.toml"),
    ("pixi|hatch|pdm|poe|rye", "pyproject.toml"),
    ("hatch", "hatch.toml"),
    ("invoke|inv", "tasks.py"),
    ("mise", "mise.toml"),
)


def _bodies(command: BenchmarkCommand, repository: Repository, depth: int = 2) -> Iterator[str]:
    """Yield the text of each file and task that the command names, and of those that these name."""
    for text in _file_names(command, repository):
        yield text
        if depth:
            yield from _bodies(replace(command, text=text), repository, depth - 1)


def _file_names(command: BenchmarkCommand, repository: Repository) -> Iterator[str]:
    words = re.findall(r"[\w.:/@-]+", command.text[: FILE_LIMITS.commands_characters])
    for word in dict.fromkeys(words) if len(words) < FILE_LIMITS.commands_words else ():
        for name in dict.fromkeys((word.removeprefix("./"), command.within(word.removeprefix("./")))):
            if name in repository.files:
                yield repository.read(name)
    if re.search(r"\b(npm|pnpm|yarn|bun)\b", command.text):
        # `--filter` and its like name a package of the workspace.
        elsewhere = re.search(r"\s(--filter|-F|--workspace|-w|--cwd|workspace)\b", command.text)
        others = repository.matching(re.compile(r"/package\.json$")) if elsewhere else []
        for name in (command.within("package.json"), *others):
            scripts = package_scripts(repository, name)
            yield from (scripts[word] for word in dict.fromkeys(words) if word in scripts)
    for program, file in TASK_FILES:
        if re.search(rf"\b({program})\b", command.text):
            yield _section(repository.read(command.within(file)), words)
    if re.search(r"\bmake\b", command.text):
        yield from (_section(repository.read(name), words) for name in repository.matching(re.compile(r"\.mk$")))


def package_scripts(repository: Repository, name: str) -> dict[str, str]:
    try:
        scripts = json.loads(repository.read(name)).get("scripts", {})
        return {str(key): str(value) for key, value in scripts.items()}
    except (ValueError, AttributeError, RecursionError):
        return {}


def _section(text: str, words: list[str]) -> str:
    """The lines of the named tasks only: the whole file would include others."""
    lines = text.splitlines()
    wanted = [word for word in words if len(word) > 3]
    starts = [
        i for i, line in enumerate(lines) if any(word in line for word in wanted) and not line.lstrip().startswith("#")
    ]
    return "\n".join("\n".join(lines[i : i + 14]) for i in starts)
