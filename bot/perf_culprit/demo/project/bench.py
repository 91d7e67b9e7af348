"""python bench.py FILE [SAMPLES]: measures textkit and writes a run in perf-culprit's own format."""

import json
import random
import sys
import time

import textkit

SAMPLES = int(sys.argv[2]) if len(sys.argv) > 2 else 4
LOOP_SECONDS = 0.003
LOOPS_PER_SAMPLE = 2

rng = random.Random(7)
words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 9))) for _ in range(400)]
text = " ".join(rng.choices(words, k=1500))
documents = [" ".join(rng.choices(words, k=40)) for _ in range(30)]
tokens = textkit.tokenize(text)
table = textkit.index(documents)

BENCHMARKS = {
    "tokenize": lambda: textkit.tokenize(text),
    "count": lambda: textkit.count(tokens),
    "index": lambda: textkit.index(documents),
    "search": lambda: [textkit.search(table, f"{a} {b}") for a, b in zip(words[:50], words[50:100])],
    "wrap": lambda: textkit.wrap(text, 72),
}


def cpu_seconds(function, calls):
    start = time.process_time()
    for _ in range(calls):
        function()
    return (time.process_time() - start) / calls


def measure(function):
    """Each sample is the fastest of a few loops: what disturbs a loop only ever makes it slower."""
    calls = max(1, round(LOOP_SECONDS / max(cpu_seconds(function, 3), 1e-7)))
    return [min(cpu_seconds(function, calls) for _ in range(LOOPS_PER_SAMPLE)) for _ in range(SAMPLES)]


result = {
    "format": "perf-culprit-run",
    "version": 1,
    "benchmarks": [
        {"name": name, "metric": "time", "unit": "s", "direction": "lower_is_better", "samples": measure(function)}
        for name, function in BENCHMARKS.items()
    ],
}
with open(sys.argv[1], "w") as file:
    json.dump(result, file)
