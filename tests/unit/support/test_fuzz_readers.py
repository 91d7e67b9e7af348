import random
from pathlib import Path

import pytest

from perf_culprit.errors import DataError
from perf_culprit.read.results.result_formats import READERS
from tests.fuzz import readers


def test_the_same_seed_gives_the_same_inputs() -> None:
    seeds = readers.seeds("hyperfine")
    first, second = [readers.mutated(seeds[0], seeds, random.Random(seed)) for seed in (3, 3)]
    assert first == second != seeds[0]


def test_a_few_hundred_inputs_crash_no_reader() -> None:
    generator = random.Random(17)
    everything = readers.seeds(None)
    for _ in range(600):
        readers.check(readers.mutated(generator.choice(everything), everything, generator), "auto")


def test_a_crash_is_kept_and_fails_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def broken(data: bytes, tool: str) -> None:
        raise KeyError(tool) if data else DataError("empty")

    monkeypatch.setattr(readers, "check", broken)
    keep = tmp_path / "crashes"
    assert readers.fuzz(seconds=0.2, reader=next(iter(READERS)), seed=0, keep=keep) == 1
    assert len(list(keep.iterdir())) == 1
