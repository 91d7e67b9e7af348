import re
from pathlib import Path

from bot.diagnose.profiles import PROFILE_READERS

PAGE = (Path(__file__).parents[4] / "docs" / "profiles.md").read_text(encoding="utf-8")


def test_every_reader_is_registered_under_its_id_described_and_documented() -> None:
    assert [reader.ID for reader in PROFILE_READERS.values()] == list(PROFILE_READERS)
    assert all(reader.DESCRIPTION and not reader.DESCRIPTION.endswith(".") for reader in PROFILE_READERS.values())
    anchors = set(re.findall(r'<a id="([a-z0-9_]+)"></a>', PAGE))
    assert anchors == {reader.DOCS for reader in PROFILE_READERS.values()}
