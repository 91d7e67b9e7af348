"""Every result file of a foreign collection is read rightly, or refused with its reason, as the documentation says."""

import os
from pathlib import Path

from tests.support.foreign_results import KEPT, PAGE, outcomes, row

ZOO = os.environ.get("BENCHZOO")  # tests/data of a clone of nyrkio/benchzoo, for all of its files


def test_files_of_benchzoo_are_read_rightly_or_refused() -> None:
    every = outcomes(Path(ZOO) if ZOO else KEPT)
    assert {each.file: each.faults for each in every if each.faults} == {}
    assert all(each.reason or each.metrics for each in every)
    documented = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    assert len(documented) == 91
    assert set(map(row, every)) <= set(documented)
    assert len(every) == 91 if ZOO else 84
    assert not [line for line in documented if "no known format" in line]
