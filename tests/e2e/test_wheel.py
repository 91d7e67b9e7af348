"""The result of `pip install perf-culprit`: the wheel alone, without extras, in an empty folder. And the whole demo.

The demo really measures, so the assertions hold for any noise.
"""

import json
import re
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from perf_culprit import __version__
from perf_culprit.config.settings import Config
from perf_culprit.demo.demo_repository import DemoRepository
from perf_culprit.demo.story import _dashboard
from tests.support.git_repository import run_git
from tests.support.own_environment import PROJECT, install, own_environment, run

pytestmark = pytest.mark.slow  # builds, installs, and measures the demo for real


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder, cwd=PROJECT)
    (wheel,) = folder.glob("*.whl")
    own_environment(folder, wheel)
    return folder


@dataclass(frozen=True)
class Demo:
    folder: Path
    told: str


@pytest.fixture(scope="module")
def demo(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """Run the demo of the installed wheel, or of a clone if the wheel cannot be installed."""
    try:
        program = request.getfixturevalue("built") / "venv" / "bin" / "perf-culprit"
    except pytest.skip.Exception:
        program = Path(sys.executable).with_name("perf-culprit")
    empty = tmp_path_factory.mktemp("empty")
    told = run(program, "demo", cwd=empty)
    return Demo(empty / "demo", told)


def test_it_holds_every_file_of_the_package(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    tracked = run("git", "ls-files", "bot/perf_culprit", cwd=PROJECT).split()
    assert len(tracked) > 350
    assert {path.removeprefix("bot/") for path in tracked} <= set(zipfile.ZipFile(wheel).namelist())


# Names of other programs' modules that this project once had at its top level, or has inside.
NEIGHBOURS = ("bot", "trace", "stats", "model", "judge", "search")


def test_a_project_with_packages_of_those_names_runs_its_tests_and_ours(built: Path, tmp_path: Path) -> None:
    for name in NEIGHBOURS:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("")
        (tmp_path / name / "main.py").write_text(f"def who() -> str:\n    return {name!r}\n")
    imports = "".join(f"from {name}.main import who as {name}_who\n" for name in NEIGHBOURS)
    asserts = "".join(f"    assert {name}_who() == {name!r}\n" for name in NEIGHBOURS)
    (tmp_path / "test_project.py").write_text(f"{imports}\n\ndef test_project():\n{asserts}")
    (tmp_path / "old.txt").write_text("1.0\n1.1\n1.0\n")
    install(built, "pytest")
    programs = built / "venv" / "bin"
    assert "1 passed" in run(programs / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=tmp_path)
    assert "1 passed" in run(
        programs / "pytest", "-q", "-p", "no:cacheprovider", "--rootdir=.", "--import-mode=prepend", cwd=tmp_path
    )
    same = ("compare", "--baseline", "old.txt", "--target", "old.txt")
    assert "benchmark" in run(programs / "perf-culprit", *same, cwd=tmp_path)
    assert "benchmark" in run(programs / "python", "-P", "-m", "perf_culprit", *same, cwd=tmp_path)


def test_a_folder_of_wheels_is_enough_without_an_index(built: Path, tmp_path: Path) -> None:
    """The commands of docs/how-to/without-internet.md; ours comes from `built`, as it may not be published yet."""
    pip = (sys.executable, "-m", "pip")
    run(*pip, "download", "perf-culprit", "--dest", "wheelhouse", "--find-links", built, "--quiet", cwd=tmp_path)
    run(sys.executable, "-m", "venv", "--without-pip", "venv", cwd=tmp_path)
    offline = (*pip, "--python", "venv/bin/python", "install", "--no-index", "--find-links", "wheelhouse")
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9"}
    run(*offline, "--quiet", "--no-compile", "perf-culprit", cwd=tmp_path, more=nowhere)
    assert __version__ in run(tmp_path / "venv" / "bin" / "perf-culprit", "--version", cwd=tmp_path)


def test_it_says_its_version(built: Path, tmp_path: Path) -> None:
    assert __version__ in run(built / "venv" / "bin" / "perf-culprit", "--version", cwd=tmp_path)


def test_the_demo_tells_its_story_and_leaves_its_files(demo: Demo) -> None:
    report = json.loads((demo.folder / "work" / "report.json").read_text())
    assert {finding["benchmark"] for finding in report["findings"]} == {"tokenize", "count", "index", "search", "wrap"}
    assert report["baseline_source"] == "paired"
    assert "<table" in (demo.folder / "report.html").read_text()
    assert (demo.folder / "comment.md").is_file()
    # The result files are at the top level; the first lines say what one run can show.
    assert {path.name for path in demo.folder.iterdir()} - {"dashboard"} == {
        ".perf-culprit-demo",
        "comment.md",
        "report.html",
        "work",
    }
    assert "5 runs stored; what one run can tell: " in demo.told
    assert "report.html - the same with every sample" in demo.told
    tokenize = next(finding for finding in report["findings"] if finding["benchmark"] == "tokenize")
    # Never "excluded", however busy the machine is.
    assert tokenize["verdict"] in {"regression", "suspected", "not_seen", "untested"}
    assert tokenize["relative_change"] > 0
    if report["conclusion"] != "regression":
        assert "[4/5] which commit: nothing to look for" in demo.told
        return
    # A noisy machine may leave the commit or the method open, but must not name another.
    diagnosis = report["diagnosis"]
    commits = run_git(demo.folder / "work" / "textkit", "log", "--format=%H %s", "main..fold-accents").splitlines()
    (culprit,) = (line.split()[0] for line in commits if "Fold accents" in line)
    assert diagnosis["commit"] in {None, culprit}
    assert {one["service"] for one in diagnosis["services"]} == {"statistics", "import", "search", "print"}
    suspects = [one["method"] for one in diagnosis["suspects"] if one["reasons"]]
    assert suspects[:1] in ([], ["textkit.tokenize"])


def test_the_dashboard_of_the_demo_shows_its_history(demo: Demo, tmp_path: Path) -> None:
    """The wheel alone lacks the plotting library and reports that; here it is installed."""
    folder = demo.folder / "dashboard"
    if "no dashboard: " in demo.told:
        assert not folder.exists()
        branch = run_git(demo.folder / "work" / "textkit", "rev-list", "--reverse", "main..fold-accents").split()
        repository = DemoRepository(
            work=demo.folder / "work" / "textkit",
            remote=demo.folder / "work" / "remote.git",
            main=(),
            branch=tuple(branch),
        )
        folder = tmp_path / "dashboard"
        pages = _dashboard(repository, folder, config=Config(suite="textkit"), say=lambda _: None)
        assert pages == (folder / "index.html",)
    assert (folder / "index.html").is_file()
    index = (folder / "data" / "index.js").read_text()
    (panel,) = json.loads(index.removeprefix("perfCulprit.index(").removesuffix(");\n"))["panels"]
    # Five runs of main and four of each commit of the pull request: enough to judge every series.
    assert len(panel["runs"]) == 25
    assert [why_not_judged for *_, why_not_judged, _ in panel["series"]] == [None] * 5


def test_the_package_index_can_show_it(built: Path) -> None:
    """The readme renders, and the metadata is complete."""
    python = built / "venv" / "bin" / "python"
    (wheel,) = built.glob("*.whl")
    assert "PASSED" in run(sys.executable, "-m", "twine", "check", "--strict", wheel, cwd=built)
    code = (
        "import importlib.metadata as m; d = m.metadata('perf-culprit'); print(d['Requires-Python'], d.get_payload())"
    )
    text = run(python, "-c", code, cwd=built)
    assert text.startswith(">=3.11 ")
    targets = re.findall(r"\]\((.*?)\)", text)
    assert len(targets) > 20
    assert [target for target in targets if not target.startswith("https://")] == []
    assert f'src="https://raw.githubusercontent.com/perf-culprit/perf-culprit/v{__version__}/docs/comment.png"' in text
