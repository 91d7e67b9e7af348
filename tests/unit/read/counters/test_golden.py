"""Every format's golden file: recognized by exactly its own reader, read as expected, harmless when broken."""

import gc
import json
import random
from collections.abc import Iterator

import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.run_file import decode_run, encode_run
from perf_culprit.read.results.collect import Reading, collect_sources
from perf_culprit.read.results.result_formats import COUNTER_READERS, readers_for
from perf_culprit.read.results.source import Source
from tests.support.counter_goldens import COUNTER_GOLDENS, EXPECTED, golden
from tests.support.goldens import JSON_GOLDENS
from tests.support.goldens import golden as benchmark_golden
from tests.support.turns import in_turn

TRUNCATIONS = 30
HOSTILE = (
    *(b"", b"\x00", b"\xff\xfe", b"NaN", b"-inf", b"1e999", b"-1", b"9" * 400, b"\xf0\x9f\x94\xb4", b'"', b"\n"),
    *(b"\r", b",", b";", b"{", b"}", b"[" * 3000, b"null", b"<not counted>", b"x" * 20_000),
)


@pytest.fixture(autouse=True)
def no_finalizers() -> Iterator[None]:
    """Pause garbage collection: finalizers of other tests fail while thousands of brackets fill the stack."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize(("name", "path"), COUNTER_GOLDENS)
def test_is_read_as_expected(name: str, path: str) -> None:
    run = collect_sources([Source(path, golden(path))])
    assert json.loads(encode_run(run)) == json.loads(golden(path + EXPECTED)), name


@pytest.mark.parametrize(("name", "path"), COUNTER_GOLDENS)
def test_is_known_by_exactly_its_own_reader(name: str, path: str) -> None:
    source = Source("results", golden(path))
    assert [reader.id for reader in readers_for("auto") if reader.matches(source)] == [name]


def test_every_reader_has_a_golden_file() -> None:
    assert {name for name, _ in COUNTER_GOLDENS} == COUNTER_READERS.keys()


@pytest.mark.parametrize(("name", "path"), JSON_GOLDENS)
def test_results_of_benchmarks_are_left_to_their_parsers(name: str, path: str) -> None:
    source = Source(path, benchmark_golden(path))
    assert [kind for kind, reader in COUNTER_READERS.items() if reader.matches(source)] == [], name


@pytest.mark.parametrize(("name", "path"), COUNTER_GOLDENS)
def test_only_data_errors_escape_from_truncated_files(name: str, path: str) -> None:
    data = golden(path)
    step = max(1, len(data) // TRUNCATIONS)
    for turn, end in enumerate([*range(0, len(data), step), *range(max(0, len(data) - 40), len(data))]):
        harmless(data[:end], name, turn)


@pytest.mark.parametrize(("name", "path"), COUNTER_GOLDENS)
def test_only_data_errors_escape_from_wrong_bytes_anywhere(name: str, path: str) -> None:
    data = golden(path)[:1500]
    step = max(1, len(data) // 10)
    for at, start in enumerate(range(0, len(data), step)):
        for turn, value in enumerate(HOSTILE, start=at):
            harmless(data[:start] + value + data[start + 4 :], name, turn)


@pytest.mark.parametrize(("name", "path"), COUNTER_GOLDENS)
def test_only_data_errors_escape_from_lines_in_any_order(name: str, path: str) -> None:
    lines = golden(path).splitlines(keepends=True)[:60]
    chance = random.Random(1)
    for turn in range(10):
        mixed = chance.choices(lines, k=len(lines))
        harmless(b"".join(mixed), name, turn)
        harmless(b"".join([lines[0], *mixed]), name, turn)


def harmless(data: bytes, name: str, turn: int) -> None:
    """Read by name, and in turn by detection: there is a run that our format holds, or a DataError with a next step."""
    for tool in (name, *in_turn(["auto"], turn)):
        error: DataError | None = None
        try:
            run = collect_sources([Source("foreign", data)], Reading(tool=tool))
        except DataError as refusal:
            error = refusal
        else:
            content = encode_run(run)
            assert encode_run(decode_run(content, place="again")) == content
        if error is not None:
            assert error.next_step
            str(error).encode()
