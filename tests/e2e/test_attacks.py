"""A stranger's benchmark in the one file, as pasted: its remaining processes see nothing of the later steps."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.container.own_action import InContainer
from tests.support.scenarios import LEVEL, PYTEST, Project, open_project

pytestmark = pytest.mark.slow  # each measures in rounds, and starts a container

# Looks into the environment of every process until it finds the token. A container needs its time on a busy machine.
# Not in shell: the action's is readable for the tenth of a second in which its Python starts.
SPY = f"""\
setsid {sys.executable} -I -S -c '
import os, time
end = time.monotonic() + 120
while time.monotonic() < end and not os.path.getsize("LOOT"):
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/" + number + "/environ", "rb") as file:
                lines = file.read().split(bytes(1))
        except OSError:
            continue
        with open("LOOT", "ab") as loot:
            loot.writelines(line for line in lines if line.startswith(b"INPUT_GITHUB-TOKEN=token-of-job"))
' </dev/null >/dev/null 2>&1 &
"""


@pytest.fixture
def project(tmp_path: Path, action_image: str) -> Iterator[Project]:
    def in_container(fake: Any) -> InContainer:
        return InContainer(image=action_image, fake=fake)

    with open_project(tmp_path, in_container, split=False) as opened:
        yield opened


@pytest.mark.parametrize("guarded", [True, False], ids=["measured", "as a step of its own"])
def test_wanted_the_token_by_a_process_that_stays_got_none(project: Project, tmp_path: Path, *, guarded: bool) -> None:
    """A process of a plain step does see the token, which shows that this test can fail."""
    loot = tmp_path / "loot"
    loot.touch()
    spy = SPY.replace("LOOT", str(loot))
    script = PYTEST.replace("COUNTER", str(tmp_path / "counter"))
    if guarded:
        script = script.replace("#!/bin/sh\n", f"#!/bin/sh\n{spy}", 1)
    else:
        steps = project.files["perf"]["jobs"]["measure"]["steps"]
        steps.insert(-2, {"run": spy})
    project.runner.programs = {"pytest": script}
    pull = project.open_pull(7, base=project.main, level=LEVEL, merged_level=LEVEL)
    outcome = project.run_pull(pull)
    assert not outcome.failed, outcome.log
    assert ("token-of-job" in loot.read_text()) is not guarded
