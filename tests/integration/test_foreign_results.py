"""Every result file of a foreign collection is read rightly or refused with its reason."""

import os
from pathlib import Path

import pytest

from tests.support.foreign_results import LEAST_READ, outcome

ZOO = os.environ.get("BENCHZOO", "")


@pytest.mark.skipif(not ZOO, reason="needs tests/data of a clone of nyrkio/benchzoo, named by BENCHZOO")
def test_files_of_benchzoo_are_read_rightly_or_refused() -> None:
    outcomes = [outcome(path, Path(ZOO)) for path in sorted(Path(ZOO).rglob("*")) if path.is_file()]
    assert {each.file: each.faults for each in outcomes if each.faults} == {}
    assert sum(not each.reason for each in outcomes) >= LEAST_READ
    assert all(each.reason or each.metrics for each in outcomes)
