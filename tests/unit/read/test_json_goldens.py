"""Every format's golden file: recognized by exactly its own reader, read as expected, harmless when broken."""

import json
from typing import Any

import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.run import Run
from perf_culprit.model.run_file import decode_run, encode_run
from perf_culprit.read.results.collect import Reading, collect_sources
from perf_culprit.read.results.result_formats import readers_for
from perf_culprit.read.results.source import Source
from tests.support.goldens import EXPECTED, JSON_GOLDENS, golden
from tests.support.turns import in_turn

TRUNCATIONS = 40


KINDS = 30


HOSTILE: tuple[Any, ...] = (
    *(None, True, "", "x", "NaN", [], [[]], [None], {}, {"": {}}, -1, 0, 1.5),
    *(float("nan"), float("-inf"), 10**400, "\ud800", "x" * 20_000),
)


def read(path: str) -> Run:
    return collect_sources([Source(path, golden(path))])


@pytest.mark.parametrize(("name", "path"), JSON_GOLDENS)
def test_is_read_as_expected(name: str, path: str) -> None:
    run = read(path)
    assert json.loads(encode_run(run)) == json.loads(golden(path + EXPECTED)), name


@pytest.mark.parametrize(("name", "path"), JSON_GOLDENS)
def test_is_known_by_exactly_its_own_parser(name: str, path: str) -> None:
    source = Source("results", golden(path))
    assert [reader.id for reader in readers_for("auto") if reader.matches(source)] == [name]


@pytest.mark.parametrize(("name", "path"), JSON_GOLDENS)
def test_the_run_survives_our_own_format(name: str, path: str) -> None:
    run = read(path)
    again = decode_run(encode_run(run), place=name)
    assert again == run
    assert collect_sources([Source("run.json", encode_run(run))]) == run


@pytest.mark.parametrize(("name", "path"), JSON_GOLDENS)
def test_only_data_errors_escape_from_truncated_files(name: str, path: str) -> None:
    data = golden(path)
    step = max(1, len(data) // TRUNCATIONS)
    for turn, end in enumerate([*range(0, len(data), step), *range(max(0, len(data) - 12), len(data))]):
        harmless(Source(path, data[:end]), name, turn)


@pytest.mark.slow  # thousands of changed files
@pytest.mark.parametrize(("name", "path"), [(n, p) for n, p in JSON_GOLDENS if p.endswith(".json")])
def test_only_data_errors_escape_from_wrong_values_anywhere(name: str, path: str) -> None:
    text = json.dumps(shortened(json.loads(golden(path))))
    # Test one place of each kind: `benchmarks[3].name` breaks in the same way as `benchmarks[0].name`.
    kinds = {tuple("[]" if isinstance(key, int) else key for key in place): place for place in paths(json.loads(text))}
    for at, place in enumerate(list(kinds.values())[:: 1 + len(kinds) // KINDS]):
        for turn, value in enumerate(HOSTILE, start=at):
            changed = replaced(json.loads(text), place, value)
            harmless(Source(path, json.dumps(changed).encode()), name, turn)


def harmless(source: Source, name: str, turn: int) -> None:
    """Read by name, and in turn by detection: there is a run that our format holds, or a DataError with a next step."""
    for tool in (name, *in_turn(["auto"], turn)):
        error: DataError | None = None
        try:
            run = collect_sources([source], Reading(tool=tool))
        except DataError as refusal:
            error = refusal
        else:
            assert decode_run(encode_run(run), place="again") == run
        if error is not None:
            assert error.next_step
            # The message can be encoded, so it can be printed.
            str(error).encode()


def shortened(value: Any) -> Any:
    """Keep three members of long lists of objects or lists, so that each of thousands of changed files is small."""
    if isinstance(value, dict):
        return {key: shortened(member) for key, member in value.items()}
    if isinstance(value, list):
        few = (
            [value[0], value[len(value) // 2], value[-1]]
            if len(value) > 4 and isinstance(value[-1], dict | list)
            else value
        )
        return [shortened(member) for member in few]
    return value


def paths(value: Any, path: tuple[Any, ...] = ()) -> Any:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in items:
        yield from paths(member, (*path, key))


def replaced(root: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    node = root
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    return root
