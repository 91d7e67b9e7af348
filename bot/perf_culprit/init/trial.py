"""The trial of proposals on this machine, before anything is written: `init --try`.

A trial changes nothing but a scratch folder: packages of Python and npm that a job would install go there.
"""

import math
import re
import shlex
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from perf_culprit.commands.measure_requests import Measure
from perf_culprit.config.settings import Config
from perf_culprit.errors import BotError, DataError, visible
from perf_culprit.flows.measurement import Tried, try_once
from perf_culprit.init.command_lines import logical_lines, measuring_tool
from perf_culprit.init.job_preparation import PIP
from perf_culprit.init.native_output import TIMER
from perf_culprit.init.workflow_files import Choice
from perf_culprit.machine.this_machine import Say

MINUTES: Final = 10
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
# Programs that a command names, and how the scratch folder gets them.
BROUGHT: Final = {
    **{
        name: f"pip install --quiet {name}"
        for name in ("cmake", "hatch", "invoke", "meson", "nox", "pdm", "poetry", "pytest", "tox", "uv")
    },
    "asv": "pip install --quiet asv virtualenv",
    "just": "pip install --quiet rust-just",
    **{name: f"npm install --silent --global {name}" for name in ("bun", "deno", "pnpm", "yarn")},
}
# Programs that the machine must have.
OWN: Final = frozenset(
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
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
        self._failures = 0
        self._untried: Choice | None = None

    @property
    def left_minutes(self) -> float:
        return max(self._end - time.monotonic(), 0.0) / 60

    def first_of(self, choices: Sequence[Choice], more: Iterable[Choice]) -> Trial:
        """Prefer named benchmarks of any proposal, then of `more`, to the time of a whole command."""
        for is_timed, some in ((False, choices), (False, more), (True, choices)):
            for choice in some:
                if (trial := self._try(choice, is_timed=is_timed)) is not None:
                    if self._failures:
                        self._say("earlier proposals failed: this may measure only a part of the suite")
                    return trial
        if self._untried is not None:
            return Trial(choice=self._untried)
        raise DataError(
            "nothing that was tried gave benchmarks",
            place=str(self._repository),
            next_step="fill in a command that does: perf-culprit init --try --run 'COMMAND' --build 'COMMAND'",
        )

    def _try(self, choice: Choice, *, is_timed: bool) -> Trial | None:
        ways = [run for run in dict.fromkeys(_ways(choice)) if (TIMER in run) == is_timed]
        needs = (*choice.needs, *missing(choice))
        if needs and ways:
            self._say(f"not tried: {_shown(ways[0])} needs {', '.join(needs)}")
            self._untried = self._untried or replace(choice, needs=needs)
            return None
        for number, run in enumerate(ways, 1):
            if self.left_minutes * 60 < 1:
                self._say(f"not tried: {_shown(run)}; the trial's {self._minutes:g} minutes are over (--minutes)")
                return None
            try:
                return self._execute(replace(choice, run=run), share=1 / (len(ways) + 1 - number))
            except BotError as error:
                more = "; --minutes gives the trial more" if "took longer than" in error.message else ""
                self._say(f"gave no benchmarks: {_shown(run)}\n   {error.message}{more}\n   {error.next_step}")
        self._failures += bool(ways)
        return None

    def _execute(self, choice: Choice, *, share: float) -> Trial:
        """Execute HEAD once as `measure` would, in a share of the time. Raise an error if there is no result."""
        self._number += 1
        enter, bring = scratch(choice, self._tools / str(self._number))
        run, build = enter + choice.run, "\n".join(filter(None, (enter + bring, choice.build))) or None
        seconds = 60 * self.left_minutes
        request = Measure(
            repository=self._repository,
            run=run,
            build=build,
            tool=choice.format or "auto",
            build_timeout=round(seconds),
            output=Path(),
        )
        tried = try_once(request, config=Config(), say=self._say, seconds=seconds, share=share)
        names = list(dict.fromkeys(benchmark.name for benchmark in tried.run.benchmarks))
        self._say(
            f"tried: {len(names)} benchmark{'s' * (len(names) != 1)} in {tried.execution_s:.0f} s, "
            f"built in {tried.build_s:.0f} s, such as {', '.join(names[:3])}"
        )
        return Trial(choice=choice, tried=tried, run=run, build=build)


def _shown(command: str) -> str:
    """The line that measures, else the last one."""
    lines = logical_lines(command)
    return visible(next(filter(measuring_tool, lines), lines[-1]))


def _ways(choice: Choice) -> Iterator[str]:
    for run in (choice.run, *choice.others):
        yield run
        yield from (re.sub(pattern, instead, run) for pattern, instead in OTHER_WAYS)


def missing(choice: Choice) -> list[str]:
    """The programs that neither the machine nor a scratch folder has."""
    return [f"`{name}`" for name in _programs(choice) if name not in BROUGHT and shutil.which(name) is None]


def _programs(choice: Choice) -> list[str]:
    actions = [str(step["uses"]).partition("@")[0].lower() for step in choice.steps]
    brought = [name for pattern, name in BRINGS for action in actions if re.search(pattern, action)]
    lines = f"{choice.build}\n{choice.run}"
    named = re.findall(r"(?m)(?:^|&&|[;|(']|\b(?:then|do|exec|sudo))\s*(?:\w+=\S+\s+)*([\w-]+)(?=[\s)']|$)", lines)
    return list(dict.fromkeys([*brought, *(name for name in named if name in OWN or name in BROUGHT)]))


def scratch(choice: Choice, folder: Path) -> tuple[str, str]:
    """Return what enters the scratch folder, and what fills it; both empty if nothing is to be brought."""
    parts = [part.strip() for part in re.split(r"\n|&&", choice.setup) if part.strip()]
    own = [part for part in parts if PIP.search(part) or re.match(r"npm (i|install) (-g|--global)\b", part)]
    ways = [BROUGHT[name] for name in _programs(choice) if name in BROUGHT and shutil.which(name) is None]
    lines = [*dict.fromkeys([*ways, *(re.sub(r"^sudo ", "", part) for part in own)])]
    if not lines:
        return "", ""
    tools = shlex.quote(str(folder))
    enter = f"export PATH={tools}/bin:$PATH npm_config_prefix={tools}\n"
    return enter, "\n".join([f"python3 -m venv {tools}", *lines])


def undone(choice: Choice) -> str:
    """The part of the preparation that a trial leaves out, since it changes the machine."""
    parts = [part.strip() for part in re.split(r"\n|&&", choice.setup) if part.strip()]
    return " && ".join(part for part in parts if not (PIP.search(part) or part.startswith(("npm i ", "npm install "))))


# Time: what one measured execution says of a pull request.

LIMIT_SECONDS: Final = 600.0
# The first look of `measure --until-decided` needs this many executions.
FEWEST: Final = 8


def paced(choice: Choice, tried: Tried, say: Say) -> Choice:
    """Raise the limit of an execution if one comes near it, and say what to do if few fit into a pull request."""
    seconds = tried.execution_s
    if 2 * seconds > LIMIT_SECONDS:
        choice = replace(choice, timeout=60 * math.ceil(2 * seconds / 60))
        say(f"An execution may take {choice.timeout} s: its --timeout is written, twice what one took.")
    if (wanted := FEWEST * seconds / 60) > choice.minutes * max(choice.parts, 1):
        parts = min(math.ceil(wanted / choice.minutes), 10)
        say(f"{FEWEST} executions take {wanted:.0f} minutes; a pull request has {choice.minutes}.")
        say(
            f"Measure fewer benchmarks (a filter in --run), on {parts} machines (--split --parts {parts} --list CMD), "
            "or only what was pushed: stored runs first (docs/github.md)."
        )
    return choice
