import pytest

from perf_culprit.action.command_grammar import (
    AcceptCommand,
    BisectCommand,
    CommentCommand,
    HelpCommand,
    RetryCommand,
    RunCommand,
    parse_comment,
)
from perf_culprit.errors import UsageError
from perf_culprit.model.bisection import Engine

SHA = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param("/perf-bisect", BisectCommand(), id="bare"),
        pytest.param("/perf-bisect  \r\nplease", BisectCommand(), id="only the first line"),
        pytest.param(f"/perf-bisect {SHA}", BisectCommand(sha=SHA), id="head"),
        pytest.param("/perf-bisect benchmark=parse", BisectCommand(benchmark="parse"), id="option without head"),
        pytest.param(
            f'/perf-bisect {SHA} benchmark="sort large" good=v1.4 bad=main jobs=8 budget=200',
            BisectCommand(sha=SHA, benchmark="sort large", good="v1.4", bad="main", jobs=8, executions=200),
            id="everything",
        ),
        pytest.param(
            "/perf-bisect benchmark=x metric=ns/op", BisectCommand(benchmark="x", metric="ns/op"), id="metric"
        ),
        pytest.param("/perf-bisect engine=weighted", BisectCommand(engine=Engine.WEIGHTED), id="engine"),
        pytest.param("/perf-bisect budget=90min", BisectCommand(minutes=90), id="minutes"),
        pytest.param("/perf-bisect benchmark=a=b", BisectCommand(benchmark="a=b"), id="equals sign in a value"),
        pytest.param('/perf-bisect "benchmark=a b"', BisectCommand(benchmark="a b"), id="whole word quoted"),
        pytest.param(
            r'/perf-bisect benchmark="say \"hi\" \\o/"', BisectCommand(benchmark=r'say "hi" \o/'), id="escapes"
        ),
        pytest.param("/perf-bisect benchmark=::error::x", BisectCommand(benchmark="::error::x"), id="workflow command"),
        pytest.param("/perf-run", RunCommand(), id="run"),
        pytest.param(
            f'/perf-run {SHA} parse "sort large" against v1.4 rounds=40',
            RunCommand(sha=SHA, benchmarks=("parse", "sort large"), against="v1.4", rounds=40),
            id="run everything",
        ),
        pytest.param("/perf-run parse parse", RunCommand(benchmarks=("parse",)), id="named twice"),
        pytest.param("/perf-run $(id)", RunCommand(benchmarks=("$(id)",)), id="a name is text"),
        pytest.param("/perf-retry", RetryCommand(), id="retry"),
        pytest.param("/perf-help", HelpCommand(), id="help"),
        pytest.param("/PERF-Help", HelpCommand(), id="capitals"),
        pytest.param("/Perf-bisect benchmark=Parse", BisectCommand(benchmark="Parse"), id="capitals of a name"),
        pytest.param(
            "/perf-accept parse the new grammar costs this",
            AcceptCommand(benchmark="parse", reason="the new grammar costs this"),
            id="accept",
        ),
        pytest.param("/perf-accept all fine", AcceptCommand(benchmark=None, reason="fine"), id="accept all"),
        pytest.param(
            f"/perf-accept {SHA} parse fine", AcceptCommand(benchmark="parse", reason="fine", sha=SHA), id="accept head"
        ),
        pytest.param(
            f'/perf-accept "{SHA}" fine', AcceptCommand(benchmark=SHA, reason="fine"), id="called as a commit"
        ),
        pytest.param(
            '/perf-accept "all" it is fine', AcceptCommand(benchmark="all", reason="it is fine"), id="called all"
        ),
        pytest.param(
            '/perf-accept "sort large" why "not"', AcceptCommand(benchmark="sort large", reason='why "not"'), id="blank"
        ),
    ],
)
def test_reads_commands(body: str, expected: CommentCommand) -> None:
    assert parse_comment(body) == expected


@pytest.mark.parametrize(
    "body",
    [
        "",
        "hello",
        " /perf-bisect",
        "> /perf-bisect",
        "`/perf-bisect`",
        "please\n/perf-bisect",
        "/perfbisect",
        "\n/perf-help",
    ],
)
def test_leaves_other_comments_alone(body: str) -> None:
    assert parse_comment(body) is None


@pytest.mark.parametrize(
    ("body", "message", "next_step"),
    [
        ("/perf-bisct", "`/perf-bisct` isn't a command", "did you mean `/perf-bisect`? The commands are"),
        (
            "/perf-",
            "`/perf-` isn't a command",
            "`/perf-bisect`, `/perf-retry`, `/perf-run`, `/perf-accept` and `/perf-help`",
        ),
        ("/perf-bisect\tx", "invisible characters", "type it"),
        ("/perf-bisect benhmark=x", "`benhmark=x` isn't an option", "did you mean `benchmark`? The options are"),
        (
            "/perf-bisect main",
            "neither a commit hash nor an option",
            "the options are `benchmark`, `metric`, `good`,",
        ),
        ("/perf-bisect 0123456", "isn't a full commit hash", "all 40 digits"),
        (f"/perf-bisect {SHA.upper()}", "isn't a full commit hash", "lower case"),
        (f"/perf-bisect {SHA}0", "isn't a full commit hash", "all 40 digits"),
        (f"/perf-bisect jobs=2 {SHA}", "isn't an option", "the options are"),
        ("/perf-bisect jobs=2 jobs=3", "`jobs` is given twice", "once"),
        ("/perf-bisect jobs=", "`jobs` has no value", "from 1 to 20"),
        ("/perf-bisect jobs=0", "isn't a number of jobs", "from 1 to 20"),
        ("/perf-bisect jobs=21", "isn't a number of jobs", "from 1 to 20"),
        ("/perf-bisect jobs=\u0663", "isn't a number of jobs", "from 1 to 20"),
        ("/perf-bisect budget=-1", "isn't a budget", "budget=Nmin"),
        ("/perf-bisect budget=3", "isn't a budget", "4 to 10,000"),
        ("/perf-bisect budget=20000", "isn't a budget", "10,000"),
        ("/perf-bisect budget=2000min", "isn't a budget", "1,440"),
        ("/perf-bisect good=--upload-pack=x", "isn't a commit", "a hash, a tag or a branch"),
        ("/perf-bisect engine=git", "`git` isn't an engine", "`engine=bayes` or `engine=weighted`"),
        ("/perf-bisect good=a..b", "isn't a commit", "a hash, a tag or a branch"),
        ("/perf-bisect HEAD", "neither a commit hash nor an option", "write the head's 40 digits"),
        ("/perf-bisect good=HEAD", "`HEAD` isn't a commit", "a hash, a tag or a branch"),
        ("/perf-bisect bad=FETCH_HEAD", "isn't a commit", "a hash, a tag or a branch"),
        ("/perf-bisect good=$(id)", "isn't a commit", "a hash, a tag or a branch"),
        ('/perf-bisect benchmark="a', "does not end", 'close it with `"`'),
        (r'/perf-bisect benchmark="a\n"', "backslash", "inside write"),
        ('/perf-bisect benchmark=" "', "empty or too long", "report's table"),
        ("/perf-bisect benchmark=a\u202eb", "invisible characters", "type it"),
        (f"/perf-bisect benchmark={'x' * 1000}", "too long", "1,000"),
        ("/perf-run rounds=0", "isn't a number of rounds", "N from 1 to 100"),
        ("/perf-run rounds=\u0663", "isn't a number of rounds", "N from 1 to 100"),
        ("/perf-run rounds=2 rounds=3", "isn't a number of rounds", "once"),
        ("/perf-run parse against", "needs one commit", "against REF"),
        ("/perf-run against a against b", "needs one commit", "once"),
        ("/perf-run against --upload-pack=x", "isn't a commit", "a hash, a tag or a branch"),
        (f"/perf-run {' '.join(f'b{number}' for number in range(21))}", "21 benchmarks", "at most 20"),
        ("/perf-retry now", "takes no options", "alone"),
        ("/perf-help me", "takes no options", "alone"),
        ("/perf-accept", "a benchmark and a reason are needed", "/perf-accept parse"),
        ("/perf-accept parse", "a benchmark and a reason are needed", "/perf-accept parse"),
        ('/perf-accept "parse', "a benchmark and a reason are needed", "/perf-accept parse"),
        ('/perf-accept "" why', "empty or too long", "report's table"),
        (f"/perf-accept parse {'x' * 301}", "301 characters", "300"),
    ],
)
def test_refuses_with_what_would_be_valid(body: str, message: str, next_step: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_comment(body)
    assert message in caught.value.message
    assert next_step in (caught.value.next_step or "")
