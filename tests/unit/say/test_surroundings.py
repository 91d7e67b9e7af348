"""Changes other than those of the code, in a comment, on a terminal and in a search's answer."""

from dataclasses import replace

from msgspec import structs

from perf_culprit.model.bisection import ExecutedCode
from perf_culprit.model.run import Environment, EnvironmentChange
from perf_culprit.say.bisection_answer import bisection_markdown
from perf_culprit.say.comment import render_markdown
from perf_culprit.say.comparison import render_text
from tests.support.bisections import REPORT
from tests.support.reports import every_conclusion

CHANGES = (
    EnvironmentChange(name="runner_image", before="ubuntu24 20261101.1", after="ubuntu24 20261115.2"),
    EnvironmentChange(name="npm:@a|`b", before="1 @octocat", after="2\x1b[31m"),
)


def test_a_report_lists_it_in_one_fold_and_a_terminal_in_one_block() -> None:
    plain = every_conclusion()["regression-fails"]
    report = structs.replace(
        plain, environment_changes=CHANGES, environment=Environment(components={"pip:a": "1", "os": "x"})
    )
    comment, text = render_markdown(report), render_text(report, colour=False, width=100)
    assert comment.count("Changed besides the code · 2 differences") == 1
    assert "| `image` | `ubuntu24 20261101.1` | `ubuntu24 20261115.2` |" in comment
    assert "| ``@a\\|`b`` | `1 @octocat` |" in comment
    assert "\x1b" not in comment + text
    assert (
        "Changed besides the code · 2 differences:\n"
        "- image (ubuntu24 20261101.1 → ubuntu24 20261115.2)\n- @a|`b (1 @octocat → 2" in text
    )
    assert "Changed besides" not in render_markdown(plain) + render_text(plain, colour=False, width=100)


def test_a_culprit_that_updates_a_dependency_is_called_that() -> None:
    numpy = EnvironmentChange(name="pip:numpy", before="2.4.5", after="2.4.6")
    answer = bisection_markdown(replace(REPORT, updates={REPORT.outcome.culprits[0].commit: (numpy,)}))
    assert "a dependency update: `numpy 2.4.5 → 2.4.6`" in answer
    assert "dependency update" not in bisection_markdown(REPORT)


def test_the_search_of_an_updates_packages_is_offered_where_machines_measured_commits_alone() -> None:
    (culprit,) = REPORT.outcome.culprits
    numpy = EnvironmentChange(name="pip:numpy", before="2.4.5", after="2.4.6")
    two = replace(
        REPORT,
        updates={culprit.commit: (numpy, structs.replace(numpy, name="npm:qs"))},
        command="perf-culprit bisect --good a --bad b --run bench --build 'uv sync' --seed 0",
    )
    ends = f"--good {culprit.commit}^ --bad {culprit.commit}"
    assert f"Which package it is: `perf-culprit bisect {ends} --run bench --build" in bisection_markdown(two)
    one = replace(two, updates={culprit.commit: (numpy, structs.replace(numpy, name="cargo:serde"))})
    assert "Which package" not in bisection_markdown(one)
    assert "Which package" not in bisection_markdown(replace(two, command="perf-culprit bisect --good a --bad b"))


def test_a_culprit_says_what_it_touches_of_the_code_that_runs() -> None:
    code = (ExecutedCode("a|b.py", "Cart.total"), ExecutedCode("shop.py"), *[ExecutedCode("c.py", "f")] * 3)
    (culprit,) = REPORT.outcome.culprits
    answer = bisection_markdown(replace(REPORT, executed={culprit.commit: code}))
    assert "touches `Cart.total` (`a|b.py`), `shop.py`, `f` (`c.py`) and 2 more, which the benchmark runs" in answer
    assert "touches" not in bisection_markdown(replace(REPORT, executed={"e" * 40: code}))
