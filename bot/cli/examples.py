"""What each command's help shows of its use. A test parses every line."""

from collections.abc import Mapping
from typing import Final

EXAMPLES: Final[Mapping[str, tuple[str, ...]]] = {
    "init": ("perf-culprit init", "perf-culprit init --check"),
    "doctor": ("perf-culprit doctor",),
    "collect": (
        "perf-culprit collect bench.json --json run.json",
        "go test -bench . -count 10 | perf-culprit collect -",
    ),
    "compare": (
        "perf-culprit compare --baseline base/*.json --target head/*.json --html report.html --open",
        "perf-culprit compare --target bench.json --repo . --base main",
    ),
    "mcp": ("perf-culprit mcp", "perf-culprit mcp --allow-run"),
    "import": ("perf-culprit import data.js --dry-run", "perf-culprit import .asv/results"),
    "history stats": ("perf-culprit history stats",),
    "history compact": ("perf-culprit history compact",),
    "history copy": ("perf-culprit history copy origin sqlite:///history.db",),
    "history migrate": ("perf-culprit history migrate",),
    "record": ("perf-culprit record bench.json",),
    "publish": ("perf-culprit publish report.json --pull-request 12",),
    "accept": ("perf-culprit accept parse --reason 'the new parser checks more'",),
    "measure": ("perf-culprit measure --commits main HEAD --run 'python bench.py' --output measured",),
    "bisect": ("perf-culprit bisect --good v1.4 --bad HEAD --run 'python bench.py' --benchmark parse",),
    "bisect-job": (),
    "backfill": ("perf-culprit backfill --since v1.0 --limit 30 --run 'python bench.py'",),
    "audit": ("perf-culprit audit --repo .", "perf-culprit audit --files runs/*.json --svg curves.svg"),
    "changes": (
        "perf-culprit changes builds.csv --column time --index commit",
        "perf-culprit changes --repo . --benchmark 'parse*'",
        "perf-culprit changes --releases v1.0=old.json v1.1=new.json --html matrix.html",
    ),
    "dashboard": ("perf-culprit dashboard site --open",),
    "diagnose": (
        "perf-culprit diagnose --log calls.log --pattern labelled",
        "perf-culprit diagnose --baseline before.speedscope.json --target after.speedscope.json --flame calls.html",
    ),
    "simulate": (
        "perf-culprit simulate model.yml --saturation",
        "perf-culprit simulate new.yml --against old.yml --html report.html",
    ),
    "demo": ("perf-culprit demo",),
    "formats": ("perf-culprit formats",),
    "schema": ("perf-culprit schema report",),
    "completion": (
        "perf-culprit completion bash > ~/.local/share/bash-completion/completions/perf-culprit",
        "perf-culprit completion zsh > ~/.zfunc/_perf-culprit",
    ),
}
