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


def diagnose(asked: Diagnose) -> int:
    from perf_culprit.flows.rank_methods import diagnose_logs

    if asked.pattern and asked.pattern.startswith(SPAN_TABLE):
        _refuse_unused(asked)
        # Rows with parents instead of labels are traces.
        asked = asked.replaced(format=asked.pattern, pattern=None, profile=asked.profile or asked.log, log=())
    if asked.baseline or asked.target:
        return _diagnose_revisions(asked)
    if asked.profile:
        return _diagnose_profiles(asked)
    if not asked.log or not asked.pattern:
        raise UsageError(
            "needs --log with --pattern, or --profile",
            place="diagnose",
            next_step="give execution logs and how to read them, or profiles",
        )
    _refuse_unused(asked)
    with shown(asked):
        diagnosis = diagnose_logs(asked)
    _show(diagnosis, asked)
    return EXIT_FINE


def _refuse_unused(asked: Diagnose) -> None:
    """Refuse options of another way of calling. One with its default's value is accepted: it changes nothing."""
    every = OF_ONE | OF_TWO | OF_PROFILES | OF_LOGS
    given = {
        field.name: field.option.flags[0]
        for field in asked.fields()
        if field.name in every and getattr(asked, field.name) != field.default
    }
    unused = [flag for name, flag in given.items() if name not in _used(asked)]
    if unused:
        revisions = given.keys() & OF_TWO and not asked.target
        other = ", or compare two revisions by --baseline and --target" if revisions else ""
        does, which = ("does", "it") if len(unused) == 1 else ("do", "them")
        raise UsageError(
            f"{', '.join(unused)} {does} nothing here", place="diagnose", next_step=f"leave {which} out{other}"
        )


def _used(asked: Diagnose) -> frozenset[str]:
    """The options that have an effect with the given files."""
    is_pair, pattern = bool(asked.baseline or asked.target), asked.pattern or ""
    used = OF_TWO if is_pair else OF_ONE
    if not (asked.commit or asked.base or asked.head):
        used -= {"repository"}
    if not pattern:
        return used | OF_PROFILES
    if pattern.startswith(SPAN_TABLE):
        return used
    if is_pair:
        return used | {"workers"}
    # A cluster has its own workers.
    return used | (OF_LOGS - {"workers"} if asked.cluster else OF_LOGS)


def _show(diagnosis: "Diagnosis", asked: Diagnose) -> None:
    from perf_culprit.model.call_tree import encode_diagnosis
    from perf_culprit.say.diagnosis_text import diagnosis_page, diagnosis_text

    if asked.json:
        write(asked.json, encode_diagnosis(diagnosis))
    if asked.html:
        write(asked.html, diagnosis_page(diagnosis, top=asked.top).encode())
    show(diagnosis_text(diagnosis, top=asked.top), text_stream(asked.json, asked.html))


def _diagnose_profiles(asked: Diagnose) -> int:
    from perf_culprit.flows.rank_methods import diagnose_profiles

    if asked.log or asked.pattern:
        raise UsageError(
            "--profile takes the place of --log and --pattern", place="diagnose", next_step="give one of the two"
        )
    _refuse_unused(asked)
    diagnosis, remarks = diagnose_profiles(asked)
    _show(diagnosis, asked)
    for remark in remarks:
        say(f"- {remark}", sys.stderr)
    return EXIT_FINE


def _diagnose_revisions(asked: Diagnose) -> int:
    from perf_culprit.flows.diagnose import diagnose_revisions, flame_graph
    from perf_culprit.model.report import encode_tree_comparison
    from perf_culprit.say.call_trees import tree_comparison_text

    if not asked.baseline or not asked.target or asked.log or asked.profile:
        raise UsageError(
            "two revisions are compared by --baseline and --target, which take the place of --log and --profile",
            place="diagnose",
            next_step="give the files of both revisions",
        )
    _refuse_unused(asked)
    with shown(asked):
        comparison = diagnose_revisions(asked)
    if asked.json:
        write(asked.json, encode_tree_comparison(comparison))
    if asked.flame:
        write(asked.flame, flame_graph(comparison, is_page=asked.flame.suffix == ".html"))
    stream = text_stream(asked.json, asked.flame)
    show(tree_comparison_text(comparison, top=asked.top), stream)
    return EXIT_FINE


def simulate(asked: Simulate) -> int:
    from perf_culprit.model.simulation import encode_simulation
    from perf_culprit.say.simulation_text import simulation_html, simulation_text

    if (asked.run or asked.counters) and not _is_plain(asked):
        raise UsageError("--run and --counters are of one model", next_step="leave out the other mode, or these")
    with Status(sys.stderr, quiet=asked.quiet) as status:
        if asked.against:
            return _compare(asked, asked.against, status)
        report = _report(asked, status)
    if asked.json:
        write(asked.json, encode_simulation(report))
    if asked.html:
        write(asked.html, simulation_html(report).encode())
    say(simulation_text(report), text_stream(asked.json))
    return EXIT_FINE


def _is_plain(asked: Simulate) -> bool:
    return not (asked.against or asked.sweep or asked.saturation or asked.calibrate)


def _report(asked: Simulate, status: Status) -> "SimulationReport":
    from perf_culprit.flows.simulations import (
        calibrate_design,
        counters_json,
        samples_json,
        saturate_design,
        simulate_design,
        sweep_design,
    )

    if asked.sweep:
        return sweep_design(asked, tell=status)
    if asked.calibrate:
        return calibrate_design(asked)
    if asked.saturation:
        return saturate_design(asked, tell=status)
    simulated = simulate_design(asked, tell=status)
    if asked.run:
        write(asked.run, samples_json(simulated))
    if asked.counters:
        write(asked.counters, counters_json(simulated))
    return simulated.report


def _compare(asked: Simulate, against: Path, status: Status) -> int:
    from perf_culprit.flows.render import draw_or_verdict, report_html, report_json
    from perf_culprit.flows.simulations import compare_designs
    from perf_culprit.say.comparison import render_text

    report = compare_designs(asked, against, config=chosen_config(asked), tell=status)
    status.clear()
    if asked.json:
        write(asked.json, report_json(report))
    if asked.html:
        write(asked.html, draw_or_verdict(lambda: report_html(report), report.conclusion, warn=warn).encode())
    stream = text_stream(asked.json)
    show(
        draw_or_verdict(
            lambda: render_text(report, colour=colour(stream), width=table_width(stream)), report.conclusion
        ),
        stream,
    )
    return EXIT_REGRESSION if report.failed else EXIT_FINE
