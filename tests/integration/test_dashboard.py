"""`perf-culprit dashboard`: a site from a history, grown run by run, and what it does in a real browser."""

import json
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from typing import Any
from urllib.parse import quote_plus

import pytest

from perf_culprit.cli.entry import main
from tests.support.axe import violations
from tests.support.chromium import LACKING, PROGRAM, Page, open_page
from tests.support.dashboard_history import ACCEPTED, COMMITS, HOSTILE, STEP, Kept, kept_history, run_of
from tests.support.layout import layout_faults, outline
from tests.support.processes import becomes

in_chromium = pytest.mark.skipif(PROGRAM is None, reason=LACKING)
WAIT_SECONDS = 20.0


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    return kept_history(tmp_path_factory.mktemp("kept"), runs=COMMITS - 1)


@pytest.fixture(scope="module")
def site(kept: Kept, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(kept, tmp_path_factory.mktemp("built") / "site")


@pytest.fixture(scope="module")
def browser() -> Iterator[Page]:
    with open_page() as page:
        yield page


def build(kept: Kept, folder: Path, *options: str) -> Path:
    place = ("--repo", str(kept.repository), "--history", str(kept.history))
    assert main(["dashboard", str(folder), *place, *options]) == 0
    return folder


def files(site: Path) -> dict[str, bytes]:
    return {path.relative_to(site).as_posix(): path.read_bytes() for path in site.rglob("*") if path.is_file()}


def index(site: Path) -> dict[str, Any]:
    script = (site / "data" / "index.js").read_text(encoding="ascii")
    data: dict[str, Any] = json.loads(script.removeprefix("perfCulprit.index(").removesuffix(");\n"))
    return data


def opened(browser: Page, site: Path, fragment: str = "", *, scheme: str = "light", width: int = 1200) -> Page:
    browser.open(site / "index.html", scheme=scheme, width=width)
    browser.problems.clear()
    if fragment:
        browser.value(f"location.hash = {json.dumps(fragment)}")
    return browser


def waited(page: Page, expression: str) -> None:
    assert becomes(lambda: page.value(expression), within_seconds=WAIT_SECONDS), expression


def drawn(page: Page) -> None:
    waited(page, "!!document.querySelector('.js-plotly-plot .main-svg') && !!document.querySelector('main details')")


def shown(page: Page, fragment: str) -> None:
    """Wait until the page is drawn: the curve of a benchmark's page, the rows of any other."""
    if "benchmark" in fragment:
        drawn(page)
    else:
        waited(page, "document.querySelectorAll('tbody tr').length > 0")


def test_a_site_that_grew_by_a_run_is_the_site_that_is_built_anew(kept: Kept, site: Path, tmp_path: Path) -> None:
    grown = copytree(site, tmp_path / "grown")
    before = files(grown)
    assert files(build(kept, grown)) == before
    kept.append([run_of(kept, COMMITS - 1)])
    after = files(build(kept, grown))
    assert after == files(build(kept, tmp_path / "anew"))
    chunks = {name for name in before if name.startswith("data/") and name != "data/index.js"}
    # The other machine's numbers did not change; the old chunk of this machine's is gone.
    assert len(chunks) == 2
    assert len(chunks & after.keys()) == 1
    # A damaged chunk is not used.
    (kept_chunk,) = chunks & after.keys()
    (grown / kept_chunk).write_bytes(after[kept_chunk].replace(b"0.00", b"0.01"))
    assert files(build(kept, grown)) == after


def test_the_index_has_changes_with_what_is_told_of_them(kept: Kept, site: Path) -> None:
    data = index(site)
    assert data["repository"] == "https://github.com/octo/shop"
    first, second = data["panels"]
    assert (first["machine"], second["machine"]) == ("Imaginary 3000, x86_64, Linux", "Other & <b>, Linux")
    series = {entry[0]: entry[7] for entry in first["series"]}
    ((at, _, _, change, worse, _, accepted, culprit, since, past),) = series[HOSTILE]
    assert (at, worse, accepted) == (STEP, 1, None)
    assert change == pytest.approx(0.3, abs=0.02)
    assert culprit[1:] == [0.3, 0.994, 12]
    assert data["commits"][culprit[0]][0] == data["commits"][since][0] == kept.commits[STEP]
    assert past is None
    ((at, *_, accepted, culprit, _, _),) = series["known"]
    assert (at, accepted, culprit) == (ACCEPTED, ["ada", "<script>worth it</script>", 7], None)
    assert "2 of 6 benchmarks got slower" in first["told"]
    assert first["told"].endswith(" Runner minutes: 59 in 2025-12.")
    assert second["told"] == "6 benchmarks: too few runs to find changes. Runner minutes: 6 in 2025-12."


def test_the_badge_counts_what_nobody_accepted(site: Path) -> None:
    badge = (site / "badge.svg").read_text(encoding="utf-8")
    assert "<title>performance: at worst +3" in badge
    assert "% since v1.4</title>" in badge


def test_a_folder_with_other_files_is_left_alone(
    kept: Kept, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    assert main(["dashboard", str(tmp_path), "--repo", str(kept.repository), "--history", str(kept.history)]) == 2
    assert "holds other files than a dashboard" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@in_chromium
def test_names_and_subjects_are_text_and_nothing_is_refused(browser: Page, site: Path) -> None:
    page = opened(browser, site)
    assert page.value("document.querySelectorAll('img').length") == 0
    assert HOSTILE in page.value("document.querySelector('tbody').textContent")
    page.value(
        "[...document.querySelectorAll('tbody a')].find((one) => one.textContent.startsWith('</script>')).click()"
    )
    drawn(page)
    assert page.value("document.querySelector('h2').textContent") == HOSTILE
    assert page.value("document.querySelectorAll('img').length") == 0
    assert "Bisected" in page.value("document.querySelector('main table').textContent")
    assert page.value("document.querySelector('.readout a').href").startswith("https://github.com/octo/shop/commit/")
    assert page.problems == []


@in_chromium
def test_an_address_leads_to_a_benchmark_whose_values_the_keyboard_walks_through(browser: Page, site: Path) -> None:
    page = opened(browser, site, f"suite=api&benchmark={quote_plus(HOSTILE)}")
    drawn(page)
    page.value("document.querySelector('input[type=range]').focus()")
    before = page.value("document.activeElement.getAttribute('aria-valuetext')")
    page.call("Input.dispatchKeyEvent", type="keyDown", key="ArrowLeft", windowsVirtualKeyCode=37)
    assert page.value("document.activeElement.getAttribute('aria-valuetext')") != before
    page.value("document.querySelector('main > div:last-of-type details summary, main details summary').click()")
    waited(page, "document.querySelectorAll('details tbody tr').length > 30")


@in_chromium
def test_filters_stand_in_the_address(browser: Page, site: Path) -> None:
    page = opened(browser, site)
    page.click("input[type=search]")
    page.call("Input.insertText", text="QUIET")
    assert page.value("document.querySelector('output').textContent") == "8 of 12 benchmarks"
    assert page.value("location.hash") == "#search=QUIET"
    page = opened(browser, site, "suite=api&show=worse")
    waited(page, "document.querySelector('output').textContent === '2 of 12 benchmarks'")


@in_chromium
def test_two_commits_are_compared_by_what_lasts(browser: Page, site: Path, kept: Kept) -> None:
    page = opened(browser, site, f"compare=1&suite=api&from={kept.commits[18]}&to={kept.commits[24]}")
    waited(page, "document.querySelectorAll('tbody tr').length === 6")
    assert "1 benchmark changed and stayed so" in page.value("document.querySelector('main').textContent")
    first = page.value("[...document.querySelector('tbody tr').children].map((one) => one.textContent)")
    assert first[0] == HOSTILE
    assert first[4].startswith("+")
    assert page.problems == []


@in_chromium
@pytest.mark.parametrize("fragment", ["", f"suite=api&benchmark={quote_plus(HOSTILE)}", "compare=1"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser: Page, site: Path, fragment: str, scheme: str) -> None:
    page = opened(browser, site, fragment, scheme=scheme)
    shown(page, fragment)
    assert violations(page) == []


@in_chromium
@pytest.mark.parametrize("width", [320, 360, 3840])
def test_no_page_is_wider_than_the_screen_and_a_number_keeps_its_unit(browser: Page, site: Path, width: int) -> None:
    for fragment in ("", f"suite=api&benchmark={quote_plus(HOSTILE)}", "compare=1"):
        page = opened(browser, site, fragment, width=width)
        waited(page, "document.querySelectorAll('tbody tr').length > 0")
        assert page.value("document.documentElement.scrollWidth") <= width
        lines = "Math.max(...[...document.querySelectorAll('td.number')].map((cell) => {"
        lines += " const range = document.createRange(); range.selectNodeContents(cell);"
        lines += " return new Set([...range.getClientRects()].map((one) => one.top)).size; }))"
        assert width < 360 or page.value(lines) == 1


@in_chromium
def test_the_chart_keeps_within_its_frame_when_the_page_gets_narrower(browser: Page, site: Path) -> None:
    fragment = f"suite=api&benchmark={quote_plus(HOSTILE)}"
    page = opened(browser, site, fragment, width=390)
    shown(page, fragment)
    page.value("document.body.style.maxWidth = '340px'")
    sides = "['.chart .main-svg', '.chart'].map((one) => document.querySelector(one).getBoundingClientRect().width)"
    waited(page, f"(([curve, frame]) => frame < 340 && curve <= frame)({sides})")
    page.value("location.hash = ''")
    shown(page, "")
    assert page.problems == []


@in_chromium
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_overlaps_and_the_outline_is_in_order(browser: Page, site: Path, width: int) -> None:
    frame = ["banner", "heading Performance of octo/shop", "navigation Pages", "main"]
    listed = ["heading Overview", "heading What changed lately", "heading Benchmarks", "search", "table Benchmarks"]
    pages = {
        "": listed,
        f"suite=api&benchmark={quote_plus(HOSTILE)}": [f"heading {HOSTILE}", "heading Changes", "table Changes"],
        "compare=1": ["heading Compare two commits", "table Benchmarks at both commits"],
    }
    for fragment, expected in pages.items():
        page = opened(browser, site, fragment, width=width)
        shown(page, fragment)
        assert layout_faults(page) == []
        assert page.value("document.title").endswith("Performance of octo/shop")
        assert outline(page) == [*frame, *expected, "contentinfo"]
