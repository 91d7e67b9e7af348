import pytest

from perf_culprit.errors import DataError
from perf_culprit.read.counters.counter_csv import COUNTER_CSV
from perf_culprit.read.format_reader import first_match
from perf_culprit.read.results.result_formats import READERS, readers_for
from perf_culprit.read.results.source import Source
from tests.support.counter_tables import columns, only_table, read


def test_units_and_the_load_stand_in_brackets() -> None:
    table = only_table(read("time,cpu [%],users [load]\n1,10,5\n2,11,\n"))
    assert [(metric.name, metric.unit) for metric in table.metrics] == [("cpu", "%")]
    assert table.load_name == "users"
    assert table.load is not None
    assert table.load[0] == 5


@pytest.mark.parametrize("missing", ["", " ", "NA", "n/a", "NaN", "null", "None", "-", "?"])
def test_every_word_for_missing(missing: str) -> None:
    table = only_table(read(f"time,a,b\n1,{missing},1\n2,3,1\n"))
    assert columns(table) == {"a": [None, 3], "b": [1, 1]}


def test_constant_negative_and_zero_counters_stay_and_empty_ones_go() -> None:
    run = read("time,constant,negative,zero,empty\n1,5,-1,0,\n2,5,-2.5,0,\n")
    assert columns(only_table(run)) == {"constant": [5, 5], "negative": [-1, -2.5], "zero": [0, 0]}
    assert run.notes == ("counters.csv: counters without any value are left out: 1",)


def test_a_table_of_one_row_is_usable() -> None:
    assert columns(only_table(read("timestamp;a;b\n1795227572;1;2\n"))) == {"a": [1], "b": [2]}


def test_the_last_line_may_be_cut_off_but_no_other() -> None:
    run = read("time,a,b\n1,1,1\n2,2,2\n3,3")
    assert columns(only_table(run)) == {"a": [1, 2], "b": [1, 2]}
    assert run.notes == ("counters.csv: the last line is cut off and left out",)
    with pytest.raises(DataError, match=r"counters\.csv:3: has 2 cells, the header has 3"):
        read("time,a,b\n1,1,1\n2,2\n3,3,3\n")
    with pytest.raises(DataError, match=r"counters\.csv:2: has 2 cells, the header has 3"):
        read("time,a,b\n1,1")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time,a,b\n1,,\n2,,\n", "no counter has a value"),
        ("time,a\n1,1\nlater,2\n", r"counters\.csv:3: `later` is not a time"),
        ("time,a\n1,1\n2,x\n", r"counters\.csv:3: `x` is not a number"),
        ("time,a,a\n1,1,1\n", "two of one name"),
        ("time,a,,\n1,1,1,1\n", "without name"),
        ("time,load,b [load],c\n1,1,1,1\n", "two load columns"),
        ("time,load\n1,1\n", "holds no counter"),
    ],
)
def test_what_is_broken_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(text)


@pytest.mark.parametrize(
    "text",
    [
        "time,commit,branch,latency_ms\n1795227572,abc,main,5\n",
        "name,value\na,1\n",
        "time,a\nsoon,1\n",
        "time,host\n1,bench\n",
        "time\n1\n",
        "timeStamp,elapsed,label,success\n1795227572000,1,a,true\n",
    ],
)
def test_files_of_others_are_not_taken(text: str) -> None:
    assert first_match(Source("f", text.encode()), readers_for("auto")) is not READERS["counter_csv"]


def test_cells_may_be_quoted_and_lines_end_as_on_windows() -> None:
    assert columns(only_table(read('"time","a, b"\r\n"1","2"\r\n'))) == {"a, b": [2]}


def test_a_quote_that_never_ends_is_no_csv() -> None:
    with pytest.raises(DataError, match="is not CSV: field larger than"):
        read('time,a\n1,1\n2,"' + "x\n" * 100_000)
    header = Source("f", ('time,"' + "x" * 200_000 + '"\n1,1\n').encode())
    assert not COUNTER_CSV.matches(header)
    with pytest.raises(DataError, match="is not CSV: field larger than"):
        COUNTER_CSV.read(header)
