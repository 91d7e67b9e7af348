"""Trust is decided by reads from GitHub. Each of these reads fails in each way, and no attacker gains by it."""

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec.structs import replace

from perf_culprit.action.jobs.job_results import JobResults, result_files
from perf_culprit.config.settings import Config
from perf_culprit.flows.compare import Comparison, compare_runs
from perf_culprit.github.bot_texts import answer_marker, comment_marker
from perf_culprit.model.finding import BaselineSource
from perf_culprit.store.retention import Patience
from tests.support.adversary import CONFIGURATION as CONFIGURATION_FILE
from tests.support.adversary import MALLORY_PULL, Scene, open_scene
from tests.support.fake_github.faults import PRIMARY_LIMIT, Fault
from tests.support.fake_github.state import BOT, Comment
from tests.support.git_repository import run_git
from tests.support.job import JobResult
from tests.support.measurements import measured
from tests.support.rounds import in_rounds
from tests.support.turns import in_turn

# Slower by 3%: the default branch's rules fail that, the defaults pass it.
STRICT: Final = (
    "minimum-effect: 1%\nlevels: {warn: 1%, fail: 2%}\nbisect: {run: 'true', benchmark: parse, metric: time}\n"
)
FAST: Final = {"parse": 0.004, "render": 0.02}
SLOWER: Final = {**FAST, "parse": 0.00412}
CHECK: Final = "perf-culprit (default)"
EARLIER: Final = f"{comment_marker('default')}\n### 🔴 1 of 2 benchmarks got slower\n"

HTML: Final = b"<!doctype html><title>Single sign-on</title>"
TROUBLES: Final[Mapping[str, dict[str, Any]]] = {
    "401": {"status": 401, "message": "Bad credentials"},
    "403": {"status": 403, "message": "Resource not accessible by integration"},
    "403 limit": {"status": 403, "message": PRIMARY_LIMIT, "headers": {"x-ratelimit-remaining": "0"}},
    "404": {"status": 404, "message": "Not Found"},
    "429": {"status": 429, "headers": {"retry-after": "7"}},
    "429 too long": {"status": 429, "headers": {"retry-after": "86400"}},
    "500": {"status": 500},
    "502": {"status": 502},
    "connection reset": {"drop": True},
    "200 a page": {"status": 200, "body": HTML, "headers": {"content-type": "text/html"}},
    "200 truncated": {"status": 200, "body": b'{"type": "file", "conte'},
    "200 nothing": {"status": 200, "body": b""},
    "200 empty object": {"status": 200, "body": b"{}"},
    "200 text": {"status": 200, "body": b'"ok"'},
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Read:
    """A read from GitHub. `command` is the pull request's comment; None is the job that publishes.

    `refusals`: troubles that are a definite answer, which the job reports without failing.
    """

    request: str
    command: str | None = None
    is_git: bool = False
    refusals: frozenset[str] = frozenset()


# To git a page is an empty repository: nothing was accepted or stored in it, and it has no commits.
EMPTY: Final = frozenset(name for name in TROUBLES if name.startswith("200"))
ACCEPT: Final = "/perf-accept {head} parse wanted"
RETRY: Final = "/perf-retry"
BISECT: Final = "/perf-bisect {head}"
CONFIGURATION: Final = r"GET .*/(contents|git/ref)/.*"
COMMANDS: Final = {"accept": ACCEPT, "retry": RETRY, "bisect": BISECT}
READS: Final[Mapping[str, Read]] = {
    "publish: configuration": Read(request=CONFIGURATION),
    "publish: pull requests of the run": Read(request=r"GET .*/pulls"),
    "publish: head now": Read(request=rf"GET .*/pulls/{MALLORY_PULL}"),
    "publish: artifacts": Read(request=r"GET .*/runs/55/artifacts"),
    "publish: address of an artifact": Read(request=r"GET .*/artifacts/\d+/zip"),
    "publish: own comments": Read(request=r"GET .*/issues/\d+/comments"),
    "publish: history": Read(request=".*", is_git=True, refusals=EMPTY),
    **{
        f"{name}: {read}": Read(request=request, command=command, **facts)
        for name, command in COMMANDS.items()
        for read, request, facts in (
            # GitHub does not know the account.
            ("permission", r"GET .*/collaborators/.*", {"refusals": frozenset({"404"})}),
            ("configuration", CONFIGURATION, {}),
            ("head now", rf"GET .*/pulls/{MALLORY_PULL}", {}),
            ("history", ".*", {"is_git": True}),
        )
    },
    "accept: own answers": Read(request=r"GET .*/issues/\d+/comments", command=ACCEPT),
    "retry: runs": Read(request=r"GET .*/workflows/.*/runs", command=RETRY, refusals=frozenset({"404"})),
}


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Scene]:
    assert Patience.__init__.__kwdefaults__ is not None
    monkeypatch.setitem(Patience.__init__.__kwdefaults__, "attempts", 2)
    with open_scene(tmp_path, monkeypatch, capsys, configuration=STRICT) as opened:
        monkeypatch.setenv("INPUT_CONFIG", CONFIGURATION_FILE)
        opened.fake.state.runs[55].conclusion = "failure"
        opened.fake.state.add_comment(issue=MALLORY_PULL, author=BOT, body=EARLIER)
        opened.fake.state.add_comment(issue=MALLORY_PULL, author="mallory", body=EARLIER)
        # This command may have a stored bisection, so that retrying reads the history.
        opened.fake.state.add_comment(issue=MALLORY_PULL, author=BOT, body=f"{answer_marker(900)}\nBisecting.")
        yield opened


@cache
def left(head: str, base: str) -> Mapping[str, bytes]:
    """Return the measuring job's files; its verdict, made with the defaults, is the pull request's proposal."""
    run, baseline = (
        in_rounds(measured(levels, seed=seed, count=40, noise=0.003, run_noise=0, commit=commit))
        for levels, seed, commit in ((SLOWER, 5, head), (FAST, 6, base))
    )
    report = compare_runs(run, baseline=(baseline,), source=BaselineSource.PAIRED, config=Config())
    results = JobResults(run=replace(run, suite="default"), baseline=replace(baseline, suite="default"))
    return result_files(Comparison(run=run, report=report), results)


def do(scene: Scene, command: str | None) -> JobResult:
    if command is None:
        return scene.publish(left(scene.head, scene.commits["main2"]))
    return scene.say(command.format(head=scene.head))


def conclusions(scene: Scene) -> list[str | None]:
    return [check.conclusion for check in scene.fake.state.check_runs.values()]


def earlier_comments(scene: Scene) -> tuple[Comment, Comment]:
    ours, theirs, *_ = scene.fake.state.comments.values()
    return ours, theirs


def done(scene: Scene) -> list[str]:
    """Return the effects of commands: a bisection, an acceptance, a repeated run."""
    bare = scene.fake.git_dir
    assert bare is not None
    files = run_git(bare, "ls-tree", "-r", "--name-only", "perf-history") if "perf-history" in scene.refs else ""
    again = ["run again"] * (scene.fake.state.runs[55].attempt - 1)
    return [*again, *files.split(), *("dispatch" for _ in scene.fake.state.dispatches)]


def test_without_trouble_the_rules_of_the_default_branch_hold_and_commands_are_done(scene: Scene) -> None:
    """The control: each trouble below removes one of these results."""
    assert do(scene, None).exit_code == 0
    assert conclusions(scene) == ["failure"]
    ours, theirs = earlier_comments(scene)
    assert (ours.writes, theirs.writes) == (2, 1)
    for number, command in enumerate(COMMANDS.values(), start=1):
        assert do(scene, command).exit_code == 0
        assert len(done(scene)) >= number, command


def test_without_a_configuration_the_defaults_hold(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the file is missing (404); the branch exists."""
    monkeypatch.setenv("INPUT_CONFIG", ".github/perf-culprit.yml")
    assert do(scene, None).exit_code == 0
    assert conclusions(scene) == ["success"]


# An empty history has no stored bisection, so the measurement is repeated.
HARMLESS: Final = {("retry: history", trouble) for trouble in EMPTY}
CASES: Final = [(name, trouble) for turn, name in enumerate(READS) for trouble in in_turn(list(TROUBLES), turn)]


def test_every_read_and_every_trouble_has_its_turn() -> None:
    assert {name for name, _ in CASES} == READS.keys()
    assert {trouble for _, trouble in CASES} == TROUBLES.keys()


@pytest.mark.parametrize(("name", "trouble"), [case for case in CASES if case not in HARMLESS])
def test_a_read_that_decides_trust_fails_closed(scene: Scene, name: str, trouble: str) -> None:
    read = READS[name]
    fault = Fault(request=read.request, times=999, **TROUBLES[trouble])
    (scene.fake.git_faults if read.is_git else scene.fake.faults).append(fault)
    result = do(scene, read.command)
    assert fault.times < 999, "nothing was read"
    assert result.exit_code == (0 if trouble in read.refusals else 4), result.log
    assert "this is a bug" not in result.log
    assert "success" not in conclusions(scene)
    assert done(scene) == []
    ours, theirs = earlier_comments(scene)
    assert theirs.writes == 1
    assert "got slower" in ours.body
    scene.assert_no_secret(result)


def file_answer(content: object = "YQ==", **facts: object) -> bytes:
    return json.dumps({"type": "file", "encoding": "base64", "size": 1, "content": content, **facts}).encode()


FILES: Final[Mapping[str, tuple[bytes, int]]] = {
    "a folder": (b'[{"type": "file", "name": "x"}]', 2),
    "a submodule": (file_answer(type="submodule"), 2),
    "too large": (file_answer("", size=1 << 20, encoding="none"), 2),
    "not base64": (file_answer("m?nimum-effect"), 4),
    "cut": (file_answer(base64.b64encode(STRICT[:20].encode()).decode(), size=len(STRICT)), 4),
    "of another encoding": (file_answer("a", encoding="utf-8"), 4),
    "no text": (file_answer(None), 4),
    "no configuration": (file_answer(base64.b64encode(b"x: 1").decode(), size=4), 2),
}


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("command", [None, ACCEPT, BISECT])
def test_a_configuration_that_is_no_whole_file_decides_nothing(scene: Scene, kind: str, command: str | None) -> None:
    body, code = FILES[kind]
    scene.fake.faults = [Fault(request=CONFIGURATION, status=200, body=body, times=999)]
    result = do(scene, command)
    assert result.exit_code == code, result.log
    assert conclusions(scene) == (["neutral"] if command is None else [])
    assert done(scene) == []


# How the branch requires our check, or why that is unknown; and the check's conclusion.
REQUIRED: Final[Mapping[str, tuple[dict[str, list[str]], str]]] = {
    "required by a ruleset": ({"required_checks": [CHECK]}, "failure"),
    "required by protection": ({"protected_checks": [CHECK]}, "failure"),
    "others required": ({"required_checks": ["lint"], "protected_checks": ["tests"]}, "neutral"),
    "nothing required": ({}, "neutral"),
}


@pytest.mark.parametrize("trouble", ["401", "429", "502"])
@pytest.mark.parametrize("kind", REQUIRED)
def test_wanted_a_pass_while_the_configuration_is_unreadable_got_a_failing_check(
    scene: Scene, kind: str, trouble: str
) -> None:
    names, conclusion = REQUIRED[kind]
    for rules, own in names.items():
        getattr(scene.fake.state, rules)["main"] = own
    scene.fake.faults = [Fault(request=CONFIGURATION, times=999, **TROUBLES[trouble])]
    assert do(scene, None).exit_code == 4
    (check,) = scene.fake.state.check_runs.values()
    assert (check.name, check.conclusion) == (CHECK, conclusion)
    assert check.output["title"] == "Not judged: could not read the configuration, run again"


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("read", [r"GET .*/rules/.*", r"GET .*/branches/main"])
def test_unreadable_rules_count_as_requiring_the_check(scene: Scene, read: str, trouble: str) -> None:
    scene.fake.faults = [
        Fault(request=CONFIGURATION, times=999, **TROUBLES["502"]),
        Fault(request=read, times=999, **TROUBLES[trouble]),
    ]
    assert do(scene, None).exit_code == 4
    assert conclusions(scene) == ["failure"]


@pytest.mark.parametrize("trouble", ["401", "429", "502"])
def test_a_passing_trouble_with_the_configuration_is_waited_for(scene: Scene, trouble: str) -> None:
    scene.fake.faults = [Fault(request=CONFIGURATION, times=2, **TROUBLES[trouble])]
    assert do(scene, None).exit_code == 0
    assert conclusions(scene) == ["failure"]
    (check,) = scene.fake.state.check_runs.values()
    assert "slower" in check.output["title"]


@pytest.mark.parametrize("trouble", TROUBLES)
def test_the_check_says_that_the_configuration_could_not_be_read(scene: Scene, trouble: str) -> None:
    scene.fake.faults = [Fault(request=CONFIGURATION, times=999, **TROUBLES[trouble])]
    result = do(scene, None)
    (check,) = scene.fake.state.check_runs.values()
    assert (check.name, check.conclusion) == (CHECK, "neutral")
    assert check.output["title"] == "Not judged: could not read the configuration, run again"
    assert "could not read the configuration" in check.output["summary"]
    assert "\nNext: " in check.output["summary"]
    assert "could not read the configuration" in result.summary
    ours, _ = earlier_comments(scene)
    mark, line, *rest = [line for line in ours.body.splitlines() if line]
    assert (mark, rest) == (comment_marker("default"), ["### 🔴 1 of 2 benchmarks got slower"])
    assert line.startswith(f"> ⚠️ **Not judged:** `{scene.head[:7]}` (could not read the configuration, [")


@pytest.mark.parametrize("trouble", ["502", "200 a page"])
@pytest.mark.parametrize("name", [name for name, read in READS.items() if not read.is_git])
def test_a_read_that_fails_once_is_repeated(scene: Scene, name: str, trouble: str) -> None:
    read = READS[name]
    scene.fake.faults = [Fault(request=read.request, **TROUBLES[trouble])]
    result = do(scene, read.command)
    assert result.exit_code == 0, result.log
    assert conclusions(scene) == ["failure"] if read.command is None else done(scene) != []
