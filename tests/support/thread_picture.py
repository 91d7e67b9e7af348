"""The thread of a whole conversation as a page: `python -m tests.support.thread_picture OUT.html`.

A push makes the pull request slower. Then follow the report, the command, a stranger's command, the progress and the
answer. The bot wrote the comments to the fake; GitHub's own Markdown parser renders them.

`--pictures` also makes the README's pictures, with chromium. `docs/comment.png` (and -dark) and `docs/report.png` show
comment and page of `perf-culprit demo`, measured on this machine. `docs/answer.png` is the thread's last answer.
"""

import argparse
import html
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options

from tests.support.chromium import open_page
from tests.support.conversation import MOST_DISPATCHES, Conversation, open_conversation
from tests.support.fake_github.server import FakeGitHub
from tests.support.fake_github.state import Comment
from tests.support.job import Runner
from tests.support.workflows.runner import InThisProcess

DOCS: Final = Path(__file__).parents[2] / "docs"
WIDTH: Final = 920
STYLE = """
:root{--text:#1f2328;--muted:#59636e;--page:#fff;--line:#d1d9e0;--stripe:#f6f8fa;--link:#0969da}
@media(prefers-color-scheme:dark){
:root{--text:#f0f6fc;--muted:#9198a1;--page:#0d1117;--line:#3d444d;--stripe:#151b23;--link:#4493f8}
}
body{font:14px/1.5 -apple-system,"Segoe UI",Helvetica,Arial,sans-serif;color:var(--text);background:var(--page)}
body{margin:24px}
article{max-width:860px;margin:0 0 16px;border:1px solid var(--line);border-radius:6px}
header{background:var(--stripe);border-bottom:1px solid var(--line);border-radius:6px 6px 0 0;padding:8px 16px}
header i{color:var(--muted);font-style:normal}
section{padding:12px 16px}
code{font:85% ui-monospace,Menlo,monospace;background:#818b981f;padding:.2em .4em;border-radius:6px}
pre{background:var(--stripe);padding:16px;border-radius:6px;overflow:auto}
pre code{background:none;padding:0}
table{border-collapse:collapse;display:block;width:max-content;max-width:100%;overflow:auto}
td,th{border:1px solid var(--line);padding:6px 13px}
tr:nth-child(2n){background:var(--stripe)}
h3{margin:0 0 12px;font-size:1.25em}
a{color:var(--link)}
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


def take_picture(file: Path, png: Path, *, scheme: str = "light") -> None:
    with open_page() as browser:
        browser.open(file, width=WIDTH, scheme=scheme)
        browser.picture(png)


def take_pictures_of_demo(folder: Path) -> None:
    demo = [sys.executable, "-m", "perf_culprit", "demo", "--directory", str(folder / "demo")]
    subprocess.run(demo, check=True, capture_output=True)
    body = (folder / "demo" / "comment.md").read_text(encoding="utf-8")
    shown = Shown(author="github-actions[bot]", body=body, note="commented")
    comment = written(folder / "comment.html", [shown])
    take_picture(comment, DOCS / "comment.png")
    take_picture(comment, DOCS / "comment-dark.png", scheme="dark")
    take_picture(folder / "demo" / "report.html", DOCS / "report.png")


def keep_page(name: str, comments: Iterable[Comment]) -> None:
    """Write a test's conversation as a page of this name next to the file THREAD_PICTURE, if that is set."""
    if page := os.environ.get("THREAD_PICTURE"):
        shown = [as_shown(one, "hidden as outdated" if one.minimized else "commented") for one in comments]
        written(Path(page).with_name(name), shown)


def written(file: Path, thread: Sequence[Shown]) -> Path:
    file.write_text(page(thread), encoding="utf-8")
    return file


def as_shown(comment: Comment, note: str) -> Shown:
    return Shown(author=comment.author, body=comment.body, note=note, eyes=bool(comment.reactions))


def talk(conversation: Conversation) -> list[Shown]:
    """Return the comments in order; the edited answer appears in its first, a middle and its last state."""
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
    """Write the thread's page. The command line above runs this and sets the page's path."""

    def in_this_process(fake: FakeGitHub) -> InThisProcess:
        return InThisProcess(
            Runner(fake=fake, workspace=tmp_path, temp=tmp_path / "action", monkeypatch=monkeypatch, capture=capsys)
        )

    with open_conversation(tmp_path, in_this_process) as conversation:
        conversation.fake.state.roles["mallory"] = "read"
        thread = talk(conversation)
    written(Path(os.environ["THREAD_PICTURE"]), thread)
    if os.environ.get("PICTURES"):
        # The benchmark's command names a file in a folder of this test.
        answer = replace(thread[-1], body=thread[-1].body.replace(str(tmp_path), "$RUNNER_TEMP"), note="answered")
        take_picture(written(tmp_path / "answer.html", [answer]), DOCS / "answer.png")
        take_pictures_of_demo(tmp_path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="the thread of a whole conversation as a page")
    parser.add_argument("out", type=Path, metavar="OUT.html")
    parser.add_argument("--pictures", action="store_true", help="also the README's, in docs")
    arguments = parser.parse_args()
    os.environ |= {"THREAD_PICTURE": str(arguments.out.resolve()), "PICTURES": "1" if arguments.pictures else ""}
    with tempfile.TemporaryDirectory() as folder:
        # Use a separate process: this one has already imported the project, about which pytest warns.
        options = ["-q", "-p", "no:cacheprovider", "--basetemp", f"{folder}/test"]
        sys.exit(subprocess.run([sys.executable, "-m", "pytest", *options, __file__], check=False).returncode)
