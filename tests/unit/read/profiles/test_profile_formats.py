import re
import time
from pathlib import Path

import pytest

from perf_culprit.errors import DataError
from perf_culprit.read.profiles.profile_formats import PROFILE_READERS
from perf_culprit.read.profiles.profile_reading import read_profiles

PAGE = (Path(__file__).parents[4] / "docs" / "profiles.md").read_text(encoding="utf-8")


SIZE, LIMIT_SECONDS = 1_000_000, 2.0  # a quadratic pattern takes 5 s


def test_every_reader_is_documented_under_its_id() -> None:
    anchors = set(re.findall(r'<a id="([a-z0-9_]+)"></a>', PAGE))
    assert anchors == PROFILE_READERS.keys()


@pytest.mark.parametrize("piece", [" ", "\t", "1 ", "a ", "a;", "(", "x 1 1.0: ", " ab c (d"])
def test_hostile_text_is_refused_in_linear_time(tmp_path: Path, piece: str) -> None:
    path = tmp_path / "hostile"
    path.write_text("[" + piece * (SIZE // len(piece)), encoding="utf-8")
    start = time.process_time()
    with pytest.raises(DataError):
        read_profiles([str(path)])
    assert time.process_time() - start < LIMIT_SECONDS
