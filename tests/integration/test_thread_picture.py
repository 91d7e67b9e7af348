"""The documented command that shows a whole conversation as a page."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.served import served_program

PROJECT = Path(__file__).parents[2]


@pytest.mark.slow  # plays the conversation with all its dispatches
def test_the_thread_of_a_conversation_becomes_a_page(tmp_path: Path) -> None:
    out = tmp_path / "thread.html"
    served_program()  # once for this process and that
    subprocess.run([sys.executable, "-m", "tests.support.thread_picture", str(out)], cwd=PROJECT, check=True)
    page = out.read_text()
    assert page.count("<article>") >= 8
    assert "/perf-bisect" in page
