"""The trial of proposals on this machine, before anything is written: `init --try`.

A trial changes nothing but a scratch folder: packages of Python and npm that a job would install go there.
"""

import math
import re
import shlex
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

from perf_culprit.commands.measure_requests import Measure
from perf_culprit.config.settings import Config
from perf_culprit.errors import BotError, DataError, visible
from perf_culprit.flows.measurement import Tried, built_head
from perf_culprit.init.command_lines import logical_lines, measuring_tool
from perf_culprit.init.declared_names import lost_names
from perf_culprit.init.job_preparation import BROUGHT, PIP
from perf_culprit.init.native_output import TIMER
from perf_culprit.init.repository import Repository, look
from perf_culprit.init.workflow_files import Choice
from perf_culprit.progress import Say

TRIAL_MINUTES: Final = 10
# Actions that bring a program.
BRINGS: Final = (
    ("setup-python", "python3"),
    ("setup-go", "go"),
    ("setup-node", "node"),
    ("setup-java|gradle", "java"),
    ("rust-toolchain|rust-cache|actions-rs|setup-rust", "cargo"),
    ("setup-uv", "uv"),
    ("pnpm/", "pnpm"),
    ("setup-bun", "bun"),
    ("poetry", "poetry"),
    ("setup-pdm", "pdm"),
    ("setup-just", "just"),
    ("hatch", "hatch"),
    ("setup-deno", "deno"),
    ("dotnet", "dotnet"),
    ("julia", "julia"),
    ("setup-php", "php"),
    ("setup-ruby", "ruby"),
    ("pixi", "pixi"),
    ("mise", "mise"),
    ("micromamba|mamba", "micromamba"),
    ("conda", "conda"),
    ("nix", "nix"),
    ("ocaml|opam", "opam"),
    ("haskell", "cabal"),
    ("swift", "swift"),
    ("setup-zig", "zig"),
)
# Programs that the machine must have.
_MACHINE_PROGRAMS: Final = frozenset(
    {
        *("bazel", "bundle", "cabal", "cargo", "composer", "conda", "docker", "docker-compose", "dotnet", "dune"),
        *("earthly", "go", "gradle", "hyperfine", "java", "julia", "micromamba", "mise", "mvn", "nix", "node", "npm"),
        *("nvidia-smi", "opam", "php", "pixi", "pwsh", "ruby", "sbt", "swift", "task", "zig"),
    }
)
# The same benchmarks in another way: asv's environments may need a program that is not here, and repetitions within an
# execution take time, though `measure` repeats the whole of it.
OTHER_WAYS: Final = (
    (r"\basv run\b(?! (-E|--environment))", "asv run -E virtualenv"),
    (r"(?<=\s)-(test\.)?count[= ]([2-9]|\d\d+)\b", "-count=1"),
)
# Less time for each benchmark, if an execution takes too long: `measure` repeats the whole command anyway.
SHORTER: Final = (
    (r"(?<=\s)-(test\.)?(benchtime|count)[= ]\S+\s?", ""),
    (r"(\bgo test\b[^\n;&|]*?\s-(?:test\.)?bench[= ](?:'[^']*'|\"[^\"]*\"|\S+))", r"\1 -benchtime=100ms"),
    (r"(?=--benchmark-json=)", "--benchmark-max-time=0.1 --benchmark-min-rounds=1 "),
    (r"--codspeed(?![\w-])", "--codspeed --codspeed-max-time=0.1"),
    (r"\basv run\b", "asv run --attribute rounds=1 --attribute repeat=1"),
    (r"\s--benchmark_(repetitions|min_time)=\S+", ""),
    (r"(?=--benchmark_out=)", "--benchmark_min_time=0.05 "),
    (r"(?=-rf json\b)", "-f 1 -wi 1 -i 2 -w 1 -r 1 "),
)
CRITERION: Final = re.compile(r"target/criterion|--output-format bencher")
# What a failed trial's output shows: what the machine lacks, and a variable by which the tool takes what is there.
LACKS: Final = tuple(
    (re.compile(pattern), needed, instead)
    for pattern, needed, instead in (
        (r"toolchain '(nightly[\w.-]*)' (?:is not|may not be)", "the Rust toolchain {}", "RUSTUP_TOOLCHAIN=nightly"),
        (r"toolchain '([\w.-]+)' (?:is not|may not be)", "the Rust toolchain {}", "RUSTUP_TOOLCHAIN=stable"),
        (r"No interpreter found for (Python [\w.=<>, ]*\w)", "{}", "UV_PYTHON=python3"),
        (r"requires (?:a different Python: \S+ not in '([^']+)'|rustc (\S+) or newer)", "Python {}rustc {}", ""),
        (r"(?:release version|target release:?|languageVersion=)\s?(\d+)", "Java {}", ""),
        (r"GradleWrapperMain|services\.gradle\.org", "the Gradle that its wrapper names", ""),
        (r"ERR_PNPM_BAD_CONFIG_DEP|configured to use (?:yarn|pnpm)", "the package manager that package.json names", ""),
        (r"Could not find 'conda'|conda: (?:command )?not found", "`conda`", ""),
        (
            r"system library `([^`]+)` required|Could not find `(protoc)`|Could NOT find (\w+) \(missing",
            "the library or program {}{}{}",
            "",
        ),
        (
            r"(?:Could not resolve host: |UnknownHostException: |getaddrinfo \w+ |resolve address for )([\w.-]+)",
            "the network ({})",
            "",
        ),
    )
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ProposalTrial:
    """A proposal with its execution, by the commands that ran here; without one, a proposal that lacks something."""

    choice: Choice
    tried: Tried | None = None
    run: str = ""
    build: str | None = None


class Trials:
    """Tries proposals in order until one gives benchmarks, or the time is over. `tools`: a scratch folder."""

    def __init__(self, repository: Path, *, tools: Path, minutes: float, say: Say) -> None:
        self._repository = repository
        self._tools = tools
        self._say = say
        self._minutes = minutes
        self._end = time.monotonic() + 60 * minutes
        self._number = 0
        self._passed: list[str] = []
        self._untried: Choice | None = None
        self._learned: tuple[str, str] | None = None

    @property
    def left_minutes(self) -> float:
        return max(self._end - time.monotonic(), 0.0) / 60

    def first_of(self, choices: Sequence[Choice], more: Iterable[Choice]) -> ProposalTrial:
        """Prefer named benchmarks of any proposal, then of `more`, to the time of a whole command."""
        self._forget()
        for is_timed, some in ((False, choices), (False, more), (True, choices)):
            for choice in some:
                trial = self._try(choice, is_timed=is_timed)
                if trial is not None and not self._is_part(trial):
                    return trial
        if self._untried is not None:
            return ProposalTrial(choice=self._untried)
        message, step = self._learned or (
            "nothing that was tried gave benchmarks",
            "fill in a command that does: perf-culprit init --try --run 'COMMAND' --build 'COMMAND'",
        )
        raise DataError(message, place=str(self._repository), next_step=step)

    def _forget(self) -> None:
        self._passed, self._untried, self._learned = [], None, None

    def _is_part(self, trial: ProposalTrial) -> bool:
        """Whether a proposal that follows a failed one gives too few of the benchmarks that the sources declare."""
        if not self._passed or trial.tried is None:
            return False
        benchmark_names = {benchmark.name for benchmark in trial.tried.run.benchmarks}
        lost = lost_names(look(self._repository), self._passed, benchmark_names)
        if lost:
            self._passed.append(trial.choice.run)
            run = trial.choice.run
            what = f"`{_measuring_line(run)}` gives a part: the sources declare {_count_text(len(lost))} more"
            self._say(f"not taken: {what}, such as {', '.join(lost[:3])}")
            build = f" --build {shlex.quote(trial.choice.build)}" * bool(trial.choice.build)
            step = f"if the part is enough: perf-culprit init --try --run {shlex.quote(run)}{build}"
            self._learned = self._learned or (f"the whole suite failed, and {what}", step)
        return bool(lost)

    def _try(self, choice: Choice, *, is_timed: bool) -> ProposalTrial | None:
        ways = [run for run in dict.fromkeys(_ways(choice)) if (TIMER in run) == is_timed and run not in self._passed]
        if not ways:
            return None
        if needs := (*choice.needs, *missing(choice)):
            self._leave(choice, ways[0], needs)
            return None
        entered = ""
        while self.left_minutes * 60 > 1:
            trial, printed = self._execute(choice, ways, entered)
            if trial is not None:
                return trial
            if (lacking := lacking_in(printed)) is None:
                break
            needed, instead = lacking
            if not instead or entered:
                self._leave(choice, ways[0], (needed,))
                return None
            entered = f"export {instead}\n"
            self._say(f"{needed} is not here: tried with {instead}")
        else:
            self._say(
                f"not tried: {_measuring_line(ways[0])}; the trial's {self._minutes:g} minutes are over (--minutes)"
            )
        self._passed += ways
        return None

    def _leave(self, choice: Choice, run: str, needs: tuple[str, ...]) -> None:
        self._say(f"not tried: {_measuring_line(run)} needs {', '.join(needs)}")
        self._untried = self._untried or replace(choice, needs=needs)
        self._passed += _ways(choice)

    def _execute(self, choice: Choice, ways: Sequence[str], entered: str) -> tuple[ProposalTrial | None, str]:
        """Build HEAD as `measure` would and execute it by each way until one has a result; else what was printed.

        A shorter way is taken only if another one took too long.
        """
        self._number += 1
        folder = self._tools / str(self._number)
        enter, bring = scratch(choice, folder, pins=pinned(look(self._repository), choice))
        # Crates are compiled once for all trials.
        enter = f"{entered}export CARGO_BUILD_BUILD_DIR={shlex.quote(str(self._tools / 'cargo'))}\n" + enter
        build = enter + "\n".join(filter(None, (bring, choice.build)))
        request = Measure(
            repository=self._repository,
            run=enter + ways[0],
            build=build if bring or choice.build else None,
            tool=choice.format or "auto",
            build_timeout=round(60 * self.left_minutes),
            output=Path(),
        )
        log = Path(mkdtemp(prefix="perf-culprit-try-")) / "log.txt"
        shorter = shortened(ways[0])
        plans = [*ways, *([shorter] if shorter and shorter not in ways else [])]
        part, begun, is_slow = "the build", time.monotonic(), False
        try:
            with built_head(request, config=Config(), say=self._say, log=log) as execute:
                built = time.monotonic() - begun
                for number, run in enumerate(plans):
                    if run == shorter and not is_slow:
                        continue
                    begun, seconds = time.monotonic(), 60 * self.left_minutes / (len(plans) - number)
                    part = f"an execution (built in {built:.0f} s)"
                    try:
                        tried = execute(enter + run, seconds)
                    except BotError as error:
                        is_slow |= self._has_failed(run, error, part, begun, seconds)
                        continue
                    if run == shorter:
                        self._say(f"shortened, since one takes too long: {_measuring_line(run)}")
                    shutil.rmtree(log.parent)
                    return self._taken(replace(choice, run=run), tried, enter + run, request.build), ""
        except BotError as error:
            self._has_failed(ways[0], error, part, begun, request.build_timeout)
        return None, log.read_text(errors="replace") if log.is_file() else ""

    def _has_failed(self, run: str, error: BotError, part: str, begun: float, seconds: float) -> bool:
        """Say it, and return whether it took too long. The first such step is what the trial can say at its end."""
        took = time.monotonic() - begun
        is_slow = took >= seconds - 1
        if is_slow and self._learned is None:
            what = f"{part} was not done in {took:.0f} s: {_measuring_line(run)}"
            more = f"perf-culprit init --try --minutes {3 * self._minutes:g}"
            self._learned = (what, f"give it more time: {more}, or a command that measures less: --run 'COMMAND'")
        more = "; --minutes gives the trial more" * is_slow
        self._say(f"gave no benchmarks: {_measuring_line(run)}\n   {error.message}{more}\n   {error.next_step}")
        return is_slow

    def _taken(self, choice: Choice, tried: Tried, run: str, build: str | None) -> ProposalTrial:
        names = list(dict.fromkeys(benchmark.name for benchmark in tried.run.benchmarks))
        self._say(
            f"tried: {_count_text(len(names))} in {tried.execution_s:.0f} s, "
            f"built in {tried.build_s:.0f} s, such as {', '.join(names[:3])}"
        )
        return ProposalTrial(choice=choice, tried=tried, run=run, build=build)


def lacking_in(printed: str) -> tuple[str, str] | None:
    """Return what the machine lacks by the output of a failed trial, and the variable that takes what is there."""
    for pattern, needed, instead in LACKS:
        if (match := pattern.search(printed)) is not None:
            return needed.format(*match.groups(default="")), instead
    return None


def _count_text(number: int) -> str:
    return f"{number} benchmark{'s' * (number != 1)}"


def _measuring_line(command: str) -> str:
    """The line that measures, else the last one."""
    lines = logical_lines(command)
    return visible(next(filter(measuring_tool, lines), lines[-1]))


def _ways(choice: Choice) -> Iterator[str]:
    for run in (choice.run, *choice.others):
        yield run
        yield from (re.sub(pattern, instead, run) for pattern, instead in OTHER_WAYS)


def shortened(run: str) -> str:
    """Return the same benchmarks with less time for each, or "" if the tool has no option for it."""
    short = run
    for pattern, instead in SHORTER:
        short = re.sub(pattern, instead, short)
    if CRITERION.search(run):
        short = re.sub(r"\bcargo (?:\+\S+ )?bench\b[^\n;&|)']*", _short_criterion, short)
    return short if short != run and TIMER not in run else ""


def _short_criterion(line: re.Match[str]) -> str:
    command, _, options = line[0].rstrip().removesuffix(" --").partition(" -- ")
    # Without names, Cargo also runs the tests in the library, which refuse these options.
    named = command if re.search(r"--bench\b", command) else rf"{command} --bench \*"
    return f"{named} -- {options} --warm-up-time 1 --measurement-time 1 --sample-size 10 ".replace("  ", " ")


def pinned(repository: Repository, choice: Choice) -> Mapping[str, str]:
    """Return the package of each package manager, by the version that package.json or the workflow names."""
    inputs = [step.get("with") or {} for step in choice.steps if "pnpm/" in str(step["uses"])]
    named = [("pnpm", str(manifest["version"])) for manifest in inputs if "version" in manifest]
    named += re.findall(r'"packageManager":\s*"(pnpm|yarn|bun)@([\w.-]+)', repository.read("package.json"))
    versions = dict(named)
    moved = {"yarn": "@yarnpkg/cli-dist"} if not versions.get("yarn", "1").startswith("1") else {}
    return {name: f"{moved.get(name, name)}@{version}" for name, version in versions.items()}


def missing(choice: Choice) -> list[str]:
    """Return the programs that neither the machine nor a scratch folder has."""
    return [f"`{name}`" for name in _programs(choice) if name not in BROUGHT and shutil.which(name) is None]


def _programs(choice: Choice) -> list[str]:
    actions = [str(step["uses"]).partition("@")[0].lower() for step in choice.steps]
    brought = [name for pattern, name in BRINGS for action in actions if re.search(pattern, action)]
    lines = f"{choice.build}\n{choice.run}"
    named = re.findall(r"(?m)(?:^|&&|[;|(']|\b(?:then|do|exec|sudo))\s*(?:\w+=\S+\s+)*([\w-]+)(?=[\s)']|$)", lines)
    return list(dict.fromkeys([*brought, *(name for name in named if name in _MACHINE_PROGRAMS or name in BROUGHT)]))


def scratch(choice: Choice, folder: Path, *, pins: Mapping[str, str] | None = None) -> tuple[str, str]:
    """Return what enters the scratch folder, and what fills it; both empty if nothing is to be brought."""
    pins = pins or {}
    parts = [part.strip() for part in re.split(r"\n|&&", choice.setup) if part.strip()]
    own = [part for part in parts if PIP.search(part) or re.match(r"npm (i|install) (-g|--global)\b", part)]
    ways = [
        re.sub(rf"\b{name}$", pins.get(name, name), BROUGHT[name])
        for name in _programs(choice)
        if name in BROUGHT and shutil.which(name) is None
    ]
    lines = [*dict.fromkeys([*ways, *(re.sub(r"^sudo ", "", part) for part in own)])]
    if not lines:
        return "", ""
    tools = shlex.quote(str(folder))
    enter = f"export PATH={tools}/bin:$PATH npm_config_prefix={tools}\n"
    return enter, "\n".join([f"python3 -m venv {tools}", *lines])


def undone(choice: Choice) -> str:
    """Return the part of the preparation that a trial leaves out, since it changes the machine."""
    parts = [part.strip() for part in re.split(r"\n|&&", choice.setup) if part.strip()]
    return " && ".join(part for part in parts if not (PIP.search(part) or part.startswith(("npm i ", "npm install "))))


LIMIT_SECONDS: Final = 600.0
# The first look of `measure --until-decided` needs this many executions.
_FEWEST_EXECUTIONS: Final = 8


def paced(choice: Choice, tried: Tried, say: Say) -> Choice:
    """Raise the limit of an execution if one comes near it, and say what to do if few fit into a pull request."""
    seconds = tried.execution_s
    if 2 * seconds > LIMIT_SECONDS:
        choice = replace(choice, timeout=60 * math.ceil(2 * seconds / 60))
        say(f"An execution may take {choice.timeout} s: its --timeout is written, twice what one took.")
    if (wanted := _FEWEST_EXECUTIONS * seconds / 60) > choice.minutes * max(choice.parts, 1):
        parts = min(math.ceil(wanted / choice.minutes), 10)
        say(f"{_FEWEST_EXECUTIONS} executions take {wanted:.0f} minutes; a pull request has {choice.minutes}.")
        say(
            f"Measure fewer benchmarks (a filter in --run), on {parts} machines (--split --parts {parts} --list CMD), "
            "or only what was pushed: stored runs first (docs/github.md)."
        )
    return choice
