"""Answers a request to each of four services and logs every method it runs, as an instrumented server does.

    python serve.py LOG
"""

import os
import random
import sys
import time

import textkit

# The quickest of so many answers is logged: what disturbs one only ever makes it slower.
ANSWERS = 20

rng = random.Random(11)
words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 9))) for _ in range(400)]
text = " ".join(rng.choices(words, k=600))
documents = [" ".join(rng.choices(words, k=40)) for _ in range(20)]
table = textkit.index(documents)

SERVICES = {
    "statistics": lambda: textkit.count(textkit.tokenize(text)),
    "import": lambda: textkit.index(documents),
    "search": lambda: [textkit.search(table, f"{a} {b}") for a, b in zip(words[:20], words[20:40])],
    "print": lambda: textkit.wrap(text, 72),
}

lines, label = [], []


def logged(name, function):
    """`label` is the place in the call's tree: the number of the callee at each level."""

    def run(*arguments):
        label[-1] += 1
        place = ".".join(map(str, label))
        label.append(0)
        start = time.process_time()
        try:
            return function(*arguments)
        finally:
            elapsed_ms = 1000 * (time.process_time() - start)
            label.pop()
            lines.append((place, name, elapsed_ms))

    return run


for name in ("tokenize", "count", "index", "search", "wrap"):
    setattr(textkit, name, logged(f"textkit.{name}", getattr(textkit, name)))



def answer(service, function):
    """The methods that ran, the service's own last."""
    lines.clear()
    label[:] = [0]
    logged(f"serve.{service}", function)()
    return list(lines)


with open(sys.argv[1], "w") as log:
    for service, function in SERVICES.items():
        quickest = min((answer(service, function) for _ in range(ANSWERS)), key=lambda methods: methods[-1][2])
        call = f"[main] service={service} call={service}-{os.getpid()}"
        for place, name, elapsed_ms in quickest:
            log.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {call} {place} {name} {elapsed_ms:.4f} ms\n")
