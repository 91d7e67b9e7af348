"""Coverage-guided fuzzing of all readers of untrusted bytes, by atheris, starting from the real fixtures.

    pip install atheris
    python -m tests.fuzz.guided --seconds 300 [--target results|jmh|profiles|…] [--corpus DIRECTORY]

Every input has to be read or refused with a next step. Other inputs are kept next to the corpus as `crash-…`, and the
exit code is 1. Inputs that reach new code stay in the corpus, from which the next call starts. Without --target all
targets share the time.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path

import atheris  # type: ignore[import-untyped,import-not-found,unused-ignore]  # installed by hand

from perf_culprit.action import command_grammar
from perf_culprit.config.reader import parse_config
from perf_culprit.errors import BotError
from perf_culprit.model.report import decode_report, encode_report
from perf_culprit.model.run_file import decode_run
from perf_culprit.read.profiles.profile_reading import read_profiles
from perf_culprit.read.results.result_formats import READERS

# Only the fuzzing processes measure their coverage.
INSIDE = sys.argv[1:2] == ["--inside"]
with atheris.instrument_imports(include=["perf_culprit"]) if INSIDE else nullcontext():
    from tests.fuzz import readers
    from tests.support.reports import every_conclusion

MOST_BYTES = readers.MAX_SEED_BYTES
CONFIGURATION = readers.GOLDEN.parents[1] / "docs" / "configuration.md"
COMMANDS = (
    b"/perf-bisect benchmark=parse good=v1.0 metric=auto",
    b"/perf-accept parse because the 'new parser' checks more",
    b"/perf-help",
    b"/perf-retry",
)


def refused(read: Callable[[bytes], object]) -> Callable[[bytes], None]:
    """Wrap a reader so that refusals pass, and errors that a user would see as a bug are raised."""

    def target(data: bytes) -> None:
        try:
            read(data)
        except BotError as error:
            if not error.next_step:
                raise AssertionError("a refusal without a next step") from error
            str(error).encode()

    return target


def read_profile(data: bytes) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        read_profiles([file.name])


TARGETS: Mapping[str, Callable[[bytes], None]] = {
    "results": lambda data: readers.check(data, "auto"),
    "profiles": refused(read_profile),
    "run": refused(lambda data: decode_run(data, place="run.json")),
    "report": refused(lambda data: decode_report(data, place="report.json")),
    "configuration": refused(lambda data: parse_config(data, place="config.yml")),
    "command": refused(lambda data: command_grammar.parse_comment(data.decode("utf-8", "replace"))),
    **{reader: lambda data, reader=reader: readers.check(data, reader) for reader in READERS},  # type: ignore[misc]
}


def seeds(target: str) -> list[bytes]:
    """Return real files of the target's kind, if there are any."""
    if target in ("results", *READERS):
        return readers.seeds(None if target == "results" else target)
    if target == "command":
        return list(COMMANDS)
    if target == "report":
        return [encode_report(report) for report in every_conclusion().values()]
    if target == "configuration":
        return [block.encode() for block in re.findall(r"```yaml\n(.*?)```", CONFIGURATION.read_text(), re.DOTALL)]
    files = sorted((readers.GOLDEN / {"profiles": "profiles", "run": "collect/perf_culprit"}[target]).rglob("*"))
    return [data for file in files if file.is_file() and len(data := file.read_bytes()) <= MOST_BYTES]


def fuzz(target: str, *, seconds: int, seed: int, corpus: Path) -> int:
    """Fuzz the target in a separate process, which libFuzzer ends itself; return its exit code."""
    folder = corpus / target
    folder.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(seeds(target)):
        (folder / f"seed-{number}").write_bytes(data)
    options = [
        f"-max_total_time={seconds}",
        f"-seed={seed}",
        f"-max_len={MOST_BYTES}",
        "-timeout=20",
        "-rss_limit_mb=2048",
    ]
    options += [f"-artifact_prefix={corpus}/", "-print_final_stats=1", "-verbosity=0"]
    command = [sys.executable, "-m", "tests.fuzz.guided", "--inside", target, *options, str(folder)]
    # The raised error is on standard output, the fuzzer's own figures on standard error.
    ended = subprocess.run(
        command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    lines = [line for line in ended.stdout.splitlines() if not line.startswith("INFO: Instrumenting")]
    executed = next((line.split()[-1] for line in lines if "number_of_executed_units" in line), "?")
    sys.stdout.write(f"{target}: {executed} inputs, exit {ended.returncode}\n")
    sys.stdout.flush()
    if ended.returncode:
        sys.stderr.write("\n".join([*lines[-60:], ""]))
    return ended.returncode


def main() -> int:
    if INSIDE:
        atheris.Setup([sys.argv[0], *sys.argv[3:]], TARGETS[sys.argv[2]])
        atheris.Fuzz()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--target", choices=tuple(TARGETS), action="append")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpus", type=Path, default=Path("fuzz-corpus"))
    arguments = parser.parse_args()
    targets = arguments.target or list(TARGETS)
    each = max(1, arguments.seconds // len(targets))
    return max(min(fuzz(target, seconds=each, seed=arguments.seed, corpus=arguments.corpus), 1) for target in targets)


if __name__ == "__main__":
    sys.exit(main())
