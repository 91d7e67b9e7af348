"""The thread of a whole conversation as a page: `python -m tests.support.thread_picture OUT.html`.

A push that makes the pull request slower, the report, the command, a stranger's command, the progress, the answer. The
comments are what the bot wrote to the fake; GitHub's own Markdown parser renders them. Beside it go the first report
and the last answer, alone, of which the README has pictures:

    chromium --headless --hide-scrollbars --screenshot=docs/comment.png --window-size=920,350 OUT-comment.html
    chromium --headless --hide-scrollbars --screenshot=docs/answer.png --window-size=920,660 OUT-answer.html
"""

import html
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options

from tests.support.conversation import MOST_DISPATCHES, Conversation, open_conversation
from tests.support.fake_github.server import FakeGitHub
from tests.support.fake_github.state import Comment
from tests.support.job import Runner
from tests.support.workflows.runner import InThisProcess

STYLE = """
body{font:14px/1.5 -apple-system,"Segoe UI",Helvetica,Arial,sans-serif;color:#1f2328;background:#fff;margin:24px}
article{max-width:860px;margin:0 0 16px;border:1px solid #d1d9e0;border-radius:6px}
header{background:#f6f8fa;border-bottom:1px solid #d1d9e0;border-radius:6px 6px 0 0;padding:8px 16px}
header i{color:#59636e;font-style:normal}
section{padding:12px 16px}
code{font:85% ui-monospace,Menlo,monospace;background:#818b981f;padding:.2em .4em;border-radius:6px}
pre{background:#f6f8fa;padding:16px;border-radius:6px;overflow:auto}
pre code{background:none;padding:0}
table{border-collapse:collapse}
td,th{border:1px solid #d1d9e0;padding:6px 13px}
tr:nth-child(2n){background:#f6f8fa}
h3{margin:0 0 12px;font-size:1.25em}
a{color:#0969da}
img{max-width:100%}
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    author: str
    body: str
    note: str
    eyes: bool = False


def page(thread: Sequence[Shown]) -> str:
    return f'<!doctype html><meta charset="utf-8"><style>{STYLE}</style>' + "".join(map(article, thread))


def article(shown: Shown) -> str:
    body = cmarkgfm.github_flavored_markdown_to_html(shown.body, Options.CMARK_OPT_UNSAFE)
    eyes = "<p>👀 1</p>" if shown.eyes else ""
    head = f"<b>{html.escape(shown.author)}</b> <i>{html.escape(shown.note)}</i>"
    return f"<article><header>{head}</header><section>{body}{eyes}</section></article>"


def as_shown(comment: Comment, note: str) -> Shown:
    return Shown(author=comment.author, body=comment.body, note=note, eyes=bool(comment.reactions))


def talk(conversation: Conversation) -> list[Shown]:
    """The comments in their order; of the answer that is edited, the first, a middle and the last state."""
    conversation.push(conversation.head)
    comments = conversation.fake.state.comments
    (report,) = comments.values()
    thread = [as_shown(report, "reports the push")]
    for body, author in (("/perf-bisect", "mallory"), ("/perf-bisect", "octocat")):
        asked = conversation.say(body, author=author)
        thread += [as_shown(asked, "commented"), as_shown(comments[max(comments)], "answered")]
    asked = conversation.say(f'/perf-bisect {conversation.head} benchmark="result"\n\nThanks!')
    answer = comments[max(comments)]
    thread += [as_shown(asked, "commented"), as_shown(answer, "answered at once")]
    conversation.measure()
    thread.append(as_shown(answer, "edited the same answer after the first dispatch"))
    for _ in range(MOST_DISPATCHES):
        if not conversation.measure():
            break
    thread.append(as_shown(answer, "edited the same answer at the end"))
    return thread


def test_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Run by the command line above, which says where the page goes."""

    def in_this_process(fake: FakeGitHub) -> InThisProcess:
        return InThisProcess(
            Runner(fake=fake, workspace=tmp_path, temp=tmp_path / "action", monkeypatch=monkeypatch, capture=capsys)
        )

    with open_conversation(tmp_path, in_this_process) as conversation:
        conversation.fake.state.roles["mallory"] = "read"
        thread = talk(conversation)
    out = Path(os.environ["THREAD_PICTURE"])
    for name, shown in (("", thread), ("-comment", thread[:1]), ("-answer", thread[-1:])):
        out.with_stem(out.stem + name).write_text(page(shown), encoding="utf-8")


if __name__ == "__main__":
    os.environ["THREAD_PICTURE"] = str(Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        # A process of its own: in this one the project is imported already, and pytest warns of that.
        options = ["-q", "-p", "no:cacheprovider", "--basetemp", f"{folder}/test"]
        sys.exit(subprocess.run([sys.executable, "-m", "pytest", *options, __file__], check=False).returncode)
