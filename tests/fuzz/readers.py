"""Fuzzes the readers of results and counters by mutation of the real fixtures.

    python -m tests.fuzz.readers --seconds 120 [--reader jmh] [--seed 0] [--keep DIRECTORY]

Every input has to give a run that survives our own format, or a DataError with a next step. Anything else is a crash:
its input is kept, and the exit code is 1. The same seed gives the same inputs.
"""

import argparse
import random
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from perf_culprit.errors import DataError
from perf_culprit.model.run_file import decode_run, encode_run
from perf_culprit.read.results.collect import Reading, collect_sources
from perf_culprit.read.results.result_formats import READERS
from perf_culprit.read.results.source import Source

GOLDEN = Path(__file__).parents[1] / "golden"
MAX_SEED_BYTES = 20_000
SLOW_SECONDS = 5.0
TOKENS = (
    *(b"", b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"NaN", b"-inf", b"1e999", b"-1", b"0", b"9" * 400, b"\xc2\xb2"),
    *(b'"', b"'", b"\n", b"\r", b"\t", b",", b";", b":", b"|", b"{", b"}", b"[", b"]", b"[" * 3000, b"<", b"]]>"),
    *(b"null", b"true", b"{}", b"[]", b'"a":1,"a":2', b"<not counted>", b"<not supported>", b"\\ud800", b"\xd9\xa3"),
)


def seeds(reader: str | None) -> list[bytes]:
    """Return the fixtures without their expected results, only those of `reader` if one is named."""
    files = (path for folder in ("collect", "counters") for path in sorted((GOLDEN / folder).rglob("*")))
    golden = (path for path in files if path.is_file() and not path.name.endswith((".expected.json", ".md")))
    return [data for path in golden if (data := path.read_bytes()[:MAX_SEED_BYTES]) and _is_of(data, reader)]


def _is_of(data: bytes, reader: str | None) -> bool:
    # A document per line comes to its reader in parts.
    parts = (data, data.partition(b"\n")[0])
    return reader is None or any(READERS[reader].matches(Source("results", part)) for part in parts)


def mutated(data: bytes, others: Sequence[bytes], generator: random.Random) -> bytes:
    """Return the data with a few changes: bytes, tokens, pieces removed, repeated, moved or taken from another file."""
    for _ in range(generator.choice((1, 1, 2, 4, 8))):
        start = generator.randrange(len(data) + 1)
        end = min(len(data), start + generator.choice((0, 1, 1, 2, 5, 20, 200)))
        piece = data[start:end]
        choice = generator.randrange(8)
        if choice == 0:
            data = data[:start] + bytes([generator.randrange(256)]) + data[end:]
        elif choice <= 2:
            data = data[:start] + generator.choice(TOKENS) + data[end:]
        elif choice == 3:
            data = data[:start] + data[end:]
        elif choice == 4:
            data = data[:start] + piece * generator.choice((2, 3, 50)) + data[end:]
        elif choice == 5:
            lines = data.split(b"\n")
            generator.shuffle(lines) if generator.random() < 0.2 else lines.insert(
                generator.randrange(len(lines) + 1), generator.choice(lines)
            )
            data = b"\n".join(lines)
        elif choice == 6:
            other = generator.choice(others)
            at = generator.randrange(len(other) + 1)
            data = data[:start] + other[at : at + 300] + data[end:]
        else:
            cells = data.split(b",")
            first, second = generator.randrange(len(cells)), generator.randrange(len(cells))
            cells[first], cells[second] = cells[second], cells[first]
            data = b",".join(cells)
        data = data[: 4 * MAX_SEED_BYTES]
    return data


def check(data: bytes, tool: str) -> None:
    """Read the data; raise the errors that a user would see as a bug."""
    try:
        run = collect_sources([Source("results", data)], Reading(tool=tool))
    except DataError as error:
        if not error.next_step:
            raise AssertionError("a refusal without a next step") from error
        str(error).encode()
        return
    encoded = encode_run(run)
    if encode_run(decode_run(encoded, place="again")) != encoded:
        raise AssertionError("the run does not survive our own format")


def fuzz(*, seconds: float, reader: str | None, seed: int, keep: Path) -> int:
    generator = random.Random(seed)
    corpus, everything = seeds(reader), seeds(None)
    tools = [reader] if reader else ["auto", *READERS]
    end, count, crashes = time.monotonic() + seconds, 0, dict[str, int]()
    while time.monotonic() < end:
        data = mutated(generator.choice(corpus), everything, generator)
        tool = tools[0] if generator.random() < 0.7 else generator.choice(tools)
        count += 1
        start = time.process_time()
        try:
            check(data, tool)
            if time.process_time() - start > SLOW_SECONDS:
                raise AssertionError(f"took longer than {SLOW_SECONDS:g} s")  # noqa: TRY301 - one place keeps inputs
        except Exception as error:  # noqa: BLE001 - any exception is the finding
            _keep(error, data, tool, keep=keep, crashes=crashes)
    total = sum(crashes.values())
    sys.stdout.write(f"{count:,} inputs, {len(crashes)} kinds of crashes in {total} inputs (seed {seed})\n")
    return 1 if crashes else 0


def _keep(error: Exception, data: bytes, tool: str, *, keep: Path, crashes: dict[str, int]) -> None:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    kind = f"{type(error).__name__} {Path(frame.filename).name}:{frame.lineno}"
    crashes[kind] = crashes.get(kind, 0) + 1
    if crashes[kind] == 1:
        keep.mkdir(parents=True, exist_ok=True)
        path = keep / f"{kind.replace(' ', '-').replace(':', '-')}.input"
        path.write_bytes(data)
        sys.stderr.write(f"{kind} with tool {tool}: {error!s:.200}\n  kept as {path}\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--reader", choices=tuple(READERS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path("fuzz-crashes"))
    arguments = parser.parse_args()
    return fuzz(seconds=arguments.seconds, reader=arguments.reader, seed=arguments.seed, keep=arguments.keep)


if __name__ == "__main__":
    sys.exit(main())
