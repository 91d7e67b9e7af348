"""Any input bytes give a run that can be stored, or a DataError."""

import json

from hypothesis import given
from hypothesis import strategies as st

from perf_culprit.errors import DataError
from perf_culprit.model.run import Benchmark, Direction, Environment, Metric, Run
from perf_culprit.model.run_file import decode_run, encode_run
from perf_culprit.read.results.collect import Reading, collect_sources
from perf_culprit.read.results.input_files import read_archive
from perf_culprit.read.results.result_formats import ALIASES, AUTO, READERS
from perf_culprit.read.results.source import Source
from tests.support.goldens import JSON_GOLDENS, golden
from tests.support.turns import many

TOOLS = [AUTO, *READERS, *ALIASES]


def words_of(path: str) -> set[str]:
    """Return all member names of a golden file, so that random JSON passes the recognition of formats."""
    words: set[str] = set()

    def visit(value: object) -> None:
        if isinstance(value, dict):
            words.update(value)
            for member in value.values():
                visit(member)
        elif isinstance(value, list):
            for member in value:
                visit(member)

    visit(json.loads(golden(path)))
    return words


WORDS = sorted(set().union(*(words_of(path) for _, path in JSON_GOLDENS if path.endswith(".json"))))
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["thrpt", "iteration", "perf-culprit-run", "ns", "BenchmarkGroup", "Trial", "NaN", "ops/s"])
)
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=4), inner, max_size=6)
    ),
    max_leaves=30,
)


def harmless(data: bytes, tool: str) -> None:
    try:
        run = collect_sources([Source("foreign", data)], Reading(tool=tool))
    except DataError as error:
        refused = error
    else:
        assert decode_run(encode_run(run), place="again") == run
        return
    str(refused).encode()


@many
@given(st.binary(max_size=300), st.sampled_from(TOOLS))
def test_any_bytes(data: bytes, tool: str) -> None:
    harmless(data, tool)


@many
@given(st.text(alphabet='{}[]",:0123456789.-e \nBenchmarktsiop<>/()±%\tx', max_size=300), st.sampled_from(TOOLS))
def test_any_text_of_telling_characters(text: str, tool: str) -> None:
    harmless(text.encode(), tool)


@many
@given(JSON, st.sampled_from(TOOLS))
def test_any_json(value: object, tool: str) -> None:
    harmless(json.dumps(value).encode(), tool)


@many
@given(st.binary(max_size=300))
def test_any_archive(data: bytes) -> None:
    try:
        sources = read_archive(b"PK\x03\x04" + data, name="a.zip")
    except DataError:
        return
    assert sources


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20).filter(str.strip)
NUMBERS = st.floats(min_value=0, max_value=1e300)


@many
@given(
    st.dictionaries(NAMES, st.lists(NUMBERS, min_size=1, max_size=6), min_size=1, max_size=5),
    st.sampled_from(list(Direction)),
)
def test_our_own_format_comes_back_as_it_was_written(values: dict[str, list[float]], direction: Direction) -> None:
    metric = Metric(name="time", unit="ns", direction=direction)
    run = Run(
        benchmarks=tuple(Benchmark.of(name=name, metric=metric, samples=tuple(v)) for name, v in values.items()),
        environment=Environment(components={"cpu": "A"}),
    )
    assert collect_sources([Source("run.json", encode_run(run))]) == run
