"""The verbs: parse arguments, call the pipeline, map errors to exit codes. The only printer and exiter.

Nothing heavy is imported before a verb needs it: `--help` answers in a fraction of a second.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from bot import __version__
from bot.errors import EXIT_FINE, EXIT_INFRASTRUCTURE, EXIT_REGRESSION, BotError

if TYPE_CHECKING:
    from bot.config import Config

EXIT_INTERRUPTED = 130
EXIT_CODES = """\
exit codes:
  0  fine
  1  a regression over the fail level
  2  usage or configuration
  3  no usable data: measuring nothing is neither a pass nor a regression
  4  git, GitHub, the network or the machine failed
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; the exit code. Every expected failure is one message without a traceback."""
    arguments = _parser().parse_args(argv)
    verb: Callable[[argparse.Namespace], int] = arguments.verb
    try:
        return verb(arguments)
    except BotError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) went away: say nothing more, not even at shutdown.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FINE
    except Exception as error:  # noqa: BLE001 - the last line of defence: a bug gets a message, not a traceback
        return _unexpected(error)


def _unexpected(error: Exception) -> int:
    if os.environ.get("PERF_CULPRIT_DEBUG"):
        raise error
    print(f"error: unexpected {type(error).__name__}: {error}", file=sys.stderr)
    print("Next: this is a bug; run again with PERF_CULPRIT_DEBUG=1 and report the traceback", file=sys.stderr)
    return EXIT_INFRASTRUCTURE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="perf-culprit",
        description="Finds performance regressions, the commit that brought them and the code behind them.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"perf-culprit {__version__}")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    for add in (_add_collect, _add_compare, _add_record, _add_publish, _add_demo, _add_schema):
        add(verbs)
    return parser


def _verb(
    verbs: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    run: Callable[[argparse.Namespace], int],
    help_text: str,
) -> argparse.ArgumentParser:
    verb = verbs.add_parser(
        name,
        help=help_text,
        description=help_text[0].upper() + help_text[1:] + ".",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verb.set_defaults(verb=run)
    return verb


def _add_input_options(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--tool", default="auto", metavar="NAME", help="format of the files (default: found by content)")
    verb.add_argument("--suite", metavar="NAME", help="suite that the benchmarks belong to (default: configuration)")
    verb.add_argument("--config", type=Path, metavar="FILE", help="default: .github/perf-culprit.yml where it exists")


def _add_collect(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    verb = _verb(verbs, "collect", _collect, "benchmark results of any known format -> one run as JSON")
    verb.add_argument("files", nargs="+", metavar="FILE", help="file, directory, zip archive, glob, or - for stdin")
    verb.add_argument("--json", type=Path, metavar="OUT", help="write the run here (default: standard output)")
    verb.add_argument("--commit", metavar="HASH", help="full hash of the measured commit")
    _add_input_options(verb)


def _add_compare(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    verb = _verb(verbs, "compare", _compare, "judge target results against baseline results or the stored history")
    verb.add_argument("--target", nargs="+", action="extend", required=True, metavar="FILE", help="results to judge")
    verb.add_argument("--baseline", nargs="+", action="extend", metavar="FILE", help="results to judge against")
    verb.add_argument("--paired", action="store_true", help="both were measured in one job, interleaved")
    verb.add_argument("--repo", type=Path, metavar="DIR", help="judge against this repository's stored history instead")
    verb.add_argument("--base", metavar="REV", help="branch that the target goes into (default: the target's parents)")
    verb.add_argument("--commit", default="HEAD", metavar="REV", help="commit of the target (default: HEAD)")
    verb.add_argument("--history", metavar="URL", help="where the history branch lives (default: remote origin)")
    verb.add_argument("--detector", metavar="NAME", help="default: configuration, else anova")
    verb.add_argument("--minimum-effect", metavar="PERCENT", help="smallest change worth a reader's time, such as 5%%")
    verb.add_argument(
        "--ignore-environment", action="store_true", help="compare runs of different hardware all the same"
    )
    verb.add_argument("--json", type=Path, metavar="OUT", help="write report.json here (- for standard output)")
    verb.add_argument("--markdown", type=Path, metavar="OUT", help="write the comment's Markdown here")
    verb.add_argument("--html", type=Path, metavar="OUT", help="write a preview page of the comment here")
    _add_input_options(verb)


def _add_record(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    verb = _verb(verbs, "record", _record, "append results to the history branch")
    verb.add_argument("files", nargs="+", metavar="FILE", help="results, as for collect")
    verb.add_argument("--repo", type=Path, default=Path(), metavar="DIR", help="default: this directory")
    verb.add_argument("--commit", default="HEAD", metavar="REV", help="measured commit (default: HEAD)")
    verb.add_argument("--history", metavar="URL", help="where the history branch lives (default: remote origin)")
    _add_input_options(verb)


def _add_publish(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    verb = _verb(verbs, "publish", _publish, "report.json -> pull-request comment and check run (needs GITHUB_TOKEN)")
    verb.add_argument("report", type=Path, metavar="REPORT", help="report.json, as compare writes it")
    verb.add_argument("--repository", metavar="OWNER/NAME", help="default: GITHUB_REPOSITORY")
    verb.add_argument("--pull-request", type=int, metavar="N", help="pull request that gets the comment")
    verb.add_argument("--sha", metavar="HASH", help="commit that gets the check run")
    verb.add_argument("--config", type=Path, metavar="FILE", help="default: .github/perf-culprit.yml where it exists")


def _add_demo(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    verb = _verb(
        verbs, "demo", _demo, "a real repository with a planted regression, measured and judged on this machine"
    )
    verb.add_argument("--directory", type=Path, default=Path("demo"), metavar="DIR", help="made anew (default: ./demo)")


def _add_schema(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    verb = _verb(verbs, "schema", _schema, "JSON schema of a file that perf-culprit reads or writes")
    verb.add_argument("name", choices=("run", "report", "config"))


def _collect(arguments: argparse.Namespace) -> int:
    from bot import pipeline

    data = pipeline.collect_as_json(
        arguments.files,
        tool=arguments.tool,
        config=_config(arguments),
        commit=arguments.commit,
        stdin=sys.stdin.buffer,
    )
    _write(arguments.json, data)
    return EXIT_FINE


def _compare(arguments: argparse.Namespace) -> int:
    from bot import pipeline

    config = _config(arguments)
    if arguments.baseline:
        report = pipeline.compare_files(
            baseline=arguments.baseline,
            target=arguments.target,
            paired=arguments.paired,
            tool=arguments.tool,
            config=config,
            stdin=sys.stdin.buffer,
        )
    else:
        report = pipeline.compare_with_history(
            target=arguments.target,
            repository=arguments.repo or Path(),
            revision=arguments.commit,
            base=arguments.base,
            history_url=arguments.history,
            tool=arguments.tool,
            config=config,
            stdin=sys.stdin.buffer,
        ).report
    json_to_stdout = arguments.json == Path("-")
    if arguments.json:
        _write(arguments.json, pipeline.report_json(report))
    if arguments.markdown or arguments.html:
        markdown = pipeline.report_markdown(report)
        if arguments.markdown:
            _write(arguments.markdown, markdown.encode())
        if arguments.html:
            _write(arguments.html, pipeline.preview_html(markdown).encode())
    stream = sys.stderr if json_to_stdout else sys.stdout
    print(pipeline.report_text(report, colour=_colour(stream), width=_width()), file=stream)
    return EXIT_REGRESSION if report.failed else EXIT_FINE


def _record(arguments: argparse.Namespace) -> int:
    from bot import pipeline

    stored = pipeline.record_files(
        arguments.files,
        repository=arguments.repo,
        revision=arguments.commit,
        history_url=arguments.history,
        tool=arguments.tool,
        config=_config(arguments),
        stdin=sys.stdin.buffer,
    )
    print(f"recorded {stored}")
    return EXIT_FINE


def _publish(arguments: argparse.Namespace) -> int:
    from bot import pipeline

    said = pipeline.publish_file(
        arguments.report,
        config=_config(arguments),
        repository=arguments.repository,
        pull_request=arguments.pull_request,
        sha=arguments.sha,
        environ=os.environ,
    )
    print("\n".join(said))
    return EXIT_FINE


def _demo(arguments: argparse.Namespace) -> int:
    from bot.demo import run_demo

    run_demo(arguments.directory, say=lambda line: print(line, flush=True))
    return EXIT_FINE


def _schema(arguments: argparse.Namespace) -> int:
    from bot import pipeline

    _write(None, pipeline.schema(arguments.name))
    return EXIT_FINE


def _config(arguments: argparse.Namespace) -> "Config":
    from bot.config import load_config, parse_change

    config = load_config(arguments.config)
    changes: dict[str, object] = {}
    for option in ("suite", "detector"):
        if getattr(arguments, option, None):
            changes[option] = getattr(arguments, option)
    if getattr(arguments, "minimum_effect", None):
        changes["minimum_effect"] = parse_change(arguments.minimum_effect, name="--minimum-effect")
    if getattr(arguments, "ignore_environment", False):
        changes["ignore_environment"] = True
    return config.model_copy(update=changes)


def _write(path: Path | None, data: bytes) -> None:
    if path is None or path == Path("-"):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    from bot.files import replace_file

    replace_file(path, data)


def _colour(stream: TextIO) -> bool:
    return stream.isatty() and "NO_COLOR" not in os.environ


def _width() -> int:
    import shutil

    return shutil.get_terminal_size((120, 40)).columns
