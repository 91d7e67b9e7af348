"""The commands init, doctor, demo, mcp, formats, schema and completion."""

import os
import sys
import webbrowser
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from perf_culprit import git
from perf_culprit.cli.command_parser import all_parsers
from perf_culprit.cli.options import chosen_config
from perf_culprit.cli.output import ask, say, write
from perf_culprit.commands.setup_requests import Completion, Demo, Doctor, Formats, Init, Mcp, Schema
from perf_culprit.errors import EXIT_FINE, EXIT_USAGE, BotError, UsageError, visible
from perf_culprit.files import replace_file
from perf_culprit.release import IS_RELEASE

if TYPE_CHECKING:
    from perf_culprit.flows.measurement import Tried
    from perf_culprit.init.repository import Suggestion
    from perf_culprit.init.trial import ProposalTrial
    from perf_culprit.init.workflow_files import Choice


def demo(options: Demo) -> int:
    from perf_culprit.demo.story import run_demo

    for page in run_demo(options.directory, say=say):
        if options.open:
            webbrowser.open(page.absolute().as_uri())
    return EXIT_FINE


def formats(options: Formats) -> int:
    from perf_culprit.flows.compare import formats_list

    say(formats_list(options.name or ""))
    return EXIT_FINE


def completion(options: Completion) -> int:
    import shtab

    parsers = all_parsers()
    for parser in parsers:
        for action in parser._actions:  # noqa: SLF001 - shtab reads it too
            if action.metavar in {"FILE", "OUT", "DIR"}:
                action.complete = shtab.DIRECTORY if action.metavar == "DIR" else shtab.FILE  # type: ignore[attr-defined]  # shtab looks for it
    write(None, shtab.complete(parsers[0], options.shell).encode())
    return EXIT_FINE


def print_schema(options: Schema) -> int:
    from perf_culprit.flows.published_schemas import published_schema

    write(None, published_schema(options.name))
    return EXIT_FINE


def mcp(options: Mcp) -> int:
    from perf_culprit.mcp.server import serve

    if find_spec("mcp") is None:
        raise UsageError(
            "the protocol's library is not installed", place="mcp", next_step="pip install 'perf-culprit[mcp]'"
        )
    serve(options.repository, allow_run=options.allow_run)
    return EXIT_FINE


def init(options: Init) -> int:
    from perf_culprit.init.workflow_files import new_files, workflow_name

    if options.check:
        return _check(options.repository)
    choices, notes, others = _choices(options)
    files = new_files(*choices, name=workflow_name(options.repository))
    # A trial replaces what `init` wrote without one.
    present = [path for path, text in files.items() if _stays(options.repository / path, text, options)]
    if present and not options.force:
        raise UsageError(
            f"is there already: {', '.join(present)}",
            place=str(options.repository),
            next_step="check it with perf-culprit init --check, or replace it with --force",
        )
    if not _is_to_try(options, choices):
        if options.pull_request:
            _draft(options, choices, notes)
            return EXIT_FINE
        _write(options, choices, notes)
        if not choices[0].since:
            say("Try it first: perf-culprit init --try")
        return EXIT_FINE
    with TemporaryDirectory(prefix="perf-culprit-tools-") as tools:
        trials, left_minutes = _try_proposals(options, choices, others, Path(tools))
        _write(options, [trial.choice for trial in trials], notes)
        for trial in trials:
            if trial.tried is not None:
                _qualify(options, trial, trial.tried, left_minutes)
    return EXIT_FINE


def _write(options: Init, choices: "list[Choice]", notes: tuple[str, ...]) -> None:
    from perf_culprit.init.workflow_files import ACTIONS_LOCK, RELOCK, new_files, workflow_name

    for path, text in new_files(*choices, name=workflow_name(options.repository)).items():
        replace_file(options.repository / path, text.encode())
        say(f"wrote {path}")
    if (options.repository / ACTIONS_LOCK).is_file():
        say(f"{ACTIONS_LOCK} does not have the new files: {RELOCK}.")
    if not IS_RELEASE:
        say("This is not a release: put the commit of the release that you reviewed in place of the zeros.")
    if choices[0].since:
        say("Commit this file and start it in the tab Actions, or wait for the night. It resumes where it ended.")
    else:
        _say_what_follows(options, choices, notes)


def _draft(options: Init, choices: "list[Choice]", notes: tuple[str, ...]) -> None:
    """Write only what tries the proposals on GitHub: nothing shows yet that they run."""
    from perf_culprit.init.introduction import DRAFT, pull_request_text
    from perf_culprit.init.workflow_files import draft_files

    for path, text in draft_files(choices[0]).items():
        replace_file(options.repository / path, text.encode())
        say(f"wrote {path}")
    for line in DRAFT:
        say(line)
    say(f"\n{pull_request_text(choices, notes)}")


def _stays(path: Path, text: str, options: Init) -> bool:
    return path.exists() and not (options.try_out and path.read_text(encoding="utf-8", errors="replace") == text)


def _is_to_try(options: Init, choices: "list[Choice]") -> bool:
    """Ask before anything runs, where somebody can answer; without a terminal, `--try` decides."""
    from perf_culprit.init.trial import TRIAL_MINUTES

    if options.yes or choices[0].since or not sys.stdin.isatty():
        return options.try_out
    for choice in choices:
        say(visible(f"   build: {choice.build or 'nothing'}"))
        say(visible(f"   run: {choice.run}"))
    question = f"Run these commands here once, for at most {options.minutes or TRIAL_MINUTES} minutes? (yes/no)"
    return ask(question, "yes" if options.try_out else "no").lower().startswith("y")


def _qualify(options: Init, trial: "ProposalTrial", tried: "Tried", left_minutes: float) -> None:
    """Say what a pull request will cost here, and what it will show. The files are written whatever comes of it."""
    from perf_culprit.commands.measure_requests import Qualify
    from perf_culprit.config.settings import Config
    from perf_culprit.flows.qualify import qualified
    from perf_culprit.init.trial import LIMIT_SECONDS
    from perf_culprit.say.audit_text import qualification_text

    minutes = min(float(trial.choice.minutes), left_minutes)
    say(f"\nHEAD against itself, for at most {minutes:.0f} minutes:")
    request = Qualify(
        repository=options.repository,
        run=trial.run,
        build=trial.build,
        tool=trial.choice.format or "auto",
        minutes=minutes,
        timeout=float(trial.choice.timeout or LIMIT_SECONDS),
    )
    try:
        say(qualification_text(qualified(request, config=Config(), say=lambda _: None, tried=tried)))
    except BotError as error:
        say(f"not known: {error}")


def _say_what_follows(options: Init, choices: "list[Choice]", notes: tuple[str, ...]) -> None:
    from perf_culprit.init.introduction import FIRST_RUN, FORKS, foreign_steps, history_step, pull_request_text

    say(f"Commit these files. {FIRST_RUN}")
    for line in foreign_steps(choices):
        say(line)
    if not choices[0].split:
        say(FORKS)
    elif len(choices) > 1:
        say(f"/perf-bisect runs the suite {choices[0].suite}: `bisect.run` of the configuration is one command.")
    if options.origin:
        say(history_step(options.origin, options.repository))
    if options.pull_request:
        say(f"\n{pull_request_text(choices, notes)}")


def _try_proposals(
    options: Init, choices: "list[Choice]", others: "list[Choice]", tools: Path
) -> "tuple[list[ProposalTrial], float]":
    """Return the proposals that give benchmarks, and the trial's minutes that are left.

    Only the first suite must run. A second one that does not is left out.
    """
    from perf_culprit.init.asked_tools import asked_suggestions
    from perf_culprit.init.trial import TRIAL_MINUTES, Trials, paced, undone

    if left_out := " && ".join(filter(None, map(undone, choices))):
        say(f"not done here, since it changes the machine: {left_out}")
    trials = Trials(options.repository, tools=tools, minutes=options.minutes or TRIAL_MINUTES, say=say)
    more = (
        replace(choices[0], run=each.run, setup="", build=each.build, others=(), needs=())
        for each in (asked_suggestions(options.repository) if options.run is None else ())
    )
    trial_results = [trials.first_of([choices[0], *others], more)]
    for choice in choices[1:]:
        try:
            trial_results.append(trials.first_of([choice], ()))
        except BotError:
            say(f"left out: the suite {choice.suite}")
    if len(trial_results) == 1:
        trial_results = [replace(trial_results[0], choice=replace(trial_results[0].choice, suite=""))]
    paced_ones = [
        replace(each, choice=paced(each.choice, each.tried, say)) if each.tried is not None else each
        for each in trial_results
    ]
    return paced_ones, trials.left_minutes


def _choices(options: Init) -> tuple["list[Choice]", tuple[str, ...], "list[Choice]"]:
    """Ask at most three questions: the command, the machine's preparation, and whether pull requests come from forks.

    Return also the notes on the suggestion that was followed, and the proposals that a trial may take instead.
    Further suites are kept as they were found.
    """
    from perf_culprit.init.introduction import proposed_suite_names
    from perf_culprit.init.workflow_files import JOB_MINUTES

    suggestions, chosen = _suggestions(options)
    run, setup, build = options.run, options.setup, options.build
    if setup is None and run is not None:
        setup = next((each.setup for each in suggestions if each.program in run.split()), None)
    asks = not options.yes and sys.stdin.isatty()
    answer = ask if asks else (lambda _, default: default)
    if run is None:
        run = answer("Command that measures a commit", chosen[0].run if chosen else "")
    if not run:
        raise UsageError(
            "no benchmark tool was found here", place=str(options.repository), next_step="name the command with --run"
        )
    follows = chosen if chosen and chosen[0].run == run else []
    if options.setup is None:
        setup = answer("Command that prepares the machine", (follows[0].setup if follows else setup) or "")
    first = _following(follows[0] if follows else None, run=run, setup=setup or "", build=build)
    if (options.parts is None) != (options.list_command is None):
        raise UsageError("--parts and --list need each other", place="--parts", next_step="give both, or neither")
    first = replace(first, branch=_default_branch(options.repository), since=options.backfill or "")
    first = replace(first, parts=options.parts or 1, list_command=options.list_command or "")
    notes = tuple(note for each in follows if each.place for note in (f"found in {each.place}", *each.notes))
    if first.since:
        return [first], notes, []
    more = [_following(each, run=each.run, setup=each.setup, build=build) for each in follows[1:]]
    split = (
        options.split
        or first.parts > 1
        or answer("Do pull requests come from forks? (yes/no)", "no").lower().startswith("y")
    )
    names = proposed_suite_names(follows) if follows else [""]
    minutes = options.minutes or JOB_MINUTES
    suites = zip((first, *more), names, strict=True)
    chosen_ones = [replace(each, split=split, suite=name, minutes=minutes) for each, name in suites]
    instead = [
        replace(_following(each, run=each.run, setup=each.setup, build=build), branch=first.branch, split=split)
        for each in (suggestions if follows and options.pick is None else ())
        if each not in follows
    ]
    return chosen_ones, notes, [replace(each, minutes=minutes) for each in instead]


def _following(suggestion: "Suggestion | None", *, run: str, setup: str, build: str | None) -> "Choice":
    from perf_culprit.init.workflow_files import Choice

    if suggestion is None:
        return Choice(run=run, setup=setup, build=build or "")
    return Choice(
        run=run,
        setup=setup,
        build=suggestion.build if build is None else build,
        format=suggestion.format,
        others=suggestion.others,
        steps=suggestion.steps,
        services=suggestion.services,
        needs=suggestion.needs,
    )


def _suggestions(options: Init) -> "tuple[list[Suggestion], list[Suggestion]]":
    """Return the suggestions for this repository and the chosen ones. Print each place, and what is unknown."""
    from perf_culprit.init import benchmark_tools
    from perf_culprit.init.existing_workflows import suites
    from perf_culprit.init.introduction import comes_from, shown_suggestions
    from perf_culprit.init.repository import look

    every, dropped = benchmark_tools.proposals(look(options.repository))
    if options.run is None:
        for each, fault in dropped:
            say(visible(f"dropped: {each.place or each.tool}: {fault}"))
    chosen = [each for each in every if options.origin is None or comes_from(each, options.origin)]
    if options.run is None and len(chosen) < max(options.pick or 0, bool(options.origin)):
        raise (
            UsageError(
                f"found {len(chosen)} ways to measure here" + f" by {options.origin}" * bool(options.origin),
                place=str(options.repository),
                next_step="choose one of them, or name the command with --run",
            )
            if chosen or options.origin
            else UsageError(
                "no benchmark tool was found here",
                place=str(options.repository),
                next_step="name the command with --run",
            )
        )
    picks = chosen[options.pick - 1 : options.pick] if options.pick else suites(chosen) if chosen else []
    if options.run is None and chosen:
        for line in shown_suggestions(chosen, picks):
            say(visible(line))
    return chosen, picks


def _default_branch(repository: Path) -> str:
    """The remote's default branch, else a local branch with a usual name of default branches."""
    try:
        refs = git.run_git(repository, "for-each-ref", "--format=%(refname:lstrip=-1) %(symref:lstrip=-1)", "refs")
    except git.GitError:
        return "main"
    names = dict(line.split(" ", 1) for line in refs.decode().splitlines())
    return names.get("HEAD") or next((name for name in ("main", "master", "trunk") if name in names), "main")


def doctor(options: Doctor) -> int:
    """Report the faults of the job, then those of the checked-out files."""
    from perf_culprit.flows.doctor import checkup, refusal_lines

    if options.refusal:
        say("\n".join(refusal_lines(options.refusal)))
        return EXIT_USAGE
    lines, is_well = checkup(environ=os.environ, repository=options.repository, config=chosen_config(options))
    for line in lines:
        say(line)
    has_files = (options.repository / ".github" / "workflows").is_dir()
    return _check(options.repository) if has_files and is_well else EXIT_FINE if is_well else EXIT_USAGE


def _check(repository: Path) -> int:
    from perf_culprit.init.workflow_check import check_files

    remarks = check_files(repository)
    for remark in remarks:
        say(visible(f"{remark.file}: {'UNSAFE: ' if remark.is_unsafe else ''}{remark.text}"))
    if not remarks:
        say("nothing outdated or unsafe")
    return EXIT_USAGE if remarks else EXIT_FINE
