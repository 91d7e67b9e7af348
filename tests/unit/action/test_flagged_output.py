"""The output `flagged` is a list of names that strangers choose, and workflows paste it into commands."""

import json

import pytest

from perf_culprit.action.job import flagged_json
from perf_culprit.model.finding import Verdict
from perf_culprit.model.report import Conclusion
from tests.support.reports import finding, report


@pytest.mark.parametrize("name", ["b0", "a b/c[1]", "$(id) `id` \"x\" 'y' ${{ z }}\n::set-output", "größer 🙂"])
def test_the_output_is_json_and_no_command_where_it_is_pasted(name: str) -> None:
    text = flagged_json([report(Conclusion.REGRESSION, finding(name, 1.0, 2.0, verdict=Verdict.REGRESSION))])
    assert json.loads(text) == [name]
    assert not set(text[2:-2]) & set("$`\"'{}\n;&|<>()#")
