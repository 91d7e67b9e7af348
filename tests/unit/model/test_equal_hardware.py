"""Whether two runs were made on the same hardware."""

import pytest

from perf_culprit.model.run import Environment


@pytest.mark.parametrize(
    ("ours", "theirs", "names"),
    [
        ({"os": "Linux", "architecture": "x86_64"}, {"os": "linux", "architecture": "amd64"}, ()),
        ({"architecture": "arm64"}, {"architecture": "aarch64"}, ()),
        ({"architecture": "x86_64"}, {"architecture": "arm64"}, ("architecture",)),
        ({"cpu": "AMD EPYC 7763"}, {"cpu": "AMD EPYC 9V74"}, ("cpu",)),
        ({"cpu": "AMD EPYC 7763"}, {}, ()),
    ],
)
def test_the_spelling_of_a_tool_is_no_other_hardware(
    ours: dict[str, str], theirs: dict[str, str], names: tuple[str, ...]
) -> None:
    assert Environment(components=ours).differences(Environment(components=theirs)) == names
