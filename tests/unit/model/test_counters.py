import json
from dataclasses import replace
from math import nan
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from perf_culprit.errors import DataError
from perf_culprit.flows.published_schemas import schema_text
from perf_culprit.model.run import CounterTable, Direction, Metric, Run
from perf_culprit.model.run_file import decode_run, encode_run
from tests.support.counter_tables import same, table_of

TABLE = table_of(times_s=[1.5, 2, 4], load=[10, nan, 12], cpu=[1, nan, 3], heap=[nan, nan, -0.1])


def encoded(**changes: object) -> bytes:
    run: dict[str, Any] = json.loads(encode_run(Run(counters=(TABLE,))))
    table = run["counters"][0]
    for path, value in changes.items():
        if path.startswith("values_"):
            table["counters"][0]["values"] = value
        else:
            table[path] = value
    return json.dumps(run).encode()


def test_tables_survive_with_what_is_missing() -> None:
    other = table_of(name="b", times_s=[-1, 0], a=[0, 1e-300])
    run = decode_run(encode_run(Run(counters=(TABLE, other))), place="f")
    assert same(run.counters[0], TABLE)
    assert same(run.counters[1], other)


def test_a_run_without_counters_says_nothing_of_them() -> None:
    assert b"counters" not in encode_run(Run())
    assert decode_run(encode_run(Run()), place="f").counters == ()


def test_the_schema_knows_counters() -> None:
    validator = jsonschema.Draft202012Validator(json.loads(schema_text("run-v1")))
    validator.validate(json.loads(encode_run(Run(counters=(TABLE,)))))
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(json.loads(encoded(values_=["high"])))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"times_s": [1, 1, 2]}, r"f: counters\.0\.times_s: its times do not increase"),
        ({"times_s": [3, 2, 1]}, r"f: counters\.0\.times_s: its times do not increase"),
        ({"times_s": []}, r"f: .*: needs at least one time and one counter at `counters\[0\]`"),
        ({"counters": []}, r"f: .*: needs at least one time and one counter at `counters\[0\]`"),
        ({"times_s": [1, 2]}, r"counters\.0\.values: has 3 values for 2 times at `counters\[0\]`"),
        ({"values_": [1]}, r"counters\.0\.values: has 1 values for 3 times at `counters\[0\]`"),
        ({"load": [1, 2]}, r"load: has 2 values for 3 times at `counters\[0\]`"),
        ({"times_s": [1, None, 3]}, r"got `null` at `counters\[0\]\.times_s\[1\]`"),
        ({"values_": [1, "x", 3]}, r"got `str` at `counters\[0\]\.counters\[0\]\.values\[1\]`"),
        ({"values_": [1, float("inf"), 3]}, r"Infinity is not a number in JSON"),
        ({"values_": [1, float("nan"), 3]}, r"NaN is not a number in JSON"),
        ({"more": 1}, r"unknown field `more` at `counters\[0\]`"),
    ],
)
def test_tables_that_do_not_fit_are_refused_with_their_place(changes: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        decode_run(encoded(**changes), place="f")


def test_two_counters_of_one_name_are_refused() -> None:
    run = json.loads(encode_run(Run(counters=(TABLE,))))
    run["counters"][0]["counters"][1]["name"] = "cpu"
    with pytest.raises(DataError, match="two counters have one name"):
        decode_run(json.dumps(run).encode(), place="f")


@given(
    arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 4)), elements=st.floats(allow_infinity=False)),
    st.booleans(),
)
def test_any_finite_values_survive(values: "np.ndarray[Any, np.dtype[np.float64]]", has_load: bool) -> None:
    table = CounterTable(
        name="t",
        metrics=tuple(Metric(name=str(j), unit="", direction=Direction.UNKNOWN) for j in range(values.shape[1])),
        times_s=np.arange(len(values)) / 3,
        values=values,
        load=values[:, 0] if has_load else None,
        load_name="users" if has_load else None,
    )
    (again,) = decode_run(encode_run(Run(counters=(table,))), place="f").counters
    assert same(again, table)


def test_how_a_table_was_reduced_survives() -> None:
    reduced = replace(TABLE, interval_s=2.5)
    again = decode_run(encode_run(Run(counters=(reduced,))), place="f").counters[0]
    assert again.interval_s == 2.5
    assert decode_run(encoded(), place="f").counters[0].interval_s is None
