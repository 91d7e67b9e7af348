"""Results of readers for content that a test gives, or for a golden file."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from perf_culprit.model.call_tree import Profile
from perf_culprit.model.run import Benchmark, Run
from perf_culprit.read.profiles.profile_reading import read_profiles
from perf_culprit.read.results.result_formats import READERS
from perf_culprit.read.results.source import Source
from tests.support.goldens import golden

PROFILES = Path(__file__).parents[1] / "golden" / "profiles"


def parse(name: str, content: Any) -> Run:
    return READERS[name].read(Source("f.json", json.dumps(content).encode()))


def from_golden(path: str) -> Any:
    return json.loads(golden(path))


def parse_golden(name: str, path: str) -> Run:
    return READERS[name].read(Source(path, golden(path)))


def keyed(parsed: Run) -> dict[tuple[str, str], Benchmark]:
    return {(benchmark.name, benchmark.metric.name): benchmark for benchmark in parsed.benchmarks}


def times(parsed: Run) -> dict[str, float]:
    return {benchmark.name: benchmark.value for benchmark in parsed.benchmarks}


def only_profile(name: str) -> Profile:
    (profile,) = read_profiles([str(PROFILES / name)]).profiles
    return profile


def own_costs(profile: Profile) -> Mapping[str, float]:
    results: dict[str, float] = {}
    for node in profile.nodes:
        results[node.method] = results.get(node.method, 0.0) + node.self_ms[0]
    return results
