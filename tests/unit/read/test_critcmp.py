import json

import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.run import Summary
from perf_culprit.read.results.result_formats import READERS
from perf_culprit.read.results.source import Source
from tests.support.goldens import golden


def test_the_golden_export() -> None:
    parsed = READERS["critcmp"].read(Source("export.json", golden("critcmp/export.json")))
    assert [b.name for b in parsed.benchmarks] == [
        "a name longer than the column",
        "nothing",
        "sum to 1000",
        "sums/xor/100",
        "sums/xor/200000",
    ]
    assert parsed.benchmarks[2].summary == Summary(
        value=736.7900501916547,
        statistic="mean",
        standard_deviation=213.51741012642293,
        confidence_interval=(631.6264430138684, 877.4553702435624),
        confidence_level=0.95,
    )
    assert {(b.metric.name, b.metric.unit) for b in parsed.benchmarks} == {("time", "ns")}


def test_an_entry_without_a_mean_is_refused_with_its_place() -> None:
    root = json.loads(golden("critcmp/export.json"))
    del root["benchmarks"]["nothing"]["criterion_estimates_v1"]["mean"]
    with pytest.raises(DataError, match=r"export\.json: benchmarks\.nothing\.criterion_estimates_v1: has no `mean`"):
        READERS["critcmp"].read(Source("export.json", json.dumps(root).encode()))
