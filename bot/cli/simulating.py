"""The command that judges a design before it is built: simulate."""

import argparse
import sys
from pathlib import Path

from bot import pipeline
from bot.cli.options import Verbs, add_options, chosen_config, count, new_verb, option, request
from bot.cli.output import Status, colour, table_width, text_stream, write
from bot.errors import EXIT_FINE, EXIT_REGRESSION, UsageError


def add_verbs(verbs: Verbs) -> None:
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
    if (arguments.run or arguments.counters) and not _is_plain(arguments):
        raise UsageError("--run and --counters are of one model", next_step="leave out the other mode, or these")
    status = Status(sys.stderr, quiet=arguments.quiet)
    plan = request(pipeline.SimulationPlan, arguments, parameters=_parameters(arguments.set), tell=status)
    try:
        if arguments.against:
            return _compare(arguments, plan, status)
        report = _report(arguments, plan)
    finally:
        status.clear()
    if arguments.json:
        write(arguments.json, pipeline.simulation_json(report))
    if arguments.html:
        write(arguments.html, pipeline.simulation_html(report).encode())
    print(pipeline.simulation_text(report), end="", file=text_stream(arguments.json))
    return EXIT_FINE


def _is_plain(arguments: argparse.Namespace) -> bool:
    return not (arguments.against or arguments.sweep or arguments.saturation or arguments.calibrate)


def _report(arguments: argparse.Namespace, plan: "pipeline.SimulationPlan") -> "pipeline.SimulationReport":
    if arguments.sweep:
        return pipeline.sweep_design(plan)
    if arguments.calibrate:
        return pipeline.calibrate_design(plan, arguments.calibrate)
    if arguments.saturation:
        return pipeline.saturate_design(plan)
    simulated = pipeline.simulate_design(plan)
    if arguments.run:
        write(arguments.run, pipeline.samples_json(simulated))
    if arguments.counters:
        write(arguments.counters, pipeline.counters_json(simulated))
    return simulated.report


def _compare(arguments: argparse.Namespace, plan: "pipeline.SimulationPlan", status: Status) -> int:
    report = pipeline.compare_designs(plan, arguments.against, config=chosen_config(arguments))
    status.clear()
    if arguments.json:
        write(arguments.json, pipeline.report_json(report))
    if arguments.html:
        write(arguments.html, pipeline.report_html(pipeline.report_markdown(report), report).encode())
    stream = text_stream(arguments.json)
    print(pipeline.report_text(report, colour=colour(stream), width=table_width(stream)), file=stream)
    return EXIT_REGRESSION if report.failed else EXIT_FINE


def _parameters(given: list[str]) -> dict[str, str]:
    for entry in given:
        if not entry.partition("=")[0] or "=" not in entry:
            raise UsageError(f"{entry!r} is no NAME=VALUE", place="--set", next_step="such as: --set rate=17/s")
    return dict(entry.split("=", 1) for entry in given)
