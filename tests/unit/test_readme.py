"""The workflows that the README tells people to paste are valid, least in rights, and use inputs that exist."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

PROJECT = Path(__file__).parents[2]
README = (PROJECT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
WORKFLOWS = [block for block in BLOCKS if block.startswith("name:")]
OURS = "perf-culprit/perf-culprit@"
# A release's hash is not known before the release: the README says to pin it.
EXPECTED_FINDINGS = {"unpinned-uses"}


def tool(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


def test_there_are_the_two_workflows() -> None:
    assert [yaml.safe_load(block)["name"] for block in WORKFLOWS] == ["perf", "perf-report"]


@pytest.mark.parametrize("text", WORKFLOWS, ids=["perf", "perf-report"])
def test_workflow_is_valid_and_without_security_findings(text: str, tmp_path: Path) -> None:
    path = tmp_path / ".github" / "workflows" / "pasted.yml"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    checked = subprocess.run(
        [tool("check-jsonschema"), "--builtin-schema", "vendor.github-workflows", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    audited = subprocess.run(
        [tool("zizmor"), "--offline", "--no-progress", "--format", "json", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert {finding["ident"] for finding in json.loads(audited.stdout)} <= EXPECTED_FINDINGS


def steps(node: Any) -> list[dict[str, Any]]:
    if isinstance(node, dict):
        own = [node] if str(node.get("uses", "")).startswith(OURS) else []
        return own + [step for value in node.values() for step in steps(value)]
    return [step for value in node for step in steps(value)] if isinstance(node, list) else []


def test_every_input_that_the_readme_uses_exists() -> None:
    known = set(yaml.safe_load((PROJECT / "action.yml").read_text(encoding="utf-8"))["inputs"])
    used = [step for block in BLOCKS for step in steps(yaml.safe_load(block))]
    assert len(used) == 3
    for step in used:
        assert set(step.get("with", {})) <= known


def test_every_output_of_the_action_is_written() -> None:
    from bot.pipeline import report_outputs
    from tests.support.reports import every_conclusion

    declared = set(yaml.safe_load((PROJECT / "action.yml").read_text(encoding="utf-8"))["outputs"])
    written = set(report_outputs(next(iter(every_conclusion().values()))))
    assert declared == written | {"report-path", "comment-url", "flagged"}
