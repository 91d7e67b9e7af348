"""200 generated repositories: what `affected` leaves out does not change whether the benchmark runs.

`python -m benchmarks.affected.generated` prints each decision, and counts them.
"""

import shutil
from pathlib import Path

import pytest

from tests.support.reach_cases import MAKERS, generated, judged

EACH = 50


@pytest.mark.slow  # compilers
@pytest.mark.parametrize("number", range(EACH))
@pytest.mark.parametrize("language", MAKERS)
def test_what_breaks_the_benchmark_is_measured(tmp_path: Path, language: str, number: int) -> None:
    tool = "python3" if language == "python" else language
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    truth = judged(generated(language, number), tmp_path)
    assert truth.is_valid
    assert not truth.is_missed
