"""The files that `init` writes: those of the documentation, filled in."""

import json
import shlex
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

import yaml

from bot import __version__
from bot.release import COMMIT

# Of the 60 that the job has in the template: what is left is for its set-up, builds and the report.
MINUTES: Final = 45
ONE_FILE: Final = ("perf.yml",)
SPLIT: Final = ("perf.yml", "perf-report.yml", "perf-command.yml", "perf-bisect.yml")
BACKFILL: Final = ("perf-backfill.yml",)
CONFIGURATION: Final = ".github/perf-culprit.yml"
WORKFLOWS: Final = ".github/workflows"
SCHEMA: Final = "https://raw.githubusercontent.com/perf-culprit/perf-culprit/main/docs/config.schema.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """What was found out or answered. With a commit `since` old ones are measured, and nothing else is written."""

    run: str
    setup: str
    branch: str = "main"
    split: bool = False
    since: str = ""


def new_files(choice: Choice) -> dict[str, str]:
    """Path in the repository -> content."""
    form, names = ("split", SPLIT) if choice.split else ("one-file", ONE_FILE)
    if choice.since:
        form, names = "backfill", BACKFILL
    templates = files("bot.cli.init") / "templates" / form
    written = {f"{WORKFLOWS}/{name}": _filled((templates / name).read_text("utf-8"), choice) for name in names}
    return written if choice.since else {**written, CONFIGURATION: _configuration(choice)}


def _filled(text: str, choice: Choice) -> str:
    own = f"perf-culprit=={__version__}"
    if choice.setup.startswith("pip install ") and "&&" not in choice.setup:
        install = f"{choice.setup} {own}"
    else:
        install = f"{choice.setup} && pip install {own}" if choice.setup else f"pip install {own}"
    values = {
        "@COMMIT@": COMMIT,
        "@BRANCH@": scalar(choice.branch),
        "@SINCE@": scalar(choice.since),
        "@SETUP@": scalar(choice.setup),
        "@RUN@": scalar(choice.run),
        "@INSTALL@": scalar(install),
        "@MEASURE@": scalar(
            f"perf-culprit measure --run {shlex.quote(choice.run)} "
            f"--until-decided --minutes {MINUTES} --output measured"
        ),
    }
    for name, value in values.items():
        text = text.replace(name, value)
    return text


def scalar(text: str) -> str:
    """As YAML: plain where that reads back as the same text, else in double quotes, which JSON's are."""
    try:
        is_plain = "\n" not in text and yaml.safe_load(f"key: {text}") == {"key": text}
    except yaml.YAMLError:
        is_plain = False
    return text if is_plain else json.dumps(text, ensure_ascii=False)


def _configuration(choice: Choice) -> str:
    lines = [f"# yaml-language-server: $schema={SCHEMA}", "minimum-effect: 5%", "levels: {warn: 5%, fail: 10%}"]
    if choice.split:
        # What /perf-bisect runs stands on the default branch, where no pull request can change it.
        lines += ["bisect:", f"  run: {scalar(choice.run)}"]
    return "\n".join(lines) + "\n"
