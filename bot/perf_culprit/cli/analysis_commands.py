"""The commands diagnose and simulate."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from perf_culprit.cli.options import chosen_config
from perf_culprit.cli.output import Status, colour, say, show, shown, table_width, text_stream, warn, write
from perf_culprit.commands.analysis_requests import Diagnose, Simulate
from perf_culprit.errors import EXIT_FINE, EXIT_REGRESSION, UsageError

if TYPE_CHECKING:
    from perf_culprit.model.call_tree import Diagnosis
    from perf_culprit.model.simulation import SimulationReport


SPAN_TABLE = "csv:"
# Options that only some ways of calling use, by the names of `Diagnose`.
OF_ONE: Final = frozenset({"fluctuation_weight", "minimum_self_ms", "html"})
OF_TWO: Final = frozenset({"repository", "commit", "base", "head", "same_work", "minimum_effect", "flame"})
OF_PROFILES: Final = frozenset({"format", "trusted"})
OF_LOGS: Final = frozenset({"window_s", "workers", "cluster", "method"})


def diagnose(options: Diagnose) -> int:
    from perf_culprit.flows.rank_methods import diagnose_logs

    if options.pattern and options.pattern.startswith(SPAN_TABLE):
        _refuse_unused(options)
        # Rows with parents instead of labels are traces.
        options = options.replaced(format=options.pattern, pattern=None, profile=options.profile or options.log, log=())
    if options.baseline or options.target:
        return _diagnose_revisions(options)
    if options.profile:
        return _diagnose_profiles(options)
    if not options.log or not options.pattern:
        raise UsageError(
            "needs --log with --pattern, or --profile",
            place="diagnose",
            next_step="give execution logs and how to read them, or profiles",
        )
    _refuse_unused(options)
    with shown(options):
        diagnosis = diagnose_logs(options)
    _show(diagnosis, options)
    return EXIT_FINE


def _refuse_unused(options: Diagnose) -> None:
    """Refuse options of another way of calling. One with its default's value is accepted: it changes nothing."""
    every = OF_ONE | OF_TWO | OF_PROFILES | OF_LOGS
    flags = {
        field.name: field.option.flags[0]
        for field in options.fields()
        if field.name in every and getattr(options, field.name) != field.default
    }
    unused = [flag for name, flag in flags.items() if name not in _effective_options(options)]
    if unused:
        revisions = flags.keys() & OF_TWO and not options.target
        other = ", or compare two revisions by --baseline and --target" if revisions else ""
        does, which = ("does", "it") if len(unused) == 1 else ("do", "them")
        raise UsageError(
            f"{', '.join(unused)} {does} nothing here", place="diagnose", next_step=f"leave {which} out{other}"
        )


def _effective_options(options: Diagnose) -> frozenset[str]:
    """The options that have an effect with the given files."""
    is_pair, pattern = bool(options.baseline or options.target), options.pattern or ""
    used = OF_TWO if is_pair else OF_ONE
    if not (options.commit or options.base or options.head):
        used -= {"repository"}
    if not pattern:
        return used | OF_PROFILES
    if pattern.startswith(SPAN_TABLE):
        return used
    if is_pair:
        return used | {"workers"}
    # A cluster has its own workers.
    return used | (OF_LOGS - {"workers"} if options.cluster else OF_LOGS)


def _show(diagnosis: "Diagnosis", options: Diagnose) -> None:
    from perf_culprit.model.call_tree import encode_diagnosis
    from perf_culprit.say.diagnosis_text import diagnosis_page, diagnosis_text

    if options.json:
        write(options.json, encode_diagnosis(diagnosis))
    if options.html:
        write(options.html, diagnosis_page(diagnosis, top=options.top).encode())
    show(diagnosis_text(diagnosis, top=options.top), text_stream(options.json, options.html))


def _diagnose_profiles(options: Diagnose) -> int:
    from perf_culprit.flows.rank_methods import diagnose_profiles

    if options.log or options.pattern:
        raise UsageError(
            "--profile takes the place of --log and --pattern", place="diagnose", next_step="give one of the two"
        )
    _refuse_unused(options)
    diagnosis, remarks = diagnose_profiles(options)
    _show(diagnosis, options)
    for remark in remarks:
        say(f"- {remark}", sys.stderr)
    return EXIT_FINE


def _diagnose_revisions(options: Diagnose) -> int:
    from perf_culprit.flows.diagnose import diagnose_revisions, flame_graph
    from perf_culprit.model.report import encode_tree_comparison
    from perf_culprit.say.call_trees import tree_comparison_text

    if not options.baseline or not options.target or options.log or options.profile:
        raise UsageError(
            "two revisions are compared by --baseline and --target, which take the place of --log and --profile",
            place="diagnose",
            next_step="give the files of both revisions",
        )
    _refuse_unused(options)
    with shown(options):
        comparison = diagnose_revisions(options)
    if options.json:
        write(options.json, encode_tree_comparison(comparison))
    if options.flame:
        write(options.flame, flame_graph(comparison, is_page=options.flame.suffix == ".html"))
    stream = text_stream(options.json, options.flame)
    show(tree_comparison_text(comparison, top=options.top), stream)
    return EXIT_FINE


def simulate(options: Simulate) -> int:
    from perf_culprit.model.simulation import encode_simulation
    from perf_culprit.say.simulation_text import simulation_html, simulation_text

    is_plain = not (options.against or options.sweep or options.saturation or options.calibrate)
    if (options.run or options.counters) and not is_plain:
        raise UsageError("--run and --counters are of one model", next_step="leave out the other mode, or these")
    with Status(sys.stderr, quiet=options.quiet) as status:
        if options.against:
            return _compare(options, options.against, status)
        report = _report(options, status)
    if options.json:
        write(options.json, encode_simulation(report))
    if options.html:
        write(options.html, simulation_html(report).encode())
    say(simulation_text(report), text_stream(options.json))
    return EXIT_FINE


def _report(options: Simulate, status: Status) -> "SimulationReport":
    from perf_culprit.flows.simulations import (
        calibrate_design,
        counters_json,
        samples_json,
        saturate_design,
        simulate_design,
        sweep_design,
    )

    if options.sweep:
        return sweep_design(options, tell=status)
    if options.calibrate:
        return calibrate_design(options)
    if options.saturation:
        return saturate_design(options, tell=status)
    simulated = simulate_design(options, tell=status)
    if options.run:
        write(options.run, samples_json(simulated))
    if options.counters:
        write(options.counters, counters_json(simulated))
    return simulated.report


def _compare(options: Simulate, against: Path, status: Status) -> int:
    from perf_culprit.flows.render import draw_or_verdict, report_html, report_json
    from perf_culprit.flows.simulations import compare_designs
    from perf_culprit.say.comparison import render_text

    report = compare_designs(options, against, config=chosen_config(options), tell=status)
    status.clear()
    if options.json:
        write(options.json, report_json(report))
    if options.html:
        write(options.html, draw_or_verdict(lambda: report_html(report), report.conclusion, warn=warn).encode())
    stream = text_stream(options.json)
    show(
        draw_or_verdict(
            lambda: render_text(report, colour=colour(stream), width=table_width(stream)), report.conclusion
        ),
        stream,
    )
    return EXIT_REGRESSION if report.failed else EXIT_FINE
