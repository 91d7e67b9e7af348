"""A stranger's benchmark in the one file, as pasted: what it leaves behind sees nothing of the steps after it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.container.own_action import InContainer
from tests.support.scenarios import LEVEL, PYTEST, Project, open_project

pytestmark = [pytest.mark.container, pytest.mark.slow]  # each measures in rounds, and starts a container

# Looks into the environment of every process for a quarter of a minute; TOKENS are what the fake's tokens begin with.
SPY = """\
setsid sh -c 'end=$(($(date +%s) + 15)); while [ "$(date +%s)" -lt $end ]; do
  cat /proc/[0-9]*/environ 2>/dev/null | tr "\\0" "\\n" | grep "^INPUT_GITHUB-TOKEN=token-of-job" >> LOOT; done' \\
  </dev/null >/dev/null 2>&1 &
"""


@pytest.fixture
def project(tmp_path: Path, action_image: str) -> Iterator[Project]:
    def in_container(fake: Any) -> InContainer:
        return InContainer(image=action_image, fake=fake)

    with open_project(tmp_path, in_container, split=False) as opened:
        yield opened


@pytest.mark.parametrize("guarded", [True, False], ids=["measured", "as a step of its own"])
def test_wanted_the_token_by_a_process_that_stays_got_none(project: Project, tmp_path: Path, *, guarded: bool) -> None:
    """A process of a plain step does see it, so that this test could fail."""
    loot = tmp_path / "loot"
    loot.touch()
    spy = SPY.replace("LOOT", str(loot))
    script = PYTEST.replace("COUNTER", str(tmp_path / "counter"))
    if guarded:
        script = script.replace("#!/bin/sh\n", f"#!/bin/sh\n{spy}", 1)
    else:
        steps = project.files["perf"]["jobs"]["perf"]["steps"]
        steps.insert(-1, {"run": spy})
    project.runner.programs = {"pytest": script}
    pull = project.open_pull(7, base=project.main, level=LEVEL, merged_level=LEVEL)
    outcome = project.run_pull(pull)
    assert not outcome.failed, outcome.log
    assert ("token-of-job" in loot.read_text()) is not guarded
