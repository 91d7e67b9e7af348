import json
import re

from msgspec.structs import replace

from perf_culprit.judge.deviation_matrix import deviation_matrix
from perf_culprit.model.finding import Verdict
from perf_culprit.model.notable_calls import shown_suspects
from perf_culprit.model.report import Conclusion
from perf_culprit.model.series import Version
from perf_culprit.say.call_tree_pictures import pictured, tree_list
from perf_culprit.say.comparison import PageOptions
from perf_culprit.say.report_page import render_html
from perf_culprit.say.series_text import releases_page
from tests.support.diagnosed_reports import diagnosis
from tests.support.measurements import measured
from tests.support.reports import every_conclusion, finding, report

REPORT = every_conclusion()["regression-fails"]


def test_page_shows_the_comment_and_every_finding_without_resources() -> None:
    page = render_html(REPORT)
    assert "2 of 10 benchmarks got slower" in page
    assert page.count("<details>") == page.count("</details>") == 2
    assert "default-src 'none'" in page
    assert "src=" not in page.replace("default-src=", "")
    data = re.search(r'class="explorer-data">(.*?)</script>', page, re.DOTALL)
    assert data is not None
    assert [row[0] for row in json.loads(data[1])["rows"]] == [one.key.benchmark for one in REPORT.findings]


def test_the_tab_begins_with_the_repository() -> None:
    options = PageOptions(repository_url="https://github.com/octo/<b>", pull_request=12)
    assert "<title>octo/&lt;b&gt; #12, report · Perf Culprit</title>" in render_html(REPORT, options=options)
    assert "<title>report · Perf Culprit</title>" in render_html(REPORT)


def test_a_report_without_findings_runs_no_script() -> None:
    first = every_conclusion()["first-run"]
    page = render_html(first)
    assert "script-src 'none'" in page
    assert "<script" not in page


def test_names_of_a_page_are_text_and_its_table_is_the_comments() -> None:
    hostile = "<b>@x</b> | `y` [z](https://evil.example)"
    shown = report(Conclusion.REGRESSION, finding(hostile, 1.0, 2.0, verdict=Verdict.REGRESSION))
    page = render_html(replace(shown, suite=hostile, base_commit=hostile))
    assert "<b>" not in page
    assert 'href="https://evil' not in page
    assert "<code>&lt;b&gt;@x&lt;/b&gt; | `y` [z](https://evil.example)</code></td>" in page
    assert '<th align="right">change</th><th align="left">benchmark</th>' in page


def test_the_history_has_the_bound_of_the_category_in_the_unit_that_is_shown() -> None:
    crept = finding("crept", 9.2, 11.2, verdict=Verdict.REGRESSION, category="fast", series=(9.1, 9.3, 11.2))
    page = render_html(report(Conclusion.REGRESSION, replace(crept, category_limit=10.0)))
    assert '"category":["fast",10.0]' in page
    assert '"category":[' not in render_html(report(Conclusion.REGRESSION, crept))


def test_the_deviation_matrix_names_versions_and_benchmarks_as_text() -> None:
    levels = {"</td><b>": (1.0, 1.5, 1.0), "steady": (2.0, 2.0, 2.0)}
    versions = [
        Version(name=name, run=measured({key: means[i] for key, means in levels.items()}, seed=i))
        for i, name in enumerate(("1.0", "<1.1>", "1.2"))
    ]
    page = releases_page(deviation_matrix(versions, minimum_effect=0.05))
    assert '<th scope="row">&lt;/td&gt;&lt;b&gt;</th>' in page
    assert '<th scope="col"><span>&lt;1.1&gt;</span></th>' in page
    assert "steady" not in page
    assert page.count('<td class="matrix-worse ') == page.count('<td class="matrix-better ') == 1
    assert "<1.1>" not in page
    assert "<script" not in page


def test_of_many_versions_the_numbers_are_in_titles_and_what_was_undone_is_folded() -> None:
    levels = [1.5 if i == 7 else 1.0 for i in range(14)]
    versions = [Version(name=f"v<{i}", run=measured({"a": level}, seed=i)) for i, level in enumerate(levels)]
    page = releases_page(deviation_matrix(versions, minimum_effect=0.05))
    assert re.search(
        r'<td class="matrix-worse matrix-gap-2"><abbr title="\+\d\d\.\d% in v&lt;7">\u25b2</abbr></td>', page
    )
    assert "<summary>1 regression that a later version undid</summary>" in page
    undone = "<code>a</code> got worse in <code>v&lt;7</code> and was back in <code>v&lt;8</code>"
    assert f"<li>{undone}</li>" in page


def test_callees_are_inside_their_callers_and_names_are_text() -> None:
    comparison = diagnosis({"build_ast": "<b &amp;"})
    service = pictured(comparison, shown_suspects(comparison)[0])
    assert service is not None
    html = tree_list(comparison, service)
    assert html.count("<ul>") == html.count("</ul>")
    assert "<b " not in html
    assert re.search(r"parse</code>[^<]*<ul>.*Parser\.tokenize</code>[^<]*<ul>.*compile_regex</code>", html)
    assert '<li class="tree-suspect"><code>Parser.tokenize</code>' in html
    assert "changed" in html.partition("Parser.tokenize")[2].partition("<")[2].partition("<ul>")[0]
