"""The tutorial, as pasted: its files and commands, in their order, on this machine."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.support.recipes import PROJECT

TUTORIAL: Final = PROJECT / "docs" / "first-regression.md"
# A file's name and its content, or a line of a shell.
PIECE: Final = re.compile(r"`(\w+\.py)`[^`]*(?:`[^`\n]+`[^`]*)?\n\n```python\n((?s:.*?))```|^ {4}(\S.*)$", re.MULTILINE)


@pytest.mark.slow  # measures and searches
def test_the_tutorial_finds_its_slow_commit(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        **{f"GIT_{who}_{what}": "a@b.c" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    folder, outputs = tmp_path, {}
    for name, content, command in PIECE.findall(TUTORIAL.read_text(encoding="utf-8")):
        if name:
            (folder / name).write_text(content, encoding="utf-8")
        elif command.startswith("cd "):
            folder /= command.removeprefix("cd ")
        elif not command.startswith("pip "):
            ended = subprocess.run(
                ["sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
            )
            assert ended.returncode in {0, 1} if "perf-culprit" in command else ended.returncode == 0, ended.stderr
            outputs[command] = ended.stdout
    answers = {command.split()[1]: text for command, text in outputs.items() if command.startswith("perf-culprit ")}
    assert set(answers) == {"measure", "compare", "bisect", "init"}
    assert "result" in answers["compare"]
    assert (folder / "report.html").exists()
    # A machine that is busy enough hides even this; it never makes another commit the culprit.
    assert '"Give a discount for more than ten"' in answers["bisect"] or "introduced" not in answers["bisect"]
    assert (folder / ".github" / "workflows" / "perf.yml").exists()
