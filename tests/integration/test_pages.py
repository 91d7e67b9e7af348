"""The report's page in a real browser: nothing is refused, names stay text, keyboard and screen reader reach all."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from perf_culprit.arrays import Floats
from perf_culprit.config.settings import Config
from perf_culprit.explain.compare_trees import compare_profiles
from perf_culprit.flows.compare import compare_runs
from perf_culprit.flows.render import report_html
from perf_culprit.judge.deviation_matrix import deviation_matrix
from perf_culprit.model.finding import BaselineSource
from perf_culprit.model.notable_calls import shown_suspects
from perf_culprit.model.report import Report
from perf_culprit.model.series import Version
from perf_culprit.say.series_text import releases_page
from tests.support.axe import violations
from tests.support.chromium import LACKING, PROGRAM, Page, open_page
from tests.support.compared_trees import sampled
from tests.support.counter_runs import counter_run, counter_table, noisy_counters
from tests.support.diagnosed_reports import diagnosed, diagnosis
from tests.support.layout import layout_faults, outline
from tests.support.measurements import measured

pytestmark = pytest.mark.skipif(PROGRAM is None, reason=LACKING)
HOSTILE = "</script><img src=x onerror=alert(1)>"
LEVELS = {HOSTILE: 1.0, "quick": 2.0, **{f"other {i:03}": 3.0 + i / 10 for i in range(150)}}


@pytest.fixture(scope="module")
def browser() -> Iterator[Page]:
    with open_page() as page:
        yield page


@pytest.fixture(scope="module")
def report() -> Report:
    """Judge a run with two slower benchmarks against 24 stored runs; one of them was slower from the 13th on."""
    risen = LEVELS | {HOSTILE: 1.2}
    stored = [measured(risen if i >= 12 else LEVELS, seed=i) for i in range(24)]
    target = measured(risen | {HOSTILE: 2.0, "quick": 3.0}, seed=99)
    return compare_runs(target, baseline=stored, source=BaselineSource.HISTORY, config=Config())


def opened(browser: Page, report: Report, folder: Path, *, scheme: str = "light", width: int = 1200) -> Page:
    page = folder / "report.html"
    page.write_text(report_html(report), encoding="utf-8")
    browser.problems.clear()
    browser.open(page, scheme=scheme, width=width)
    return browser


def shown_count(browser: Page) -> str:
    return str(browser.value("document.querySelector('.explorer-found').textContent"))


def test_a_hostile_name_is_text_and_its_samples_and_history_are_described(
    browser: Page, report: Report, tmp_path: Path
) -> None:
    page = opened(browser, report, tmp_path)
    assert page.value("document.querySelectorAll('main img').length") == 0
    assert page.value("document.querySelector('.explorer-worse button').textContent") == HOSTILE
    samples, shape, residuals, history = page.names("image")
    assert shape.startswith(
        f"Density of {HOSTILE} on both sides, before (50 of 480 samples): 2 modes, "
    )  # a step at run 13
    assert residuals.startswith(f"Residuals of {HOSTILE} about the mean")
    assert samples.startswith(f"Samples of {HOSTILE}. before: ")
    assert "Change points: run 13: " in history
    assert page.problems == []


def test_searching_and_filtering(browser: Page, report: Report, tmp_path: Path) -> None:
    page = opened(browser, report, tmp_path)
    assert shown_count(page) == "152 of 152"
    assert page.value("document.querySelectorAll('.explorer tbody th').length") == 100
    page.click(".explorer-more")
    assert page.value("document.querySelectorAll('.explorer tbody th').length") == 152
    page.click(".explorer input")
    page.call("Input.insertText", text="OTHER 00")
    # Both words, anywhere: "other 100" too.
    assert shown_count(page) == "11 of 152"
    page.value("const verdict = document.querySelector('.explorer-verdict'); verdict.value = 'worse';"
               " verdict.dispatchEvent(new Event('change'))")  # fmt: skip
    assert shown_count(page) == "0 of 152"


def test_the_keyboard_alone_opens_and_closes_a_benchmark(browser: Page, report: Report, tmp_path: Path) -> None:
    page = opened(browser, report, tmp_path)
    page.value("document.querySelector('.explorer tbody button').focus()")
    page.press("ArrowDown")
    assert page.value("document.activeElement.textContent") == "quick"
    assert page.value("document.activeElement.getAttribute('aria-expanded')") == "false"
    page.press("Enter")
    assert page.value("document.activeElement.getAttribute('aria-expanded')") == "true"
    assert len(page.names("image")) == 8
    page.press("Enter")
    assert len(page.names("image")) == 4


def test_dark_and_light_differ_and_the_flame_graph_is_in_the_page(
    browser: Page, report: Report, tmp_path: Path
) -> None:
    trees = [[sampled({"m": 10, "m>x": count})] for count in (30, 90)]
    diagnosed = replace(report, diagnosis=compare_profiles(*trees))
    colours = [
        opened(browser, diagnosed, tmp_path, scheme=scheme).value("getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
    ]
    assert colours == ["rgb(255, 255, 255)", "rgb(13, 17, 23)"]
    assert len(browser.names("treeitem")) == 3
    assert browser.problems == []


def test_samples_of_a_thousandfold_change_are_on_a_logarithmic_axis(browser: Page, tmp_path: Path) -> None:
    stored = [measured({"a": 1.0}, seed=i) for i in range(6)]
    target = measured({"a": 1000.0}, seed=99)
    page = opened(
        browser, compare_runs(target, baseline=stored, source=BaselineSource.HISTORY, config=Config()), tmp_path
    )
    assert "logarithmic axis" in page.value("document.querySelector('figcaption').textContent")
    boxes = page.value("[...document.querySelectorAll('.explorer-box')].map(one => one.getBBox().x)")
    assert boxes[1] - boxes[0] > 300
    captions = page.value("[...document.querySelectorAll('figcaption')].map(one => one.textContent)")
    assert captions[1].startswith("Shape of the samples before (50 of 120 samples): ")
    assert captions[2].startswith("Residuals of the analysis of variance")
    assert page.problems == []


@pytest.fixture(scope="module")
def counters() -> Report:
    """Judge two counters of a host; one was far above its limits for a third of the test."""
    names = (HOSTILE, "memory")
    runs = [counter_run(counter_table(noise(seed), names=names)) for seed in range(7)]
    values = noise(99)
    values[30:60, 0] *= 2
    target = counter_run(counter_table(values, names=names))
    return compare_runs(target, baseline=runs, source=BaselineSource.HISTORY, config=Config())


def noise(seed: int) -> Floats:
    return noisy_counters(np.random.default_rng(seed), counters=2)


def test_a_counter_is_drawn_over_time_with_its_violations(browser: Page, counters: Report, tmp_path: Path) -> None:
    page = opened(browser, counters, tmp_path)
    over_time, *_ = page.names("image")
    assert over_time.startswith(f"host {HOSTILE} over time, in violation for 3")
    assert " min of 90 min. before: " in over_time
    shaded = page.value("[...document.querySelectorAll('.explorer-violation')].map(one => one.getBBox().width)")
    axis = page.value("document.querySelector('.explorer-axis').getBBox().width")
    assert 0.3 < max(shaded) / axis < 0.4
    captions = page.value("[...document.querySelectorAll('figcaption')].map(one => one.textContent)")
    assert captions[1].startswith("Density of both sides, dashed: control limits")
    limits, curves = (
        f"document.querySelectorAll('figure')[1].querySelectorAll('.explorer-{one}').length"
        for one in ("limit", "line")
    )
    assert (page.value(limits), page.value(curves)) == (2, 2)
    assert page.problems == []


def test_the_call_tree_is_a_list_and_a_graph_in_an_open_fold(browser: Page, tmp_path: Path) -> None:
    hostile = "<img src=x onerror=alert(1)//"
    page = opened(browser, diagnosed(diagnosis({"compile_regex": hostile})), tmp_path)
    assert page.value("document.querySelectorAll('details[open] .tree, details[open] .flame').length") == 2
    marked = ".tree-suspect > code, .tree-other > code"
    suspects = page.value(f"[...document.querySelectorAll('{marked}')].map(one => one.textContent)")
    assert hostile in suspects
    assert page.value("document.querySelectorAll('main img').length") == 0
    assert page.problems == []


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_overlaps_and_the_outline_is_in_order(
    browser: Page, report: Report, tmp_path: Path, width: int
) -> None:
    explorer = ["heading All benchmarks", "search", "table"]
    why = ["table", "navigation Suspects", "table", "table"]
    for shown, outlined in ((report, ["table"]), (diagnosed(), why)):
        page = opened(browser, shown, tmp_path, width=width)
        assert layout_faults(page) == []
        landmark, heading, *rest = outline(page)
        assert (landmark, heading[:10]) == ("main", "heading 🔴 ")
        assert rest == outlined + explorer


@pytest.mark.slow  # axe looks at every element
@pytest.mark.parametrize("of", ["benchmarks", "counters", "call trees"])
def test_axe_finds_nothing(browser: Page, report: Report, counters: Report, of: str, tmp_path: Path) -> None:
    shown = {"benchmarks": report, "counters": counters, "call trees": diagnosed()}[of]
    for scheme in ("light", "dark"):
        assert violations(opened(browser, shown, tmp_path, scheme=scheme)) == []


@pytest.mark.slow  # as above
def test_axe_finds_nothing_in_a_narrow_deviation_matrix(browser: Page, tmp_path: Path) -> None:
    levels = (1.0, 1.5, *[1.0] * 20)
    versions = [Version(name=f"1.{i}", run=measured({"a": level}, seed=i)) for i, level in enumerate(levels)]
    page = tmp_path / "releases.html"
    page.write_text(releases_page(deviation_matrix(versions, minimum_effect=0.05)), encoding="utf-8")
    browser.open(page, width=390)
    assert violations(browser) == []


def test_a_suspect_of_the_list_is_shown_in_the_graph_and_imports_are_one_box(browser: Page, tmp_path: Path) -> None:
    own = {"m": 200, "m>page": 100, "m>page>escape": 400, "m>log": 800, "m>load": 600, "m>load>settings": 1200}
    trees = []
    for side in (own, own | {"m>page>escape": 4000, "m>log": 3200}):
        tree = sampled(side)
        loading = [
            replace(one, method="<frozen importlib._bootstrap>:load" if one.method == "load" else one.method)
            for one in tree.nodes
        ]
        trees.append([replace(tree, nodes=tuple(loading))])
    comparison = compare_profiles(*trees)
    assert [one.method for one in shown_suspects(comparison)] == ["escape", "log"]
    page = opened(browser, diagnosed(comparison), tmp_path)
    listed = "[...document.querySelectorAll('.flame-suspects button')].map(one => one.textContent)"
    assert page.value(listed) == ["escape", "log"]
    boxes = "[...document.querySelectorAll('.flame-box')].map(one => one.title)"
    assert "settings" not in page.value(boxes)
    page.click(".flame-suspects li:nth-child(2) button")
    assert page.value("document.querySelector('.flame-box[aria-selected=true]').title") == "log"
    assert page.value("document.querySelector('.flame-detail').textContent").startswith("log: own time")
    assert page.problems == []
