import re
from pathlib import Path

from bot.diagnose.profiles import PROFILE_READERS

PAGE = (Path(__file__).parents[4] / "docs" / "profiles.md").read_text(encoding="utf-8")


def test_every_reader_is_documented_under_its_id() -> None:
    anchors = set(re.findall(r'<a id="([a-z0-9_]+)"></a>', PAGE))
    assert anchors == PROFILE_READERS.keys()
