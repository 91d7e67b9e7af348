"""Every YAML block of the documentation is valid, has minimal permissions, and uses existing inputs."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from perf_culprit import __version__
from perf_culprit.config.reader import parse_config
from perf_culprit.simulate.design_file import parse_design
from tests.support.recipes import BACKFILL, BLOCKS, ONE_FILE, PROJECT, SPLIT, WORKFLOWS, Block, workflows
from tests.support.tools import audited, tool

ACTION = yaml.safe_load((PROJECT / "action.yml").read_text(encoding="utf-8"))
OURS = "perf-culprit/perf-culprit@"


def block_id(block: Block) -> str:
    return block.id


REUSABLE = PROJECT / ".github" / "workflows"


def steps(node: Any) -> Iterator[dict[str, Any]]:
    """Yield all steps that use our action."""
    if isinstance(node, dict):
        if str(node.get("uses", "")).startswith(OURS):
            yield node
        node = list(node.values())
    for value in node if isinstance(node, list) else ():
        yield from steps(value)


def test_there_are_two_forms_and_those_of_dashboard_backfill_machines_and_parts() -> None:
    assert [(block.document, block.file) for block in WORKFLOWS] == [
        ("docs/dashboard.md", "perf-dashboard.yml"),
        (ONE_FILE, "perf.yml"),
        (BACKFILL, "perf-backfill.yml"),
        ("docs/how-to/noisy-machine.md", "perf-qualify.yml"),
        ("docs/how-to/spread-a-suite.md", "perf.yml"),
        *((SPLIT, f"{name}.yml") for name in ("perf", "perf-report", "perf-command", "perf-bisect")),
    ]
    for block in BLOCKS:
        assert ("jobs" in block.value) == bool(block.file), f"a workflow without a file name: {block.id}"


def of_the_schema(*paths: Path) -> "subprocess.CompletedProcess[str]":
    command = [tool("check-jsonschema"), "--builtin-schema", "vendor.github-workflows", *map(str, paths)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_linters_find_nothing(tmp_path: Path) -> None:
    """The linters do report a workflow with an unknown key and a workflow with unpinned actions."""
    folder = tmp_path / ".github" / "workflows"
    folder.mkdir(parents=True)
    for number, block in enumerate(WORKFLOWS):
        (folder / f"{number}-{block.file}").write_text(block.text, encoding="utf-8")
    for checked in (of_the_schema(*folder.iterdir()), audited(tmp_path)):
        assert checked.returncode == 0, checked.stdout + checked.stderr
    wrong, loose = tmp_path / "wrong.yml", folder / "loose.yml"
    wrong.write_text(WORKFLOWS[0].text.replace("runs-on:", "run-on:"))
    assert "run-on" in of_the_schema(wrong).stdout
    loose.write_text(re.sub("@[0-9a-f]{40}", "@main", WORKFLOWS[0].text))
    assert "loose.yml" in audited(tmp_path).stdout


def test_actionlint_finds_nothing(tmp_path: Path) -> None:
    """.github/actionlint.yaml lists exceptions: features that actionlint's newest version does not know yet."""
    if (actionlint := shutil.which("actionlint")) is None:
        pytest.skip("actionlint is not installed (noxfile.py does where there is go)")
    (ignored,) = yaml.safe_load((PROJECT / ".github" / "actionlint.yaml").read_text(encoding="utf-8"))["paths"].values()
    options = [word for pattern in ignored["ignore"] for word in ("-ignore", pattern)]
    for number, block in enumerate(WORKFLOWS):
        (tmp_path / f"{number}.yml").write_text(block.text, encoding="utf-8")
    command = [actionlint, "-no-color", "-pyflakes=", *options, *(path.name for path in tmp_path.iterdir())]
    checked = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout
    (tmp_path / "wrong.yml").write_text(WORKFLOWS[0].text.replace("runs-on:", "run-on:"), encoding="utf-8")
    wrong = subprocess.run([*command, "wrong.yml"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert "run-on" in wrong.stdout


def test_steps_fit_into_the_one_file(tmp_path: Path) -> None:
    for number, block in enumerate(block for block in BLOCKS if block.is_steps):
        whole = workflows(ONE_FILE)["perf"]
        whole["jobs"]["measure"]["steps"][-2:] = block.value
        path = tmp_path / f"{number}-{Path(block.document).stem}.yml"
        # YAML 1.1 reads the key `on` as true.
        path.write_text(yaml.safe_dump({"on": whole.pop(True), **whole}, sort_keys=False))
    checked = of_the_schema(*tmp_path.iterdir())
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("block", BLOCKS, ids=block_id)
def test_every_input_exists_and_every_action_is_pinned(block: Block) -> None:
    for step in steps(block.value):
        assert set(step.get("with", {})) <= set(ACTION["inputs"])
    for uses in re.findall(r"uses: (\S+)", block.text):
        assert re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}", uses), uses
    for called, inputs in re.findall(
        r"uses: perf-culprit/perf-culprit/\.github/workflows/([\w-]+\.yml)@.*\n(?: +with:\n((?: {6}.*\n)*))?",
        block.text,
    ):
        declared = yaml.safe_load((REUSABLE / called).read_text(encoding="utf-8"))[True]["workflow_call"]["inputs"]
        assert set(yaml.safe_load(inputs) or {}) <= set(declared)


@pytest.mark.parametrize(
    "block", [block for block in BLOCKS if not (block.file or block.is_steps or block.is_environment)], ids=block_id
)
def test_what_is_no_workflow_is_a_configuration_or_a_model(block: Block) -> None:
    if block.is_design:
        parse_design(block.text.encode(), {}, place=block.id)
    else:
        parse_config(block.text.encode(), place=block.id)


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.is_environment], ids=block_id)
def test_an_environment_is_of_texts(block: Block) -> None:
    (values,) = block.value.values()
    assert all(isinstance(value, str) for value in values.values())


def test_the_named_version_is_this_one() -> None:
    named = re.findall(r"perf-culprit==(\S+)", "".join(block.text for block in BLOCKS))
    assert named
    assert set(named) == {__version__}


def test_every_output_of_the_action_is_written() -> None:
    from perf_culprit.say.report_parts import outputs
    from tests.support.reports import every_conclusion

    written = set(outputs(next(iter(every_conclusion().values()))))
    assert set(ACTION["outputs"]) == written | {"report-path", "html-path", "comment-url", "flagged"}
