"""The commands diagnose and simulate."""

import argparse
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from perf_culprit.cli.options import Verbs, add_options, chosen_config, count, new_verb, option, request, seconds
from perf_culprit.cli.output import Status, colour, show, shown, table_width, text_stream, write
from perf_culprit.errors import EXIT_FINE, EXIT_REGRESSION, UsageError

if TYPE_CHECKING:
    from perf_culprit.flows.simulations import SimulationPlan
    from perf_culprit.model.call_tree import Diagnosis
    from perf_culprit.model.simulation import SimulationReport


# The command that looks for the code behind a regression: diagnose.

SPAN_TABLE = "csv:"


def add_diagnose_verb(verbs: Verbs) -> None:
    verb = new_verb(
        verbs, "diagnose", _diagnose, "find the methods that cost most or got slower, and the services to test again"
    )
    option(verb, "--log FILE ...", "execution logs: plain, .gz or .zst; - for stdin")
    option(
        verb,
        "--pattern PRESET|FILE|csv:COLUMNS",
        "labelled, spring, json, a file with one regular expression, or the columns of a table of spans "
        "(docs/diagnosis.md)",
    )
    option(verb, "--profile FILE ...", "read profiles or traces instead; several files are repetitions")
    option(verb, "--format ID", "format of the profiles (docs/profiles.md; default: auto)", default="auto")
    option(
        verb,
        "--trusted-profile",
        "the profiles come from you: read cProfile's as well (loading one can run code)",
        dest="trusted",
    )
    _add_comparison(verb)
    option(verb, "--json OUT", "write everything as JSON here (- for standard output)")
    option(verb, "--top N", "suspects to print (default: 20)", default=20)
    option(
        verb,
        "--lambda WEIGHT",
        "how much differences between services lower a score (default: 1)",
        dest="fluctuation_weight",
        type=_number,
        default=1.0,
    )
    option(
        verb,
        "--minimum-self-time MS",
        "methods that take less per call of every service come last (default: 1%% of the mean response time)",
        dest="minimum_self_ms",
        type=_number,
    )
    option(
        verb,
        "--window SECONDS",
        "window of response time and throughput (default: 60)",
        dest="window_s",
        type=seconds,
        default=60.0,
    )
    option(verb, "--workers N", "processes that read in parallel (default: 2)", default=2)
    option(verb, "--cluster ADDRESS", "tcp://HOST:PORT of a Dask scheduler: its workers read (extra `cluster`)")


def _minimum_effect(text: str) -> float:
    from perf_culprit.config.units import parse_change

    return parse_change(text, name="--minimum-effect")


def _add_comparison(verb: argparse.ArgumentParser) -> None:
    two = verb.add_argument_group(
        "two revisions", "logs (with --pattern) or profiles of both: what got slower, and why"
    )
    option(two, "--baseline FILE ...", "logs or profiles of the revision before")
    option(two, "--target FILE ...", "logs or profiles of the revision after")
    option(two, "--repo DIR", "repository of both revisions (default: this directory)", dest="repository")
    option(two, "--commit REV", "commit that introduced the change: mark the functions that it changed")
    option(two, "--base REV", "before a range of commits, where the one commit is not known; needs --head")
    option(two, "--head REV", "last commit of that range")
    option(two, "--same-work", "both did the same work: compare counts of samples instead of shares")
    option(
        two,
        "--minimum-effect PERCENT",
        "ignore methods that got slower by less than this (default: 1%%)",
        type=_minimum_effect,
        default=0.01,
    )
    option(
        two,
        "--flame OUT",
        "write the difference as a flame graph: a page if it ends in .html, else two columns for flamegraph.pl",
    )


def _diagnose(arguments: argparse.Namespace) -> int:
    from perf_culprit.flows.diagnose import DiagnosisPlan, diagnose

    if (arguments.pattern or "").startswith(SPAN_TABLE):
        # Rows with parents instead of labels are traces.
        arguments.format, arguments.pattern = arguments.pattern, None
        arguments.profile, arguments.log = arguments.profile or arguments.log, None
    if arguments.baseline or arguments.target:
        return _diagnose_revisions(arguments)
    if arguments.profile:
        return _diagnose_profiles(arguments)
    if not arguments.log or not arguments.pattern:
        raise UsageError(
            "needs --log with --pattern, or --profile",
            place="diagnose",
            next_step="give execution logs and how to read them, or profiles",
        )
    with shown(arguments):
        plan = request(DiagnosisPlan, arguments, logs=arguments.log)
        diagnosis = diagnose(plan)
    _show(diagnosis, arguments)
    return EXIT_FINE


def _show(diagnosis: "Diagnosis", arguments: argparse.Namespace) -> None:
    from perf_culprit.model.call_tree import encode_diagnosis
    from perf_culprit.say.call_tree_text import diagnosis_text

    if arguments.json:
        write(arguments.json, encode_diagnosis(diagnosis))
    show(diagnosis_text(diagnosis, top=arguments.top), text_stream(arguments.json))


def _diagnose_profiles(arguments: argparse.Namespace) -> int:
    from perf_culprit.flows.diagnose import ProfilePlan, diagnose_profiles

    if arguments.log or arguments.pattern:
        raise UsageError(
            "--profile takes the place of --log and --pattern", place="diagnose", next_step="give one of the two"
        )
    plan = request(ProfilePlan, arguments, profiles=arguments.profile)
    diagnosis, remarks = diagnose_profiles(plan)
    _show(diagnosis, arguments)
    for remark in remarks:
        print(f"- {remark}", file=sys.stderr)
    return EXIT_FINE


def _diagnose_revisions(arguments: argparse.Namespace) -> int:
    from perf_culprit.flows.diagnose import RevisionsPlan, diagnose_revisions, flame_graph
    from perf_culprit.model.report import encode_tree_comparison
    from perf_culprit.say.call_tree_text import tree_comparison_text

    if not arguments.baseline or not arguments.target or arguments.log or arguments.profile:
        raise UsageError(
            "two revisions are compared by --baseline and --target, which take the place of --log and --profile",
            place="diagnose",
            next_step="give the files of both revisions",
        )
    plan = request(RevisionsPlan, arguments)
    with shown(arguments):
        comparison = diagnose_revisions(plan)
    if arguments.json:
        write(arguments.json, encode_tree_comparison(comparison))
    if arguments.flame:
        write(arguments.flame, flame_graph(comparison, is_page=arguments.flame.suffix == ".html"))
    stream = text_stream(arguments.json, arguments.flame)
    show(tree_comparison_text(comparison, top=arguments.top), stream)
    return EXIT_FINE


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not (0 <= number < math.inf):
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 up")
    return number


# The command that judges a design before it is built: simulate.


def add_simulate_verb(verbs: Verbs) -> None:
    verb = new_verb(
        verbs,
        "simulate",
        _simulate,
        "simulate a layered model of a design: how it performs, and what a change makes worse",
    )
    verb.add_argument("model", type=Path, metavar="MODEL", help="model file (docs/simulation.md)")
    option(verb, "--scenario NAME", "scenario to run (default: the model's first)")
    option(verb, "--set NAME=VALUE", "use another value for a parameter", action="append", default=[])
    option(verb, "--seed N", "seed of the random numbers (default: 0)", type=count, default=0)
    option(verb, "--replications N", "number of replications (default: as many as the precision needs)")
    kind = verb.add_mutually_exclusive_group()
    option(kind, "--against OLD", "compare it with this older model", type=Path)
    option(kind, "--sweep", "run every combination of the model's sweep, and rank them by score")
    option(kind, "--saturation", "find the arrival rate at which the system saturates")
    option(kind, "--calibrate FILE ...", "fit demands to the counters of a measured run")
    option(verb, "--detector NAME", "detector of --against (default: the configuration's, else anova)")
    option(verb, "--minimum-effect PERCENT", "ignore changes smaller than this")
    add_options(verb, "config")
    option(verb, "--json OUT", "write all numbers here; with --against report.json")
    option(verb, "--html OUT", "write a page with plots; with --against the comment")
    option(verb, "--run OUT", "write a run for compare: a sample per replication")
    option(verb, "--counters OUT", "write a run of counter tables, also for compare")


def _simulate(arguments: argparse.Namespace) -> int:
    from perf_culprit.flows.simulations import SimulationPlan
    from perf_culprit.model.simulation import encode_simulation
    from perf_culprit.say.simulation_text import simulation_html, simulation_text

    if (arguments.run or arguments.counters) and not _is_plain(arguments):
        raise UsageError("--run and --counters are of one model", next_step="leave out the other mode, or these")
    status = Status(sys.stderr, quiet=arguments.quiet)
    plan = request(SimulationPlan, arguments, parameters=_parameters(arguments.set), tell=status)
    try:
        if arguments.against:
            return _compare(arguments, plan, status)
        report = _report(arguments, plan)
    finally:
        status.clear()
    if arguments.json:
        write(arguments.json, encode_simulation(report))
    if arguments.html:
        write(arguments.html, simulation_html(report).encode())
    print(simulation_text(report), end="", file=text_stream(arguments.json))
    return EXIT_FINE


def _is_plain(arguments: argparse.Namespace) -> bool:
    return not (arguments.against or arguments.sweep or arguments.saturation or arguments.calibrate)


def _report(arguments: argparse.Namespace, plan: "SimulationPlan") -> "SimulationReport":
    from perf_culprit.flows.simulations import (
        calibrate_design,
        counters_json,
        samples_json,
        saturate_design,
        simulate_design,
        sweep_design,
    )

    if arguments.sweep:
        return sweep_design(plan)
    if arguments.calibrate:
        return calibrate_design(plan, arguments.calibrate)
    if arguments.saturation:
        return saturate_design(plan)
    simulated = simulate_design(plan)
    if arguments.run:
        write(arguments.run, samples_json(simulated))
    if arguments.counters:
        write(arguments.counters, counters_json(simulated))
    return simulated.report


def _compare(arguments: argparse.Namespace, plan: "SimulationPlan", status: Status) -> int:
    from perf_culprit.flows.render import report_html, report_json, report_markdown
    from perf_culprit.flows.simulations import compare_designs
    from perf_culprit.say.terminal_report import render_text

    report = compare_designs(plan, arguments.against, config=chosen_config(arguments))
    status.clear()
    if arguments.json:
        write(arguments.json, report_json(report))
    if arguments.html:
        write(arguments.html, report_html(report_markdown(report), report).encode())
    stream = text_stream(arguments.json)
    print(render_text(report, colour=colour(stream), width=table_width(stream)), file=stream)
    return EXIT_REGRESSION if report.failed else EXIT_FINE


def _parameters(given: list[str]) -> dict[str, str]:
    for entry in given:
        if not entry.partition("=")[0] or "=" not in entry:
            raise UsageError(f"{entry!r} is no NAME=VALUE", place="--set", next_step="such as: --set rate=17/s")
    return dict(entry.split("=", 1) for entry in given)
