import xml.etree.ElementTree as ET

import pytest

from perf_culprit.model.series import ReleaseStanding
from perf_culprit.say.dashboard import badge


@pytest.mark.parametrize(
    ("standing", "text"),
    [
        (ReleaseStanding(release="v1.4", judged=3), "performance: no regression since v1.4"),
        (ReleaseStanding(release="v1.4", judged=3, worst=0.12), "performance: at worst +12.0% since v1.4"),
        (ReleaseStanding(release=None, judged=3, worst=-0.25), "performance: at worst \u221225.0% in 30 runs"),
        (ReleaseStanding(release="v1.4", judged=0), "performance: too few runs"),
        (ReleaseStanding(release='"><script>', judged=3), 'performance: no regression since "><script>'),
    ],
)
def test_a_badge_says_it_in_its_title_and_its_label(standing: ReleaseStanding, text: str) -> None:
    root = ET.fromstring(badge(standing))  # noqa: S314 - our own
    assert root.attrib["aria-label"] == text
    assert root[0].text == text
    assert "".join(root.itertext()).replace("\n", "").removeprefix(text) == text.replace(": ", "")
