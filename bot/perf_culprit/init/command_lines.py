"""Lines of a workflow's step: those that measure, and those that are useless in a commit's own checkout."""

import re
import shlex
from typing import Final

from perf_culprit.model.file_limits import FILE_LIMITS

SCRIPTS: Final = "py|sh|js|mjs|cjs|ts|rb|php|pl|ps1|jl|R"
_TASK_RUNNERS: Final = (
    r"\b(make|just|tox|nox|npm|pnpm|yarn|bun|deno|nx|gradlew|mvnw?|rake|bazel|task|sbt|pixi|poe|hatch|invoke|composer"
    r"|mise|moon|turbo|lage|lerna|cargo (make|xtask))\b"
)
BENCHER: Final = re.compile(r"\bbencher\s+run\b")
# Commands that measure: the tool's name, and a pattern that recognizes it.
MEASURING: Final = tuple(
    (tool, re.compile(pattern, re.IGNORECASE))
    for tool, pattern in (
        ("asv", r"\basv\s+(run|continuous)\b"),
        ("hyperfine", r"(^|[;&|\s])hyperfine\s"),
        ("pytest", r"pytest\b[^;&|]*(--codspeed|--benchmark-(json|only|autosave|save|enable))"),
        ("cargo codspeed", r"\bcargo\s+codspeed\s+run\b"),
        ("cargo bench", r"\bcargo\s+(\+\S+\s+)?(-\S+\s+)*(bench|criterion)\b"),
        ("go test", r"\bgo\s+test\b.*\s--?(test\.)?bench[= ]"),
        ("PHPBench", r"\bphpbench\s+run\b"),
        ("JMH", r"gradlew?\b.*\bjmh\b|-jar\s+\S*(jmh|benchmarks?)\S*\.jar|\bjmh[:/]run\b"),
        ("BenchmarkDotNet", r"\bdotnet\s+run\b.*(bench|(-c|--configuration)[= ]Release)"),
        ("Google Benchmark", r"--benchmark_(out|format|filter|repetitions|min_time)\b"),
        ("Julia", r"\bbenchpkg\b|julia\b.*benchmark"),
        ("vitest", r"\bvitest\s+bench\b"),
        ("pytest", r"\bpytest\b(?!-).*\bbench"),
        # `worker=bench` is a variable's value.
        ("task", rf"{_TASK_RUNNERS}.*\s(?![A-Za-z_]\w*=)\S*bench"),
        ("script", rf"^([A-Z_]+=\S+\s+)*(\S+\s+){{0,6}}?[\w./-]*bench[\w./-]*\.({SCRIPTS})(\s|$)"),
        ("script", r"^([A-Z_]+=\S+\s+)*(\w+\s+(run\s+)?)?(-\w+\s+)*[\w./-]*bench[\w./-]*(\s|$)"),
    )
)
# A line that only mentions benchmarks: it installs, fetches, compares, or compiles them.
TALK: Final = re.compile(
    r"^\s*(#|echo\b|which\b|cat\b|ls\b|cd\b|mkdir\b|mv\b|cp\b|rm\b|cmp\b|git\b|gh\b|curl\b|wget\b|diff\b|jq\b|sed\b|awk\b|tar\b"
    r"|sudo\b|(\S+/)?pip3?\b|uv (pip|sync|venv)\b|apt(-get)?\b|npm (ci|i|install)\b|pnpm (i|install)\b|yarn install\b"
    r"|cargo install\b|go install\b|benchstat\b|critcmp\b|test -|\[|(if|for|done|fi|then|exit|export)\b"
    r"|(asv (publish|check|machine|preview)|cargo (check|build|clippy|fmt|test|doc|codspeed build))\b|\w+=(\S*$|\$\())"
    r"|\b(micromamba|mamba|conda|poetry|pixi|hatch|brew) (install|add|create|update)\b|pkg\"|Pkg\.\w|display|git push"
    r"|--no-run\b|--help\b|_build\b|\bcompile\b|GITHUB_(OUTPUT|ENV)|--collect-only|\bcompare\b|\bconvert\b|\breport\."
    r"|\bcheck-|\blint\b|\bbencher (archive|threshold|report)\b"
    rf"|{_TASK_RUNNERS}.*\s(build|publish|deploy|install|compile|clean|prepare|download)[-_:A-Z]?\w*[Bb]ench"
    # A script that only processes results.
    rf"|(summar|publish|upload|report|duration|comment|regression|merge|/check)[\w-]*\.({SCRIPTS})\b"
    rf"|\.({SCRIPTS}) (upload|publish|summary|ingest|merge|check)\b"
)
# A line that is useless in a commit's own checkout.
NOISE: Final = re.compile(
    r"^(#|(which|ls|pwd|free|lscpu|nproc|df)\b|echo\b(?!.*>)|cat\s+\S+$|set -|asv machine\b|benchstat\b|critcmp\b"
    r"|gh (api|pr|issue|release|run)\b"
    r"|git (config|fetch|checkout|remote|switch|stash|branch)\b|docker system\b|pip3? list\b"
    r"|\S+ (.* )?(--version|version)\b)"
    r"|GITHUB_(OUTPUT|STEP_SUMMARY|ENV|PATH|WORKSPACE)|\bgit (push|merge)\b"
    r"|\brm\s[^\n]*~/|\brm\s[^\n]*\s['\"]?/(?!tmp/)|-exec rm\b|^du\b|\b(apt|apt-get)\b.*\b(remove|purge|autoremove)\b"
)
CONTROL: Final = re.compile(r"(?m)^\s*(if|for|while|case|function)\b|<<|^\w+\(\)|^set -")


def measuring_tool(text: str) -> str:
    """Return the tool of the first line that measures, or "" if no line does."""
    lines = [re.sub(r"^((cd \S+|set -[^;&]*)\s*(&&|;)\s*)+", "", line) for line in logical_lines(text)]
    # The name of an environment does not show what runs in it.
    lines = [re.sub(r"\b(pixi run) (-e|--environment)[= ]\S+", r"\1", line) for line in lines]
    lines = [line for line in lines if not TALK.search(line)]
    return next((tool for tool, pattern in MEASURING for line in lines if pattern.search(line)), "")


def logical_lines(text: str) -> list[str]:
    """Split commands into lines. A line longer than people write is dropped."""
    joined = re.sub(r"\\\n\s*", " ", text)
    return [
        line.strip()
        for line in joined.splitlines()
        if line.strip() and len(line) <= FILE_LIMITS.command_line_characters
    ]


def without_noise(text: str) -> str:
    """Drop the lines that are of no use. A script with a control structure stays whole."""
    if CONTROL.search(text):
        return text.strip()
    return "\n".join(line for line in logical_lines(text) if not NOISE.search(line))


def bencher_command(text: str) -> tuple[str, str]:
    """Return the command that `bencher run` executes, and its adapter."""
    line = next(line for line in logical_lines(text) if BENCHER.search(line))
    try:
        words = shlex.split(BENCHER.split(line, maxsplit=1)[1])
    except ValueError:
        return "", ""
    adapter = ""
    while words:
        name, separator, value = words.pop(0).partition("=")
        if name == "--":
            break
        if not name.startswith("-"):
            words.insert(0, name + separator + value)
            break
        if not separator and not BENCHER_SWITCHES.fullmatch(name) and words:
            value = words.pop(0)
        adapter = value if name == "--adapter" else adapter
    return (words[0] if len(words) == 1 else shlex.join(words)), adapter


# Options of `bencher run` without a value.
BENCHER_SWITCHES: Final = re.compile(
    r"--(err|html|ci-(only|public)\S*|start-point-(reset|clone\S*)|thresholds-reset|allow-failure|dry-run"
    r"|quiet|error-on-alert|no-build|exec)"
)
