"""The measuring steps of a repository's own workflows, and how to measure one commit in the same way."""

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from perf_culprit.init.command_lines import BENCHER, TALK, bencher_command, logical_lines, measuring_tool, without_noise
from perf_culprit.init.job_preparation import BROUGHT, CODSPEED_BUILD, SIDES, VENV, Preparation, placed, preparation_of
from perf_culprit.init.native_output import (
    OUTPUT_FILE,
    TIMED_NOTE,
    TRIED,
    TRIED_NOTE,
    BenchmarkCommand,
    compiling,
    native,
)
from perf_culprit.init.repository import Repository, Suggestion
from perf_culprit.init.workflow_jobs import OTHER_SYSTEMS, WorkflowJob, WorkflowStep, jobs

# Sources whose step is a whole suite; their command is rewritten.
_WHOLE_SUITES: Final = ("asv", "Julia", "CodSpeed", "cargo codspeed", "Bencher")
CHECKS_OUT: Final = re.compile(r"actions/checkout|\bgit (checkout|switch|worktree|stash|reset)\b")
GAB: Final = "github-action-benchmark"
CODSPEED: Final = re.compile(r"^codspeedhq/(action|codspeed)")
_BENCHMARK_WORDS: Final = re.compile(r"bench|perf|codspeed|asv|bencher", re.IGNORECASE)
SCORES: Final = {GAB: 100.0, "Bencher": 95.0, "CodSpeed": 90.0, "task": 40.0, "script": 30.0}
FOR_PEOPLE: Final = re.compile(r"\.(html?|zip|md|png|svg|gz|tgz|pdf)$|\bhtml\b")
_SURE_SCORE: Final = 42.0
USUAL_RUNNER: Final = re.compile(r"^ubuntu-(latest|2[24]\.04)$")


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuringStep:
    """A measuring step of a job, its command, and its result file, if one is named."""

    job: WorkflowJob
    position: int
    command: str
    source: str
    output: str = ""
    tool: str = ""

    @property
    def declared(self) -> WorkflowStep:
        return self.job.steps[self.position]

    @property
    def score(self) -> float:
        """How certain it is that this is the suite that the project watches."""
        events = set(self.job.events)
        score = SCORES.get(self.source, 70.0)
        score += 12 * bool(_BENCHMARK_WORDS.search(self.job.title)) + 4 * bool(events & {"push", "pull_request"})
        score -= 30 * bool(OTHER_SYSTEMS.search(self.job.runner)) + 15 * bool(TRIED.search(self.command))
        # A script after a download processes results.
        earlier = " ".join(step.uses for step in self.job.steps[: self.position])
        score -= 20 * ("download-artifact" in earlier and self.source in ("task", "script"))
        return score - 25 * (events <= {"release", "issue_comment", "workflow_run"})

    @property
    def is_sure(self) -> bool:
        is_tried = TRIED.search(self.command) or re.search(
            r"smoke|\bcheck\b|validate", self.declared.name, re.IGNORECASE
        )
        return self.score >= _SURE_SCORE and (self.source == "asv" or not is_tried)


def workflow_suggestions(repository: Repository) -> tuple[list[Suggestion], list[Suggestion]]:
    """Suggest each job that measures, the surest first; in a second list, jobs that only try benchmarks out."""
    every = [one for job in jobs(repository) for one in _of_job(job)]
    whole = [_elsewhere(step, every) for step in every]
    by_job: dict[str, list[MeasuringStep]] = {}
    for step in sorted(whole, key=lambda step: -step.score):
        if step.command:
            by_job.setdefault(step.job.place, []).append(step)
    each = [_suggestion(_same_kind(those), repository) for those in by_job.values()]
    return [step for step in each if step.is_sure], [step for step in each if not step.is_sure]


# Actions that a job which does not measure needs for its programs too.
_SETS_UP: Final = re.compile(r"/(action-)?(setup|install)\b|toolchain")


def with_program(suggestion: Suggestion, program: str, repository: Repository) -> Suggestion:
    """Add what a job of the workflows sets up before it runs the same program; else install the program."""
    runs = re.compile(rf"(?m)(?:^|[;&|]|\s-m)\s*{re.escape(program)}\s")
    usual = [job for job in jobs(repository) if not OTHER_SYSTEMS.search(job.runner)]
    runner = next(
        (
            (job, position)
            for job in sorted(usual, key=lambda job: not {"push", "pull_request"} & set(job.events))
            for position, step in enumerate(job.steps)
            if not step.is_skipped and runs.search(step.run)
        ),
        None,
    )
    done = preparation_of(*runner) if runner else Preparation()
    steps = tuple(step for step in done.steps if _SETS_UP.search(step["uses"]))
    there = "\n".join([*done.setup, *(step["uses"] for step in steps)])
    install = BROUGHT.get(program, "")
    if re.search(r'"packageManager":\s*"yarn@[2-9]', repository.read("package.json")) and program == "yarn":
        install = "corepack enable"
    if re.search(rf"\b({program}|corepack)\b", there):
        install = ""
    setup = _joined(dict.fromkeys([suggestion.setup, *done.setup, install]))
    return replace(suggestion, steps=steps, setup=setup)


# Parts of a command that concern how a suite is measured and stored, not which suite it is.
MANNER: Final = re.compile(
    r"(?m)^\s*(rm|cp|mkdir|export|find|\. )\s.*$|\(export [^\n]*"
    r"|\s--?(benchmark-\S+|codspeed|save-baseline|baseline|output-format|dump-file|tag|ref|report|store|count|benchtime|benchmem)"
    r"([= ][^\s-]\S*)?|\$?\bPERF_CULPRIT_\w+|[\"'()&|;]"
)


def suites(suggestions: Sequence[Suggestion]) -> list[Suggestion]:
    """Return the first suggestion, and the next sure one if it is another suite; they are watched separately."""
    first, *others = suggestions
    same = set(_words(first))
    second = [
        each
        for each in others
        if each.is_sure
        and (each.tool == first.tool or each.tool not in ("task", "script"))
        and set(_words(each)) != same
    ]
    return [first, *second[:1]] if first.is_sure else [first]


def _words(suggestion: Suggestion) -> list[str]:
    return SIDES.sub("", MANNER.sub(" ", suggestion.run)).split()


def _same_kind(those: list[MeasuringStep]) -> list[MeasuringStep]:
    """A job's measurements by the surest tool, step by step, until the job checks out another commit."""
    steps = those[0].job.steps
    same_kind = [step for step in those if step.source == those[0].source and step.is_sure == those[0].is_sure]
    if those[0].source in _WHOLE_SUITES:
        return those[:1]
    first = min(step.position for step in same_kind)
    changes = [i for i in range(first + 1, len(steps)) if CHECKS_OUT.search(f"{steps[i].uses}\n{steps[i].run}")]
    until = next(iter(changes), len(steps))
    # A base and a head belong to one suite.
    near = {(step.declared.folder, SIDES.sub("", step.command)): step for step in same_kind if step.position < until}
    return list(near.values())


def _elsewhere(one: MeasuringStep, others: list[MeasuringStep]) -> MeasuringStep:
    """Replace a job that only stores the results of another job in the file by that job."""
    takes = any("download-artifact" in step.uses for step in one.job.steps)
    if one.command and not (takes and one.source == GAB and not measuring_tool(one.command)):
        return one
    file = one.job.place.partition(",")[0]
    same = [other for other in others if other.command and other.job.place.startswith(f"{file},") and other != one]
    nearest = max(same, key=lambda other: other.score, default=None)
    return one if nearest is None else replace(nearest, source=one.source, tool=one.tool, output=_uploaded(nearest))


def _result_file(step: MeasuringStep) -> str:
    """The file that the command writes by its options, else the file that the job uploads."""
    option = re.search(
        r"\s(?:-o|--out(?:put)?(?:-(?:json|file))?)[= ]['\"]?([\w./-]+\.(?:json|txt|csv|xml))", step.command
    )
    return option[1] if option else _uploaded(step)


def _uploaded(one: MeasuringStep) -> str:
    """The file with results that the job uploads."""
    later = one.job.steps[one.position + 1 :]
    paths = [step.given.get("path", "").strip() for step in later if step.action.endswith("/upload-artifact")]
    return next((path for path in paths if path and "\n" not in path and not FOR_PEOPLE.search(path)), "")


def _of_job(job: WorkflowJob) -> Iterator[MeasuringStep]:
    for end, step in enumerate(job.steps):
        if step.is_skipped:
            continue
        if step.action.endswith(GAB):
            output, tool = step.given.get("output-file-path", ""), step.given.get("tool", "")
            for position, command in _written(job, end, output):
                yield MeasuringStep(
                    job=job, position=position, command=command, source=GAB, output=output.removeprefix("./"), tool=tool
                )
        elif "airspeedvelocity" in step.action:
            yield MeasuringStep(job=job, position=end, command="benchpkg", source="Julia")
        elif CODSPEED.search(step.action) and step.given.get("run"):
            yield MeasuringStep(job=job, position=end, command=step.given["run"].strip(), source="CodSpeed")
        elif BENCHER.search(step.run):
            command, adapter = bencher_command(step.run)
            one = MeasuringStep(job=job, position=end, command=command, source="Bencher", tool=adapter)
            file = re.search(r"\s--file[= ]['\"]?([\w./-]+)", step.run)
            # With a file, its own command may not measure.
            others = _written(job, end, file[1]) if file and not measuring_tool(command) else [(end, command)]
            output = file[1] if file else ""
            yield from (replace(one, position=position, command=text, output=output) for position, text in others)
        elif step.run and (source := measuring_tool(step.run)):
            one = MeasuringStep(job=job, position=end, command=without_noise(step.run), source=source)
            yield replace(one, output=_result_file(one)) if source in ("task", "script") else one


def _written(job: WorkflowJob, end: int, output: str) -> list[tuple[int, str]]:
    """The steps that produce the file, each with its command and the measurement that it uses."""
    writers = _writers(job, end, output)
    if not writers:
        return [(0, "")]
    last = job.steps[writers[0]].run
    first = writers[0]
    for i in range(first) if not measuring_tool(last) else ():
        made = re.findall(r"(?:\btee|>)\s+['\"]?([\w./-]+)", job.steps[i].run)
        if measuring_tool(job.steps[i].run) and any(re.search(rf"(?<!\w){re.escape(name)}\b", last) for name in made):
            first = i
    if first != writers[0]:
        return [(first, "\n".join(without_noise(job.steps[i].run) for i in (first, writers[0])))]
    return [(position, without_noise(job.steps[position].run)) for position in writers]


def _writers(job: WorkflowJob, end: int, output: str) -> list[int]:
    """The steps before the storing one that write the file; else the measuring one, else the last one."""
    stores = [i for i in range(end) if job.steps[i].action.endswith(GAB)]
    before = [i for i in range(end) if job.steps[i].run and not job.steps[i].is_skipped]
    # Files that another store has read are its own.
    before = [i for i in before if not stores or i > stores[-1]] or before
    name = output.rpartition("/")[2]
    written = re.compile(rf"(>|\btee)(\s+-\S+)*\s*\S*{re.escape(name)}")
    measuring = [i for i in before if measuring_tool(job.steps[i].run)]
    named = [i for i in before if name and name in job.steps[i].run]
    writing = [i for i in measuring if i in named and written.search(job.steps[i].run)]
    naming = [i for i in named if not TALK.match(job.steps[i].run) or written.search(job.steps[i].run)]
    return writing or naming[:1] or measuring[-1:] or before[-1:]


def _suggestion(those: list[MeasuringStep], repository: Repository) -> Suggestion:
    ordered = sorted(those, key=lambda step: step.position)
    first = ordered[0]
    done = preparation_of(first.job, first.position)
    commands = [_native(step, done, repository) for step in ordered]
    rewritten = ("asv", "cargo codspeed") if not done.builds else ("asv", "cargo codspeed", "CodSpeed")
    done.unknown += [name for step in ordered if step.source not in rewritten for name in step.declared.unknown]
    # What `bencher run` is given concerns its project, not the command.
    done.lacks += [
        name for step in ordered if step.source not in (*rewritten, "Bencher") for name in step.declared.lacks
    ]
    done.build += [
        placed(part, _within(one, done))
        for command, one in zip(commands, ordered, strict=True)
        for part in [compiling(command.text)]
        if part
    ]
    run, *others = dict.fromkeys(_run(ordered, each, done) for each in _ways(commands))
    customs = [one for one, command in zip(ordered, commands, strict=True) if command.output and "custom" in one.tool]
    notes = [*(note for command in commands for note in command.notes), *done.notes, *_lost(ordered, done)]
    notes += [TIMED_NOTE] * any(command.is_timed for command in commands)
    is_tried = any(command.is_tried for command in commands)
    notes += [TRIED_NOTE] * is_tried
    if customs:
        files = ", ".join(custom.output for custom in customs)
        notes.append(f"which way is good does not stand in {files}: state `direction` in the configuration")
    return Suggestion(
        tool=first.source,
        setup=_joined(dict.fromkeys(done.setup)),
        build=_launched(_joined(dict.fromkeys(done.build)), done.launcher),
        run=run,
        others=tuple(others),
        format=customs[0].tool if len(customs) == len(ordered) == 1 else "",
        place=first.job.place + f", step {first.declared.name}" * bool(first.declared.name),
        notes=tuple(dict.fromkeys(notes)),
        is_sure=first.is_sure and not is_tried and not any(name.startswith("matrix.") for name in done.unknown),
        steps=tuple(done.steps),
        services=first.job.services,
        needs=(
            *(f"the service {name}" for name in first.job.services),
            *([f"a machine of `{first.job.runner}`"] if OTHER_MACHINES.search(first.job.runner) else ()),
        ),
        lacks=tuple(dict.fromkeys(done.lacks)),
        fault=next((command.fault for command in commands if command.fault), ""),
    )


# Machines that a usual one cannot stand in for.
OTHER_MACHINES: Final = re.compile(rf"{OTHER_SYSTEMS.pattern}|gpu|cuda|self-hosted|bare-metal", re.IGNORECASE)


def _ways(commands: list[BenchmarkCommand]) -> Iterator[list[BenchmarkCommand]]:
    """Yield the best way first; then by printed results; then with the time of commands that only print."""
    yield commands
    yield [replace(command, is_timed=False) for command in commands]
    plain = [command.is_timed or not (command.after or OUTPUT_FILE in command.text) for command in commands]
    yield [replace(command, is_timed=is_timed) for command, is_timed in zip(commands, plain, strict=True)]


def _within(step: MeasuringStep, done: Preparation) -> WorkflowStep:
    return replace(step.declared, environment={**done.variables, **step.declared.environment})


def _run(those: list[MeasuringStep], commands: list[BenchmarkCommand], done: Preparation) -> str:
    parts = [VENV] * any(VENV in part for part in done.build) + done.servers
    if _needs_folder(those, commands):
        parts.append(f"mkdir -p {OUTPUT_FILE}")
        names = [f"{i}-{one.output.rpartition('/')[2]}" for i, one in enumerate(those, 1)]
        commands = [command.into(name) for command, name in zip(commands, names, strict=True)]
    for command, one in zip(commands, those, strict=True):
        # A folder that several commands fill together is copied once.
        parts = [part for part in parts if not command.after or part != command.after]
        parts += [placed(command.line, _within(one, done)), command.after * (not command.is_timed)]
    return _launched(_joined(parts), done.launcher)


def _needs_folder(those: list[MeasuringStep], commands: list[BenchmarkCommand]) -> bool:
    """Whether each writes its own results; commands that print, or fill one folder, write one result together."""
    afters = {command.after for command in commands}
    outputs = {step.output for step in those if step.source == GAB}
    return len(those) > 1 and (
        len(afters) > 1 or len(outputs) > 1 or any(OUTPUT_FILE in command.text for command in commands)
    )


def _joined(parts: Iterable[str]) -> str:
    """Join to one command: on one line if possible, so that `sh -e` ends at the first failure."""
    texts = [part for part in parts if part]
    return ("\n" if any("\n" in text or text.endswith("&") for text in texts) else " && ").join(texts)


def _launched(command: str, launcher: str) -> str:
    return f"{launcher} sh -e -c {shlex.quote(command)}" if launcher and command else command


def _native(step: MeasuringStep, done: Preparation, repository: Repository) -> BenchmarkCommand:
    text = "\n".join(step.declared.variants) if step.declared.variants and step.source != "Bencher" else step.command
    if step.source == "asv":
        # The place of its files is in variables.
        own = dict(re.findall(r"""(?m)^\s*(?:export\s+)?(\w+)=["']?([^"'\n]*)""", step.declared.run))
        texts = {**step.declared.environment, **own}
        text = re.sub(r"\$\{?(\w+)\}?", lambda match: texts.get(match[1], match[0]), text)
    inside = [line for line in logical_lines(text) if CODSPEED_BUILD.search(line)]
    builds = (*done.builds, *inside) if "codspeed run" in text else ()
    command = BenchmarkCommand(
        text=text,
        output=step.output,
        folder=step.declared.folder,
        builds=builds,
        is_stored=bool(step.tool or done.servers),
    )
    return native(command, repository)


def _lost(those: list[MeasuringStep], done: Preparation) -> Iterator[str]:
    """The parts of a job that are not carried over."""
    job = those[0].job
    for key, values in job.others.items():
        if f"matrix.{key}" not in {*done.matrix_keys, *(step.declared.matrix_key for step in those)}:
            yield f"of the matrix's `{key}` one value is taken, not: {', '.join(values[:6])}"
    yield from job.notes
    if job.runner and not USUAL_RUNNER.match(job.runner):
        yield f"it ran on {job.runner}: change `runs-on` where that matters"
    for name in list(dict.fromkeys(done.unknown))[:4]:
        secret = name.startswith("secret ")
        yield (
            f"its step is given the {name}, ours is not"
            if secret
            else f"only GitHub knows `{name}`, which is empty here"
        )
