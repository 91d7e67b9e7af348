"""The message to a webhook: its forms, its limits, and that no failure or retry sends it twice."""

import io
import json
from typing import Any

import jsonschema
import pytest
import requests

from perf_culprit.action.jobs import notices
from perf_culprit.config.reader import parse_config
from perf_culprit.config.settings import Config
from perf_culprit.errors import ConfigError, InfrastructureError
from perf_culprit.flows.published_schemas import published_schema
from perf_culprit.github.host import Opened
from perf_culprit.github.job_context import Destination
from perf_culprit.model.artifact_limits import ARTIFACT_LIMITS
from perf_culprit.model.run import MetricKey

DESTINATION = Destination(
    repository="octocat/hello",
    api_url="https://api.example",
    server_url="https://github.example",
    token="token",
    bot_login="bot",
    run_url="https://github.example/octocat/hello/actions/runs/5",
)
ISSUE = "https://github.example/octocat/hello/issues/1"
WEBHOOK = "https://hooks.example/hunter2"
EVIL = "parse <!channel> & [x](https://evil.example) *b*"
KEY = MetricKey(EVIL, "time")


class Posted:
    """The calls of `requests.post`. The answer has `status`, or the call raises `error`."""

    def __init__(self, status: int = 200, error: Exception | None = None) -> None:
        self.status, self.error = status, error
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def __call__(self, url: str, **options: Any) -> requests.Response:
        self.calls.append((url, options))
        if self.error is not None:
            raise self.error
        answer = requests.Response()
        answer.status_code, answer.raw = self.status, io.BytesIO()
        return answer

    @property
    def body(self) -> Any:
        ((_, options),) = self.calls
        return json.loads(options["data"])


@pytest.fixture
def posted(monkeypatch: pytest.MonkeyPatch) -> Posted:
    post = Posted()
    monkeypatch.setattr(requests, "post", post)
    return post


def send(form: str | None, url: str = WEBHOOK, *, count: int = 1, is_ours: bool = True) -> list[str]:
    """Send messages about `count` issues and return the warnings."""
    warnings: list[str] = []
    with notices.notices(DESTINATION, form=form, url=url, warn=warnings.append) as new:
        for _ in range(count):
            title = f"Performance regression: {EVIL} by 50%"
            new.add(Opened(ISSUE, is_ours=is_ours), title, [(KEY, 0.5)] * 12, commit="a" * 40, culprit="b" * 40)
    return warnings


def test_json_is_the_published_schema(posted: Posted) -> None:
    assert send("json", count=12) == []
    jsonschema.validate(posted.body, json.loads(published_schema("notification")))
    assert (len(posted.body["issues"]), posted.body["omitted"]) == (10, 2)
    first = posted.body["issues"][0]
    assert (first["url"], first["culprit"]) == (ISSUE, "b" * 40)
    assert first["changes"] == [{"benchmark": EVIL, "metric": "time", "change": 0.5}] * 10


def test_slack_reads_no_structure_in_a_name(posted: Posted) -> None:
    send("slack")
    heading, line = posted.body["text"].split("\n")
    assert heading == "octocat/hello: 1 performance issue opened"
    assert line.startswith(f"• <{ISSUE}|Performance regression: parse &lt;!channel&gt; &amp; ")
    assert line.count("<") == 1


def test_teams_reads_no_markdown_in_a_name(posted: Posted) -> None:
    send("teams")
    (attachment,) = posted.body["attachments"]
    heading, line = attachment["content"]["body"]
    assert heading["inlines"][0]["text"] == "octocat/hello: 1 performance issue opened"
    (run,) = line["inlines"]
    assert (line["type"], run["type"]) == ("RichTextBlock", "TextRun"), "these have no Markdown"
    assert EVIL in run["text"]
    assert run["selectAction"] == {"type": "Action.OpenUrl", "url": ISSUE}


def test_a_message_says_how_many_issues_it_leaves_out(posted: Posted) -> None:
    send("slack", count=12)
    assert posted.body["text"].endswith(f"\n• <{DESTINATION.run_url}|and 2 more, in the log of the job>")
    posted.calls.clear()
    send("teams", count=12)
    last = posted.body["attachments"][0]["content"]["body"][-1]["inlines"][0]
    assert (last["text"], last["selectAction"]["url"]) == ("and 2 more, in the log of the job", DESTINATION.run_url)


def test_the_request_has_a_time_limit_and_follows_no_redirect(posted: Posted) -> None:
    send("json")
    ((url, options),) = posted.calls
    assert url == WEBHOOK
    assert options["allow_redirects"] is False
    assert options["timeout"] == ARTIFACT_LIMITS.answer_s


@pytest.mark.parametrize(("form", "count", "is_ours"), [(None, 1, True), ("json", 0, True), ("json", 1, False)])
def test_nothing_is_sent_about_nothing_new(posted: Posted, form: str | None, count: int, is_ours: bool) -> None:
    """Not without `notify`, not without an issue, and not about an issue that another job opened."""
    assert send(form, count=count, is_ours=is_ours) == []
    assert posted.calls == []


def test_what_was_opened_before_a_failure_is_told(posted: Posted) -> None:
    """A retry finds the issue open, so this message is its only one."""

    def opens_and_dies() -> None:
        with notices.notices(DESTINATION, form="json", url=WEBHOOK, warn=print) as new:
            new.add(Opened(ISSUE), "a title", [], commit="a" * 40)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        opens_and_dies()
    assert len(posted.calls) == 1


@pytest.mark.parametrize(
    ("post", "message"),
    [
        (Posted(404), "it answered 404"),
        (Posted(302), "it answered 302"),
        (Posted(error=requests.ConnectionError(f"no {WEBHOOK}")), "ConnectionError"),
        (Posted(error=requests.Timeout(f"no {WEBHOOK}")), "Timeout"),
        (Posted(error=ValueError(f"no {WEBHOOK}")), "ValueError"),
    ],
)
def test_a_failure_is_a_warning_without_the_address(
    monkeypatch: pytest.MonkeyPatch, post: Posted, message: str
) -> None:
    monkeypatch.setattr(requests, "post", post)
    (warning,) = send("json")
    assert f"the webhook did not take the message: {message}" in warning
    assert "hunter2" not in warning
    assert len(post.calls) == 1, "a lost answer is not asked for again"


@pytest.mark.parametrize(
    "url", ["", "http://hooks.example/hunter2", "https:///hunter2", "ftp://x/hunter2", "https://["]
)
def test_another_address_than_https_is_refused(posted: Posted, url: str) -> None:
    (warning,) = send("json", url)
    assert "the webhook has no https address" in warning
    assert "secrets.PERF_NOTIFY_URL" in warning
    assert "hunter2" not in warning
    assert posted.calls == []


CODE_OWNERS = {"CODEOWNERS": b"*.py @octo-org/python\n/src/parse.py @octocat @octo-org/parser\n"}
WITH_OWNERS = Config.model_validate(
    {
        "issues": {"mention": ["@octo-org/perf"], "code-owners": True},
        "benchmarks": [{"match": "parse*", "owners": ["@parser"]}, {"match": "*e*", "owners": ["@rest", "@parser"]}],
    }
)
BY_FILE = Config.model_validate({"issues": {"code-owners": True}})


@pytest.mark.parametrize(
    ("config", "names", "files", "before", "mentions"),
    [
        (WITH_OWNERS, ["parse_long"], ["src/parse.py"], "", ("@octo-org/perf", "@parser")),
        (WITH_OWNERS, ["parse", "render"], [], "", ("@octo-org/perf", "@parser", "@rest")),
        (WITH_OWNERS, ["parse"], [], "cc @octo-org/perf @parser", ("@octo-org/perf", "`@parser`")),
        (WITH_OWNERS, ["parse"], [], "cc `@parser`", ("@octo-org/perf", "`@parser`")),
        (WITH_OWNERS, ["parse"], [], "cc @parser-2", ("@octo-org/perf", "@parser")),
        (WITH_OWNERS, ["load"], ["src/parse.py"], "", ("@octo-org/perf", "@octocat", "@octo-org/parser")),
        (BY_FILE, ["parse"], ["src/parse.py"], "", ("@octocat", "@octo-org/parser")),
        (BY_FILE, ["parse"], ["src/load.py"], "", ("@octo-org/python",)),
        (BY_FILE, ["parse"], ["src/load.c"], "", ()),
        (BY_FILE, ["parse"], [], "", ()),
        (Config(), ["parse"], ["src/parse.py"], "", ()),
    ],
)
def test_owners_are_those_of_the_benchmark_else_of_the_file(
    config: Config, names: list[str], files: list[str], before: str, mentions: tuple[str, ...]
) -> None:
    new = notices.Notices(read_file=CODE_OWNERS.get)
    assert new.mentions(config, [MetricKey(name, "time") for name in names], files, before=before) == mentions


def test_the_issue_is_opened_even_if_its_owners_are_unknown() -> None:
    def fail(path: str) -> bytes:
        raise InfrastructureError("GitHub does not answer", place=path, next_step="run again")

    assert notices.Notices(read_file=fail).mentions(BY_FILE, [KEY], ["src/parse.py"]) == ()


def test_notify_without_issues_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"notify needs issues\.when"):
        parse_config(b"notify: slack\n", place="perf.yml")
