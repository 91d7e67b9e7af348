"""Impossible times of measurements: they neither crash nor give a run that is stored under an unusable name."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from perf_culprit.cli.entry import main
from perf_culprit.errors import DataError
from perf_culprit.model.run import in_utc
from perf_culprit.model.run_file import decode_run
from perf_culprit.read.results.parsed import epoch_time, utc_time

FAR = (
    "9999-12-31T23:30:00-01:00",
    "9999-01-01T00:00:00Z",
    "0001-01-01T00:10:00+05:00",
    "0001-01-01T10:10:00Z",
    "0999-12-31T23:30:00",
)
RUN = '{{"format":"perf-culprit-run","version":1,"time":"{}","benchmarks":[{{"name":"a","unit":"s","samples":[1,2]}}]}}'


@pytest.mark.parametrize("time", FAR)
def test_a_time_that_no_clock_showed_is_refused_in_a_run_and_unknown_elsewhere(
    time: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(DataError, match="between 1970 and 9998"):
        decode_run(RUN.format(time).encode(), place="x.json")
    assert utc_time(time) is None
    file = tmp_path / "run.json"
    file.write_text(RUN.format(time))
    assert main(["collect", str(file)]) == 3
    assert "run.json: time" in capsys.readouterr().err


@pytest.mark.parametrize("seconds", [-62_135_596_800, 253_402_300_799, 1e300, -1e300])
def test_seconds_that_no_clock_counted_are_no_time(seconds: float) -> None:
    assert epoch_time(seconds) is None


def test_the_first_second_and_a_naive_time_are_times() -> None:
    assert epoch_time(0) == datetime(1970, 1, 1, tzinfo=UTC)
    assert in_utc(datetime(2026, 1, 2)) == datetime(2026, 1, 2, tzinfo=UTC)  # noqa: DTZ001  # it is the subject
