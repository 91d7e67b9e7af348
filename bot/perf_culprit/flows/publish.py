"""report -> publish: write the comment and the check run of reports, and read the bot's comments."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from perf_culprit import git
from perf_culprit.commands.judge_requests import Publish
from perf_culprit.config.settings import Config
from perf_culprit.errors import UsageError
from perf_culprit.flows.render import draw_or_note, draw_or_verdict, read_report, today
from perf_culprit.github.bot_texts import RESULT_START, check_name, comment_marker, findings_id
from perf_culprit.github.host import Annotation, Check, CheckResult, Host, check_conclusion
from perf_culprit.github.job_context import Destination, connect_host
from perf_culprit.model.report import Conclusion, Report
from perf_culprit.say.command_answers import ready_lines
from perf_culprit.say.comment import by_loudness, check_texts, render_markdown
from perf_culprit.say.comparison import PageOptions
from perf_culprit.say.inert import repository_name
from perf_culprit.say.report_parts import line_remarks

# Conclusions that count as "something changed".
CHANGED = frozenset(Conclusion) - {Conclusion.INCONCLUSIVE, Conclusion.NO_CHANGE, Conclusion.FIRST_RUN}


@contextmanager
def open_check(host: Host, destination: Destination, *, name: str, sha: str) -> Iterator[Check]:
    """Open a check run in progress, which is completed whatever happens inside."""
    with host.check_run(
        name=name, head_sha=sha, external_id=destination.external_id, details_url=destination.run_url
    ) as check:
        yield check


def complete_check(check: Check, reports: Sequence[Report], destination: Destination) -> None:
    conclusion = check_conclusion(reports)

    def result() -> CheckResult:
        title, summary = check_texts(reports, options=page_options(destination))
        annotations = tuple(
            Annotation(path=remark.path, line=remark.line, level="warning", message=remark.message, title=remark.title)
            for report in reports
            for remark in line_remarks(report)
        )
        return CheckResult(conclusion=conclusion, title=title, summary=summary, annotations=annotations)

    def noted(note: str) -> CheckResult:
        return CheckResult(conclusion=conclusion, title=note, summary=note)

    check.complete(draw_or_note(result, by_loudness(reports)[0].conclusion, noted))


def comment(host: Host, destination: Destination, *, report: Report, number: int, config: Config) -> str | None:
    """Write the sticky comment on pull request `number`. Return its address; None if the configuration wants none."""
    options = page_options(destination, mark=comment_marker(report.suite), number=number)

    def draw() -> str:
        body = render_markdown(report, options=options)
        return body if config.bisect.run is None else f"{body.rstrip()}\n\n{ready_lines(report)}"

    body = draw_or_verdict(draw, report.conclusion)
    return write_comment(host, options.marker, body, reports=[report], number=number, config=config)


def page_options(destination: Destination, *, mark: str = "", number: int | None = None) -> PageOptions:
    """Return the addresses, and with the `number` of a comment's pull request the day."""
    return PageOptions(
        marker=mark,
        run_url=destination.measured_url or destination.run_url,
        repository_url=destination.repository_url,
        pull_request=number,
        date="" if number is None else today(),
        is_advice=destination.is_advice,
    )


def write_comment(
    host: Host, mark: str, body: str, *, reports: Sequence[Report], number: int, config: Config
) -> str | None:
    if config.comment.when == "never":
        return None
    if any(report.conclusion is Conclusion.REGRESSION for report in reports) and config.comment.mention:
        body = f"{body.rstrip()}\n\ncc {' '.join(config.comment.mention)}\n"
    create = any(_speaks(report, config) for report in reports)
    return host.upsert_comment(number=number, mark=mark, body=body, create=create, findings=findings_id(reports))


def _speaks(report: Report, config: Config) -> bool:
    """Whether to create a comment. A failing report is silent only if the configuration says never."""
    return {
        "always": True,
        "change": report.conclusion in CHANGED or report.failed,
        "regression": report.conclusion is Conclusion.REGRESSION or report.failed,
        "never": False,
    }[config.comment.when]


def published_results(repository: Path, *, number: int, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the bot's results in a pull request: Markdown, one entry per comment."""
    name = environ.get("GITHUB_REPOSITORY") or repository_name(git.web_address(repository) or "")
    if not name:
        raise UsageError(
            "its remote is on no known host", place=str(repository), next_step="set GITHUB_REPOSITORY to OWNER/NAME"
        )
    return connect_host(_destination(name, environ)).results(number=number, start=RESULT_START)


def _destination(repository: str, environ: Mapping[str, str]) -> Destination:
    return Destination(
        repository=repository,
        api_url=environ.get("GITHUB_API_URL", "https://api.github.com"),
        server_url=environ.get("GITHUB_SERVER_URL", "https://github.com"),
        token=environ.get("GITHUB_TOKEN", ""),
        bot_login=environ.get("PERF_CULPRIT_BOT_LOGIN", "github-actions[bot]"),
    )


def publish_file(options: Publish, *, config: Config, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Publish a report.json from disk to a pull request and a commit. Return a line for each."""
    report, sha, pull_request = read_report(options.report), options.sha, options.pull_request
    name = options.repository or environ.get("GITHUB_REPOSITORY")
    if not name or (pull_request is None and sha is None):
        raise UsageError(
            "nowhere to publish to",
            next_step="give --repository OWNER/NAME and --pull-request N or --sha HASH, and GITHUB_TOKEN",
        )
    destination = _destination(name, environ)
    host = connect_host(destination)
    lines: list[str] = []
    if sha is not None:
        with open_check(host, destination, name=check_name(report.suite), sha=sha) as check:
            complete_check(check, [report], destination)
        lines.append(f"check run: {check.url}")
    if pull_request is not None:
        url = comment(host, destination, report=report, number=pull_request, config=config)
        lines.append(f"comment: {url or 'none, as configured'}")
    return tuple(lines)
