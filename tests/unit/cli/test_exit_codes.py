"""One exit code per event: 3 for an unreadable input, 2 for a wrong option, each with a next step."""

import subprocess
from pathlib import Path

import pytest

from perf_culprit.cli.entry import main
from perf_culprit.errors import EXIT_NO_DATA, EXIT_USAGE

GOOD = Path(__file__).parents[2] / "golden/collect/pytest_benchmark/with_data.json"
# INPUT is the unreadable file, GOOD is a readable one.
READERS = {
    "collect": "collect INPUT",
    "compare, target": "compare --baseline GOOD --target INPUT",
    "compare, baseline": "compare --baseline INPUT --target GOOD",
    "compare, confirm": "compare --baseline GOOD --target GOOD --confirm INPUT",
    "compare, diagnosis": "compare --baseline GOOD --target GOOD --diagnosis INPUT",
    "record": "record INPUT",
    "publish": "publish INPUT --repository octocat/hello --sha aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "changes": "changes INPUT",
    "audit": "audit --files INPUT",
    "diagnose, logs": "diagnose --log INPUT --pattern labelled",
    "diagnose, profile": "diagnose --profile INPUT",
    "diagnose, two profiles": "diagnose --baseline INPUT --target INPUT",
    "diagnose, logs of two revisions": "diagnose --baseline INPUT --target INPUT --pattern labelled",
    "bisect-job": "bisect-job --request INPUT --job 1 --output out.json",
}
UNREADABLE = {
    "missing": None,
    "empty": b"",
    "binary": bytes(range(256)) * 8,
    "truncated": b'{"results": [{"command": "sleep", "times": [1.0, 2.',
}
WRONG = {
    "an unknown command": ("compre GOOD", "did you mean compare?"),
    "an unknown option": ("collect GOOD --tol auto", "did you mean --tool?"),
    "an unknown option that is required": ("compare --targt GOOD", "did you mean --target?"),
    "a commit that nobody reads": ("compare --baseline GOOD --target GOOD --commit v1", "leave out one or the other"),
    "a missing option": ("compare --baseline GOOD", "`perf-culprit compare --help`"),
    "an argument too many": ("completion bash GOOD", "`perf-culprit completion --help`"),
    "a number that is none": ("measure --commits a b --run x --rounds 0", "`perf-culprit measure --help`"),
    "an unknown tool": ("collect GOOD --tool hyperfin", "perf-culprit formats NAME"),
    "an unknown detector": ("compare --baseline GOOD --target GOOD --detector anowa", "anova"),
    "no change": ("compare --baseline GOOD --target GOOD --minimum-effect 5", "docs/configuration.md"),
    "a suite without a name": ("collect GOOD --suite " + "x" * 101, "docs/configuration.md"),
    "no configuration": ("collect GOOD --config none.yml", "check the path"),
    "no pattern": ("diagnose --log GOOD --pattern none", "labelled"),
    "an unknown format of profiles": ("diagnose --profile GOOD --format none", "speedscope"),
    "an unknown schema": ("schema raport", "did you mean report?"),
}


@pytest.fixture(autouse=True)
def _empty_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    author = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    for command in (("init", "--quiet"), (*author, "commit", "--quiet", "--allow-empty", "--message", "x")):
        subprocess.run(["git", *command], check=True)


def run(command: str) -> int:
    return main([{"INPUT": "input", "GOOD": str(GOOD)}.get(word, word) for word in command.split()])


@pytest.mark.parametrize("content", UNREADABLE.values(), ids=UNREADABLE.keys())
@pytest.mark.parametrize("command", READERS.values(), ids=READERS.keys())
def test_an_unreadable_input_is_no_data(
    command: str, content: bytes | None, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        Path("input").write_bytes(content)
    assert run(command) == EXIT_NO_DATA
    message = capsys.readouterr().err
    assert message.startswith("error: ")
    assert "\nNext: " in message
    assert "unexpected" not in message


@pytest.mark.parametrize(("command", "hint"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_option_is_a_usage_error(command: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(command) == EXIT_USAGE
    _, _, next_step = capsys.readouterr().err.partition("\nNext: ")
    assert hint in next_step


def test_what_is_there_gives_no_error() -> None:
    """Show that the cases above fail because of their own input or option."""
    assert run("collect GOOD") == 0
    assert run("compare --baseline GOOD --target GOOD") == 0
