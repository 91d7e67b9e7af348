"""A search's state survives writing and reading, and other files are refused before anything uses them."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from perf_culprit.errors import DataError
from perf_culprit.model.bisection import (
    CommitRange,
    Failure,
    FailureKind,
    Job,
    NamedStep,
    Outcome,
    OutcomeKind,
    Phase,
    Purpose,
    Result,
    SearchSettings,
    SearchState,
)
from perf_culprit.model.bisection_files import BisectSession, decode_session, encode_session
from perf_culprit.model.reason import SearchReason, because, remark
from perf_culprit.model.run import Direction, Metric, MetricKey

SESSION = BisectSession(
    run="./bench",
    build="make",
    key=MetricKey("parse", "time"),
    metric=Metric(name="time", unit="s", direction=Direction.LOWER_IS_BETTER),
    search=SearchState(
        commit_range=CommitRange(
            good="g", bad="b", commits=("a", "b"), parents=((), (0,)), reverts=((1, 0),), merge_bases=("m",)
        ),
        settings=SearchSettings(seed=4),
        prior={"a": 0.25, "b": 0.75},
        jobs=(Job(id="1", commits=("g", "a", "b"), purpose=Purpose.SEARCH),),
        results=(
            Result(
                job_id="1",
                values={"g": (0.1,), "b": (0.30000000000000004,)},
                failures={"a": Failure(kind=FailureKind.BUILD, message="no compiler")},
            ),
        ),
        phase=Phase.CONFIRM,
        since=1,
        suspect="b",
        named=(NamedStep(commit="a", posterior=0.99, log_bayes_factor=4.5),),
        withdrawn=("b",),
    ),
)


def test_everything_comes_back() -> None:
    assert decode_session(encode_session(SESSION), place="state.json") == SESSION


def test_notes_come_back_as_codes_and_those_of_earlier_versions_as_text() -> None:
    notes = (
        because(SearchReason.TIME_CONFIRMS, commit="c", change=0.5),
        because(SearchReason.STILL_THERE),
    )
    ended = replace(SESSION, search=replace(SESSION.search, outcome=Outcome(kind=OutcomeKind.CULPRIT, notes=notes)))
    file = encode_session(ended)
    assert decode_session(file, place="state.json") == ended
    old = json.loads(file)
    old["search"]["outcome"]["notes"] = ["the regression is still there"]
    outcome = decode_session(json.dumps(old).encode(), place="state.json").search.outcome
    assert outcome is not None
    assert outcome.notes == (remark("the regression is still there"),)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        pytest.param(lambda file: file.update(version=0), "version", id="version"),
        pytest.param(lambda file: file.update(more=1), "more", id="unknown field"),
        pytest.param(lambda file: file["search"].update(suspect="x"), "'x' is not in its range", id="suspect"),
        pytest.param(lambda file: file["search"].update(withdrawn=["x"]), "'x' is not in its range", id="withdrawn"),
        pytest.param(lambda file: file["search"]["named"][0].update(commit="x"), "'x' is not", id="named"),
        pytest.param(lambda file: _result(file)["values"].update(x=[1.0]), "'x' is not in its range", id="value"),
        pytest.param(lambda file: _result(file)["values"].update(g=[0.0]), "not a positive number", id="zero"),
        pytest.param(lambda file: _result(file)["values"].update(g=[float("nan")]), "NaN is not a number", id="nan"),
        pytest.param(lambda file: _result(file)["values"].update(g=[]), "not a positive number", id="no values"),
        pytest.param(lambda file: _result(file).update(job_id="2"), "of no round", id="round"),
        pytest.param(
            lambda file: _result(file)["failures"].update(x={"kind": "build"}),
            "'x' is not in its range",
            id="failure",
        ),
        pytest.param(lambda file: file["search"]["jobs"][0].update(commits=["x"]), "'x' is not in its range", id="job"),
    ],
)
def test_what_is_no_session(change: Callable[[dict[str, Any]], None], text: str) -> None:
    file = json.loads(encode_session(SESSION))
    change(file)
    with pytest.raises(DataError, match=text) as caught:
        decode_session(json.dumps(file).encode(), place="state.json")
    assert caught.value.place == "state.json"


def _result(file: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = file["search"]["results"][0]
    return result
