"""Any value that `init` puts into a workflow reads back as itself, and starts no expression of GitHub."""

from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from perf_culprit.init.filled_template import ESCAPED, EXPRESSION_START
from perf_culprit.init.workflow_check import OURS
from perf_culprit.init.workflow_files import Choice, new_files

CHECKOUT: Final = "actions/checkout"
UPLOAD: Final = "actions/upload-artifact"
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | st.text("${} \n\t:#-'\"!&*@|>%a", max_size=12)
STEPS = st.lists(st.fixed_dictionaries({"uses": TEXTS, "with": st.dictionaries(TEXTS, TEXTS, max_size=2)}), max_size=2)


def escaped(value: Any) -> Any:
    if isinstance(value, dict):
        return {escaped(key): escaped(inner) for key, inner in value.items()}
    return [escaped(one) for one in value] if isinstance(value, list) else value.replace(EXPRESSION_START, ESCAPED)


@pytest.mark.parametrize("split", [False, True])
@given(run=TEXTS, build=TEXTS.filter(bool), steps=STEPS, setup=TEXTS)
@example(run="$${{ x }}{{ secrets.K }}", build="!put setup", steps=[], setup="@RUN@\n@SETUP@")
@example(run="\n  a: b\n\njobs:\n", build=" x\n y", steps=[{"uses": "a", "with": {"\n": "# c"}}], setup="\x85\u2028\t")
def test_values_are_put_in_as_they_are(
    run: str, build: str, steps: list[dict[str, Any]], setup: str, *, split: bool
) -> None:
    services = {"db": {"image": setup}}
    choice = Choice(run=run, setup=setup, build=build, steps=tuple(steps), services=services, split=split)
    files = {Path(name).stem: yaml.safe_load(text) for name, text in new_files(choice).items()}
    (job,) = [one for name, one in files["perf"]["jobs"].items() if name not in ("report", "command")]
    assert job["services"] == escaped(services)
    # Our own expressions: the head of a pull request, or that a failed measurement is reported.
    assert str(job).replace(ESCAPED, "").count(EXPRESSION_START) == 1
    if split:
        assert job["steps"][1 : 1 + len(steps)] == escaped(steps)
        assert files["perf-culprit"]["bisect"] == {"run": run, "build": build}
        assert files["perf-bisect"]["jobs"]["bisect"]["with"]["setup"] == escaped(setup)
    else:
        first, *_, ours, last = [step["uses"].partition("@")[0] for step in job["steps"] if "uses" in step]
        assert (first, ours, last) == (CHECKOUT, OURS, UPLOAD)
