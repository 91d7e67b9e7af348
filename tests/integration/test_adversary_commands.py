"""Comments are strangers' text: they start nothing, write nowhere else, and stay text."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options

from perf_culprit.say.command_answers import no_permission_text
from tests.support.adversary import INNOCENT_PULL, MALLORY_PULL, RIGHTS, SECRET, WORKFLOW, Scene, open_scene
from tests.support.fake_github.faults import Fault
from tests.support.fake_github.state import BOT, Comment
from tests.support.git_repository import run_git

INJECTIONS = (
    "$(touch pwned)",
    "`touch pwned`",
    "; touch pwned #",
    "&& touch pwned",
    "'\"; touch pwned",
    "${{ secrets.GITHUB_TOKEN }}",
    "::set-output name=failed::false",
    "::add-mask::x",
    "##[error]pwned",
    "x%0A::error::pwned",
    "--upload-pack=touch",
    "-oProxyCommand=touch",
    "../../refs/heads/main",
    "refs/pull/8/head",
    "<img src=x onerror=alert(1)>",
    "[x](http://evil.example)",
    "![x](http://evil.example/x.png)",
    "``` @octocat #1",
    "<!-- perf-culprit:v1:default -->",
    "<!-- perf-culprit:v1:answer:1000 -->",
    "| a | b |",
)
# Each place of a command that takes a word of the author's.
PLACES = (
    "/perf-bisect {}",
    "/perf-bisect good={}",
    "/perf-bisect bad={}",
    '/perf-bisect benchmark="{}"',
    "/perf-bisect jobs={}",
    "/perf-bisect budget={}",
    "/perf-{}",
    "/perf-accept {}",
    "/perf-accept {} because",
    '/perf-accept "{}" because',
    "/perf-accept parse {}",
    "/perf-retry {}",
    "/perf-help {}",
)


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Scene]:
    with open_scene(tmp_path, monkeypatch, capsys) as opened:
        yield opened


def answers(scene: Scene) -> list[Comment]:
    return [comment for comment in scene.fake.state.comments.values() if comment.author == BOT]


@pytest.mark.slow  # seven commands each; an acceptance is a push
@pytest.mark.parametrize("place", PLACES)
def test_what_a_command_holds_is_run_nowhere_and_stays_text(scene: Scene, place: str) -> None:
    """A permitted author's words never become a program, an option of git, a link, a mention or a marker."""
    assert scene.fake.git_dir is not None
    # One or two injections of each kind: for a shell, a runner, git and a browser.
    for injection in INJECTIONS[PLACES.index(place) % 3 :: 3]:
        before = len(scene.applied)
        result = scene.say(place.format(injection))
        assert result.exit_code in (0, 4), result.log
        answer = answers(scene)[-1]
        first, _, rest = answer.body.partition("\n")
        asked = max(comment.id for comment in scene.fake.state.comments.values() if comment.author == "octocat")
        assert first == f"<!-- perf-culprit:v1:answer:{asked} -->"
        html = cmarkgfm.github_flavored_markdown_to_html(rest, Options.CMARK_OPT_UNSAFE)
        assert "<img" not in html
        assert "<!--" not in html
        assert 'href="http://evil' not in html
        outside = [line for line in result.log.splitlines() if line.lstrip().startswith("::")]
        assert all(line.startswith(("::group::", "::endgroup::", "::error title=perf-culprit::")) for line in outside)
        assert "##[" not in result.log
        assert scene.applied[before:] == [
            f"POST issues/comments/{asked}/reactions",
            f"POST issues/{MALLORY_PULL}/comments",
        ]
        scene.assert_no_secret(result)
    assert not scene.fake.state.dispatches
    assert not list(scene.folder.rglob("pwned"))
    assert {line.split()[-1] for line in scene.refs.splitlines()} <= {
        "refs/heads/main",
        "refs/heads/perf-history",
        f"refs/pull/{MALLORY_PULL}/head",
    }


@pytest.mark.parametrize("author", ["mallory", "stranger", "octocat-admin"])
@pytest.mark.parametrize("association", ["OWNER", "MEMBER", "COLLABORATOR"])
@pytest.mark.parametrize("number", [MALLORY_PULL, INNOCENT_PULL])
def test_who_may_not_gets_one_sentence_and_nothing_else(
    scene: Scene, author: str, association: str, number: int
) -> None:
    """The event's claims make no difference, in any thread; a repeated event does not repeat the answer."""
    refs = scene.refs
    for body in (f"/perf-bisect {scene.head}", "/perf-retry", "/perf-accept all fine", "/perf-nothing"):
        before = len(scene.applied)
        scene.fake.state.comments.clear()
        result = scene.say(body, author=author, number=number, author_association=association)
        assert result.exit_code == 0, result.log
        (answer,) = answers(scene)
        assert (answer.issue, answer.body.partition("\n")[2]) == (
            number,
            no_permission_text(author),
        )
        assert [entry.rpartition("/")[2] for entry in scene.applied[before:]] == ["reactions", "comments"]
        scene.assert_no_secret(result)
    assert scene.refs == refs
    assert not scene.fake.state.dispatches
    assert scene.fake.state.runs[55].attempt == 1


def test_rights_that_were_taken_away_between_comment_and_job_are_gone(scene: Scene) -> None:
    scene.fake.state.roles["octocat"] = "read"
    result = scene.say("/perf-accept all fine", author_association="OWNER")
    assert "does not have write access" in answers(scene)[0].body
    assert "perf-history" not in scene.refs
    scene.assert_no_secret(result)


@pytest.mark.parametrize("length", [65_000, 1_000_000])
def test_an_endless_line_is_answered_shortly(scene: Scene, length: int) -> None:
    result = scene.say("/perf-accept " + "x" * length)
    assert result.exit_code == 0, result.log
    (answer,) = answers(scene)
    assert "too long" in answer.body
    assert len(answer.body) < 1000
    assert "perf-history" not in scene.refs


def test_the_answer_of_a_stranger_with_our_marker_is_no_answer(scene: Scene) -> None:
    """A marker pasted in advance must not suppress the true answer, nor be edited."""
    next_id = next(scene.fake.state.ids) + 2
    forged = scene.fake.state.add_comment(
        issue=MALLORY_PULL, author="mallory", body=f"<!-- perf-culprit:v1:answer:{next_id} -->\nAccepted."
    )
    scene.say("/perf-help")
    (answer,) = answers(scene)
    assert answer.body.startswith(f"<!-- perf-culprit:v1:answer:{next_id} -->")
    assert (forged.writes, forged.author) == (1, "mallory")


def test_a_head_that_moved_between_comment_and_job_is_not_measured(scene: Scene) -> None:
    asked = scene.head
    scene.fake.state.pulls[MALLORY_PULL].head_sha = "9" * 40
    result = scene.say(f"/perf-bisect {asked}")
    assert "The head of this pull request is" in answers(scene)[0].body
    assert not scene.fake.state.dispatches
    assert not scene.fake.state.check_runs
    scene.assert_no_secret(result)


@dataclass(kw_only=True, slots=True)
class Push(Fault):
    """A push instead of a failure: after `looks` reads of the pull request its head is another one."""

    scene: Scene
    looks: int

    def matches(self, method: str, path: str) -> bool:
        if method == "GET" and path.endswith(f"/pulls/{MALLORY_PULL}"):
            self.looks -= 1
            if self.looks < 0:
                self.scene.fake.state.pulls[MALLORY_PULL].head_sha = "9" * 40
        return False


@pytest.mark.slow  # a whole command for each of its looks at the pull request
def test_a_head_that_moves_while_the_command_is_done_is_not_measured(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dispatch is sent only if GitHub still named the commit right before it, however late the push comes."""
    monkeypatch.setenv("INPUT_CONFIG", scene.configure())
    head, sent = scene.head, []
    for looks in range(4):
        scene.fake.state.pulls[MALLORY_PULL].head_sha = head
        scene.fake.state.dispatches.clear()
        scene.fake.faults = [Push(request="", scene=scene, looks=looks)]
        before = len(scene.fake.log)
        result = scene.say(f"/perf-bisect {head}")
        assert result.exit_code == 0, result.log
        assert all(dispatch["inputs"]["commit"] == head for dispatch in scene.fake.state.dispatches)
        sent.append(len(scene.fake.state.dispatches))
        reads = [exchange.request for exchange in scene.fake.log[before:]]
        looked = [index for index, request in enumerate(reads) if request.path.endswith(f"/pulls/{MALLORY_PULL}")]
        dispatched = [index for index, request in enumerate(reads) if request.path.endswith("/dispatches")]
        assert all(any(look < dispatch for look in looked[1:]) for dispatch in dispatched)
        scene.assert_no_secret(result)
    assert (sent[0], sent[1]) == (0, 0)
    assert sent[-1] == 1


@pytest.mark.parametrize("length", [7, 12, 39, 41, 64])
def test_a_hash_that_is_not_whole_is_none(scene: Scene, length: int) -> None:
    """Seven digits can be forged; the full hash must be the one that GitHub names."""
    scene.say(f"/perf-bisect {(scene.head + scene.head)[:length]}")
    assert "Command rejected" in answers(scene)[0].body
    assert not scene.fake.state.dispatches


@pytest.mark.parametrize(
    ("missing", "left", "named"),
    [
        ("contents", "none", "contents: read"),
        ("contents", "read", "contents: write"),
        ("pull-requests", "read", "pull-requests: write"),
    ],
)
def test_accepting_without_a_permission_names_it(scene: Scene, missing: str, left: str, named: str) -> None:
    refs = scene.refs
    granted = RIGHTS | {missing: left} | ({"issues": left} if missing == "pull-requests" else {})
    scene.fake.add_token(SECRET, granted)
    result = scene.say(f"/perf-accept {scene.head} parse wanted")
    assert result.exit_code == 4, result.log
    assert named in result.log
    if missing == "contents":
        assert named in answers(scene)[0].body
    else:
        assert answers(scene) == []
        assert scene.applied == []
    assert scene.refs == refs
    scene.assert_no_secret(result)


def test_an_accepted_reason_is_stored_as_the_author_wrote_it_and_shown_as_text(scene: Scene) -> None:
    assert scene.fake.git_dir is not None
    reason = "@octocat [x](http://evil.example) ::error::x <img src=x> $(id)"
    scene.fake.state.runs[55].workflow = WORKFLOW
    result = scene.say(f"/perf-accept {scene.head} parse {reason}")
    assert result.exit_code == 0, result.log
    names = run_git(scene.fake.git_dir, "ls-tree", "-r", "--name-only", "perf-history").splitlines()
    assert [name for name in names if name.startswith("accepted")] != []
    message = run_git(scene.fake.git_dir, "log", "--format=%B", "perf-history")
    assert "evil" not in message
    html = cmarkgfm.github_flavored_markdown_to_html(answers(scene)[0].body, Options.CMARK_OPT_UNSAFE)
    assert "<img" not in html
    assert 'href="http://evil' not in html
    scene.assert_no_secret(result)
