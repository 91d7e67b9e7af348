from dataclasses import replace

from defusedxml import ElementTree

from perf_culprit.say.charts import COLOURS, render_audit_svg
from tests.support.audits import made_audit

SVG = "{http://www.w3.org/2000/svg}"


def test_one_curve_per_detector_within_the_picture() -> None:
    root = ElementTree.fromstring(render_audit_svg(made_audit()))
    width, height = map(float, root.get("viewBox", "").split()[2:])
    curves = root.findall(f"{SVG}polyline")
    assert len(curves) == 2 * 2  # each with its sample
    for curve in curves:
        for point in curve.get("points", "").split():
            x, y = map(float, point.split(","))
            assert 0 <= x <= width
            assert 0 <= y <= height
    texts = [element.text or "" for element in root.iter(f"{SVG}text")]
    assert "anova" in texts
    assert "false alarms: 1 of 28 runs" in texts


def test_larger_shares_are_higher_and_larger_effects_further_right() -> None:
    root = ElementTree.fromstring(render_audit_svg(made_audit()))
    points = [
        tuple(map(float, point.split(","))) for point in root.findall(f"{SVG}polyline")[0].get("points", "").split()
    ]
    assert [x for x, _ in points] == sorted(x for x, _ in points)
    assert [y for _, y in points] == sorted((y for _, y in points), reverse=True)


def test_names_are_text_and_more_detectors_than_colours_are_drawn() -> None:
    audit = made_audit(suite="<script>alert(1)</script>&")
    many = replace(audit, detectors=audit.detectors * len(COLOURS))
    root = ElementTree.fromstring(render_audit_svg(many))
    assert len(root.findall(f"{SVG}polyline")) == 2 * 2 * len(COLOURS)
    assert root.find(f"{SVG}script") is None
