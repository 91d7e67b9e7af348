"""The command that judges a design before it is built: simulate."""

import argparse
import sys
from pathlib import Path

from bot import pipeline
from bot.cli.options import Verbs, add_options, chosen_config, count, new_verb, positive, request
from bot.cli.output import Status, colour, table_width, text_stream, write
from bot.errors import EXIT_FINE, EXIT_REGRESSION, UsageError


def add_verbs(verbs: Verbs) -> None:
    verb = new_verb(verbs, "simulate", _simulate, "a layered model of a design: what it would do, and what gets worse")
    verb.add_argument("model", type=Path, metavar="MODEL", help="model file (docs/simulation.md)")
    verb.add_argument("--scenario", metavar="NAME", help="default: the model's first")
    verb.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="another value of a parameter")
    verb.add_argument("--seed", type=count, default=0, metavar="N", help="of the random numbers (default: 0)")
    verb.add_argument(
        "--replications", type=positive, metavar="N", help="exactly so many (default: what the precision needs)"
    )
    kind = verb.add_mutually_exclusive_group()
    kind.add_argument("--against", type=Path, metavar="OLD", help="judge it against this older model")
    kind.add_argument("--sweep", action="store_true", help="every combination of the model's sweep, ranked by score")
    kind.add_argument("--saturation", action="store_true", help="search the arrival rate that is too much")
    kind.add_argument("--calibrate", nargs="+", metavar="FILE", help="fit demands to the counters of a measured run")
    verb.add_argument("--detector", metavar="NAME", help="of --against (default: configuration, else anova)")
    verb.add_argument("--minimum-effect", metavar="PERCENT", help="ignore changes smaller than this")
    add_options(verb, "config")
    verb.add_argument("--json", type=Path, metavar="OUT", help="write all numbers here; with --against report.json")
    verb.add_argument("--html", type=Path, metavar="OUT", help="write a page with plots; with --against the comment")
    verb.add_argument("--run", type=Path, metavar="OUT", help="write a run for compare: a sample per replication")
    verb.add_argument("--counters", type=Path, metavar="OUT", help="write a run of counter tables, for compare as well")


def _simulate(arguments: argparse.Namespace) -> int:
    if (arguments.run or arguments.counters) and not _is_plain(arguments):
        raise UsageError("--run and --counters are of one model", next_step="leave out the other mode, or these")
    status = Status(sys.stderr)
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
