from pathlib import Path

import pytest

from bot.errors import UsageError
from bot.measure.log import Log


def test_a_log_starts_anew_or_goes_on(tmp_path: Path) -> None:
    for text, keep in (("first", False), ("second", False), ("third", True)):
        with Log(tmp_path / "log.txt", keep=keep) as log:
            log.remark(text)
    assert (tmp_path / "log.txt").read_text() == "=== second\n=== third\n"


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be written"):
        Log(tmp_path / "file" / "log.txt")
