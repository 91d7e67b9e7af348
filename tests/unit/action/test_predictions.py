"""The changed designs that are simulated. tests/integration/test_action.py tests the resulting predictions."""

from pathlib import Path

from perf_culprit.action.jobs.predictions import changed_files, predict
from perf_culprit.config.settings import Config
from perf_culprit.model.file_limits import FILE_LIMITS
from tests.support.git_repository import chain, import_commits, init_repository, run_git


def test_a_design_too_large_to_be_written_by_a_person_is_not_read(tmp_path: Path) -> None:
    repository = init_repository(tmp_path / "repository")
    base = import_commits(repository, chain("c", 1))["c1"]
    trees = []
    for number in range(2):
        text = "#" * FILE_LIMITS.model_bytes + f"{number}"
        blob = run_git(repository, "hash-object", "-w", "--stdin", stdin=text).strip()
        trees.append(run_git(repository, "mktree", stdin=f"100644 blob {blob}\tdesign.yml\n").strip())
    author = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    ends = [run_git(repository, *author, "commit-tree", "-p", base, "-m", "d", tree).strip() for tree in trees]
    told: list[str] = []
    assert changed_files(repository, base=ends[0], head=ends[1], patterns=("*.json",)) == ()
    models = changed_files(repository, base=ends[0], head=ends[1], patterns=("*.yml",))
    assert predict(repository, models, config=Config(), tell=told.append) == ()
    (line,) = told
    assert line.startswith("no prediction: design.yml: holds more than 256 KiB")
