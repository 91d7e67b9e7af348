"""What `pip install perf-culprit` gives: the wheel alone, without extras, in an empty folder."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from bot import __version__

PROJECT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow  # builds, installs, and measures the demo for real
NO_INDEX_TEXTS = ("No matching distribution", "Could not find a version", "Temporary failure in name resolution")


def run(*command: str | Path, cwd: Path) -> str:
    ours = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE")
    environment = {name: value for name, value in os.environ.items() if name not in ours}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    if done.returncode and command[1:3] == ("-m", "pip") and any(text in done.stderr for text in NO_INDEX_TEXTS):
        pytest.skip("no package index within reach")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    constraints = PROJECT / ".ci" / "constraints.txt"
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, PROJECT, cwd=folder)
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv", cwd=folder)
    (wheel,) = folder.glob("*.whl")
    install(folder, "--constraint", constraints, wheel)
    return folder


def install(folder: Path, *what: str | Path) -> None:
    """Into the venv, by the pip at hand: one of its own, and compiling all of SciPy, take five times as long."""
    pip = (sys.executable, "-m", "pip", "--python", folder / "venv" / "bin" / "python")
    run(*pip, "install", "--quiet", "--no-compile", *what, cwd=folder)


def test_it_holds_every_file_of_the_package(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    tracked = run("git", "ls-files", "bot", cwd=PROJECT).split()
    assert len(tracked) > 600
    assert set(tracked) <= set(zipfile.ZipFile(wheel).namelist())


def test_the_demo_works_in_an_empty_folder(built: Path, tmp_path: Path) -> None:
    """All its stages, each as short as it can be; tests/integration/test_demo.py takes the time of the default."""
    shorter = "run.ROUNDS, culprit.SEARCH_MINUTES, culprit.PAIRS = 5, 0.02, 1"
    code = f"from bot.demo import culprit, run; {shorter}; from bot.cli import main; raise SystemExit(main(['demo']))"
    run(built / "venv" / "bin" / "python", "-c", code, cwd=tmp_path)
    assert __version__ in run(built / "venv" / "bin" / "perf-culprit", "--version", cwd=tmp_path)
    assert {"comment.md", "report.html", "report.json"} <= {path.name for path in (tmp_path / "demo").iterdir()}


def test_the_package_index_can_show_it(built: Path) -> None:
    """The readme renders, the metadata is whole."""
    python = built / "venv" / "bin" / "python"
    install(built, "twine")
    (wheel,) = built.glob("*.whl")
    assert "PASSED" in run(python, "-m", "twine", "check", "--strict", wheel, cwd=built)
    code = (
        "import importlib.metadata as m; d = m.metadata('perf-culprit'); print(d['Requires-Python'], d.get_payload())"
    )
    text = run(python, "-c", code, cwd=built)
    assert text.startswith(">=3.11 ")
    targets = re.findall(r"\]\((.*?)\)", text)
    assert len(targets) > 20
    assert [target for target in targets if not target.startswith("https://")] == []
    assert f"/v{__version__}/docs/comment.png" in "".join(targets)
