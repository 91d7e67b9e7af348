"""Flame graphs of the difference: deep trees, removed paths, hostile names."""

import base64
import hashlib
import json
import re

from msgspec.structs import replace

from perf_culprit.explain.compare_trees import compare_profiles
from perf_culprit.model.call_tree import Profile
from perf_culprit.model.run import MetricKey
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.say.call_tree_pictures import collapsed_difference, flame_section
from perf_culprit.say.report_page import flame_page, render_html
from tests.support.compared_trees import sampled
from tests.support.diagnosed_reports import diagnosis, with_suspects
from tests.support.reports import every_conclusion

HOSTILE = "</script><img src=x onerror=alert(1)>\u202e"


def named(profile: Profile, name: str) -> Profile:
    return replace(profile, service=name, nodes=tuple(replace(node, method=name) for node in profile.nodes))


def test_a_deep_tree_is_written_whole() -> None:
    path, counts = "a", {"a": 1}
    for _ in range(3_000):
        path += ">a"
        counts[path] = 1
    section = flame_section(compare_profiles([sampled(counts)], [sampled(counts)]))
    assert section.count('["a",') == 3_001


def test_gone_paths_keep_their_place_and_names_stay_frames() -> None:
    result = compare_profiles([sampled({"m": 10, "m>old; \n1": 30})], [sampled({"m": 40, 'm>new"': 60})])
    data = re.search(r'class="flame-data">(.*?)</script>', flame_section(result), re.DOTALL)
    assert data is not None
    assert json.loads(data[1]) == {
        "unit": "share",
        "nodes": [
            ["app", -1, 1.0, 1.0, 0, 0, 0],
            ["m", 0, 1.0, 1.0, 0.25, 0.4, 0],
            ['new"', 1, 0.0, 0.6, 0.0, 0.6, 2],
            ["old;  1", 1, 0.75, 0.0, 0.75, 0.0, 0],
        ],
        "suspects": ['new"'],
    }
    assert collapsed_difference(result).decode().splitlines() == [
        "app;m 250000 400000",
        'app;m;new" 0 600000',
        "app;m;old_ _1 750000 0",
    ]


def test_services_lie_below_one_root() -> None:
    profiles = [replace(sampled({"m": 10}), service=name) for name in ("one", "two")]
    section = flame_section(compare_profiles(profiles, profiles))
    assert '["all services",-1,2.0,2.0,0,0,0],["one",0,' in section
    assert '["two",0,' in section


def test_only_our_script_runs_whatever_methods_are_called() -> None:
    sides = [named(sampled({"m": 10, "m>x": count}), HOSTILE) for count in (30, 90)]
    result = compare_profiles(sides[:1], sides[1:])
    report = every_conclusion()["regression-fails"]
    finding = report.findings[0]
    key = MetricKey(HOSTILE, "time")
    report = replace(
        report, findings=(replace(finding, benchmark=key.benchmark, metric_name=key.metric),), diagnosis=result
    )
    for page, count in ((flame_page(result), 1), (render_html(report), 2)):
        scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
        digests = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in scripts]
        assert len(scripts) == count
        assert "script-src " + " ".join(f"'sha256-{digest}'" for digest in digests) in page
        assert page.count("</script>") == 2 * count
        assert "<img" not in page
        assert "\u202e" not in page
        assert "mermaid" not in page


def test_more_suspects_than_the_list_shows_are_counted() -> None:
    section = flame_section(with_suspects(diagnosis(), 20))
    data = re.search(r'class="flame-data">(.*?)</script>', section, re.DOTALL)
    assert data is not None
    assert len(json.loads(data[1])["suspects"]) == TEXT_LIMITS.listed_methods
    assert "<p>and 8 more</p>" in section
