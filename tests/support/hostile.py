"""Reports with nasty strings in every place that a file can fill."""

from hypothesis import strategies as st

from perf_culprit.model.finding import (
    BaselineSource,
    Evidence,
    Finding,
    Interval,
    Level,
    RunChoice,
    Severity,
    Side,
    Verdict,
)
from perf_culprit.model.reason import CODES, Reason, remark
from perf_culprit.model.report import Conclusion, Report, Settings
from perf_culprit.model.run import Direction, Environment, EnvironmentChange, Metric, MetricKey

_PIECES = (
    "|",
    "\\",
    "`",
    "``",
    "```\n",
    "\n",
    "\r\n",
    "\n\n",
    " ",
    "@octocat",
    "#1",
    "GH-3",
    "o/r#2",
    "http://evil.example",
    "www.evil.example",
    "a@evil.example",
    "[x](http://evil.example)",
    "![x](http://evil.example/x.png)",
    "[x]: http://evil.example",
    "<img src=x onerror=1>",
    "</details>",
    "</summary>",
    "</code>",
    "<!-- m:v1:x -->",
    "<!--",
    "-->",
    "&lt;",
    "&#64;",
    ":tada:",
    "$x$",
    "*",
    "_",
    "~~",
    "# ",
    "- ",
    "1. ",
    "> ",
    "---",
    "| a | b |",
    "::error::",
    "##[command]",
    "\x1b[2J",
    "\u202e",
    "\u200b",
    "\u2028",
    "\x00",
    "deadbeef",
    "{{ view }}",
    "{}",
    "{0}",
    "parse_large",
    "slower",
    "x" * 130,
    "🔴",
)
# Without surrogates: a decoded JSON file holds none, and JSON cannot write them.
_texts = st.lists(st.sampled_from(_PIECES) | st.text(max_size=6), max_size=6).map("".join)
_numbers = st.floats(allow_nan=False, allow_infinity=False)
_positive = st.floats(min_value=0, max_value=1e300)
_fractions = st.floats(min_value=0, max_value=1)
_counts = st.integers(min_value=0, max_value=10**9)
_units = st.sampled_from(("s", "ms", "ns/op", "ops/s", "B", "")) | _texts
_metrics = st.builds(Metric, name=_texts, unit=_units, direction=st.sampled_from(Direction))
_sides = st.builds(
    Side,
    value=_numbers,
    statistic=_texts,
    mean=_numbers,
    median=_numbers,
    standard_deviation=st.none() | _positive,
    count=_counts,
    runs=_counts,
    relative_half_width=st.none() | _positive,
)
_keys = st.builds(MetricKey, _texts, _texts)
# Any code with any arguments: a file may say so.
_arguments = st.dictionaries(
    st.sampled_from(("effect", "samples", "component", "here", "there", "problem", "count", "text")) | _texts,
    _texts | _numbers | st.integers(min_value=-(2**53), max_value=2**53) | st.lists(_texts, max_size=3).map(tuple),
    max_size=4,
)
_reasons = _texts.map(remark) | st.builds(Reason, code=st.sampled_from(tuple(CODES.values())), arguments=_arguments)


@st.composite
def _findings(draw: st.DrawFn) -> Finding:
    metric = draw(_metrics)
    return Finding.judged(
        evidence=Evidence.of(
            key=MetricKey(draw(_texts), metric.name),
            metric=metric,
            test=draw(st.sampled_from(("anova", "exact", "run_values")) | _texts),
            baseline=draw(st.none() | _sides),
            target=draw(st.none() | _sides),
            relative_change=draw(st.none() | _numbers),
            confidence_interval=draw(st.none() | st.builds(Interval, low=_numbers, high=_numbers, level=_fractions)),
            p_value=draw(st.none() | _fractions),
            rate=draw(st.none() | _fractions),
            evidence_reason=draw(st.none() | _reasons),
            details=draw(st.dictionaries(_texts, _numbers, max_size=2)),
            notes=tuple(draw(st.lists(_reasons, max_size=2))),
        ),
        verdict=draw(st.sampled_from(Verdict)),
        reason=draw(_reasons),
        severity=draw(st.none() | st.sampled_from(Severity)),
        level=draw(st.sampled_from(Level)),
        detectable_effect=draw(st.none() | _positive),
        minimum_effect=draw(_fractions),
        category=draw(st.none() | _texts),
        category_now=draw(st.none() | _texts),
        series=tuple(draw(st.lists(_numbers, max_size=5))),
    )


def reasons() -> st.SearchStrategy[Reason]:
    return _reasons


def reports() -> st.SearchStrategy[Report]:
    commits = st.none() | st.text("0123456789abcdef", min_size=40, max_size=40) | _texts
    return st.builds(
        Report,
        conclusion=st.sampled_from(Conclusion),
        findings=st.lists(_findings(), max_size=4).map(tuple),
        settings=st.builds(
            Settings,
            detector=_texts,
            proven=_fractions,
            suspected=_fractions,
            minimum_effect=_fractions,
            fail=_positive,
        ),
        suite=st.just("default") | _texts,
        target_commit=commits,
        base_commit=commits,
        baseline_source=st.sampled_from(BaselineSource),
        baseline_runs=_counts,
        choices=st.lists(
            st.builds(RunChoice, commit=commits, time=st.none() | _texts, chosen=st.booleans(), reason=_reasons),
            max_size=2,
        ).map(tuple),
        environment=st.builds(
            Environment,
            components=st.dictionaries(st.sampled_from(("cpu", "os", "runner_image")) | _texts, _texts, max_size=4),
        ).map(lambda one: one.bounded),
        environment_changes=st.lists(
            st.builds(EnvironmentChange, name=_texts, before=_texts, after=_texts), max_size=2
        ).map(tuple),
        missing=st.lists(_keys, max_size=4).map(tuple),
        new=st.lists(_keys, max_size=2).map(tuple),
        detectable_effect=st.none() | _positive,
        notes=st.lists(_reasons, max_size=2).map(tuple),
        failed=st.booleans(),
    )
