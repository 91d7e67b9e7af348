"""A comparison of call trees goes through JSON unchanged, alone and inside a report."""

import json

import jsonschema
import numpy as np
import pytest
from msgspec.structs import replace

from perf_culprit.errors import DataError
from perf_culprit.explain.compare_trees import compare_profiles
from perf_culprit.flows.published_schemas import schema_text
from perf_culprit.model.call_tree import ChangeKind, Touched, TouchedFunction
from perf_culprit.model.report import (
    TreeComparison,
    decode_report,
    decode_tree_comparison,
    encode_report,
    encode_tree_comparison,
)
from tests.support.compared_trees import Tree
from tests.support.reports import every_conclusion


def comparison() -> TreeComparison:
    rng = np.random.default_rng(1)
    own = {"parse": 1.0, "parse>scan": 4.0, "parse>old": 1.0}
    after = {"parse": 1.0, "parse>scan": 8.0, "parse>\ud800new": 3.0}
    function = TouchedFunction(
        path="src/p.py", qualified_name="scan", kind=ChangeKind.CHANGED, first_line=3, last_line=9
    )
    return compare_profiles(
        [Tree(own=own).profile(rng)],
        [Tree(own=after).profile(rng)],
        touched=Touched(base="a" * 40, head="b" * 40, functions=(function,)),
    )


def test_round_trip_and_schema() -> None:
    data = encode_tree_comparison(comparison())
    again = decode_tree_comparison(data, place="here")
    assert decode_tree_comparison(encode_tree_comparison(again), place="here") == again
    assert again.services[0].nodes[1] == comparison().services[0].nodes[1]
    assert {one.method for one in again.suspects} >= {"parse", "?new"}
    jsonschema.Draft202012Validator(json.loads(schema_text("tree-comparison-v1"))).validate(json.loads(data))


def test_a_report_carries_it() -> None:
    diagnosis = decode_tree_comparison(encode_tree_comparison(comparison()), place="here")
    report = replace(every_conclusion()["regression-fails"], diagnosis=diagnosis)
    data = encode_report(report)
    assert decode_report(data, place="report.json") == report
    jsonschema.Draft202012Validator(json.loads(schema_text("report-v2"))).validate(json.loads(data))


def test_a_tree_that_is_none_is_refused() -> None:
    document = json.loads(encode_tree_comparison(comparison()))
    document["services"][0]["nodes"][0]["parent"] = 0
    with pytest.raises(DataError, match=r"nodes\.0\.parent"):
        decode_tree_comparison(json.dumps(document).encode(), place="here")
