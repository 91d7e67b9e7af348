"""Every reader of counters from file to verdict: six stored runs, the first and last recorded, then comparisons."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perf_culprit.cli.entry import main
from perf_culprit.config.settings import Config
from perf_culprit.flows.compare import collect_run
from perf_culprit.read.results.result_formats import COUNTER_READERS
from perf_culprit.store.opening import open_history
from tests.support.counter_files import FILES, CounterFile
from tests.support.git_repository import chain, import_commits, init_repository

STORED = 6
PLANTED = 1.4
# Six single values prove nothing: the newest may be only in a mode that the others were not in.
PLANTED_IN_ONE_VALUE = 10
CHANGES = {"regression", "improvement", "suspected"}

pytestmark = pytest.mark.slow  # four commands on a real git history each


def test_every_reader_has_a_file() -> None:
    assert {file.reader for file in FILES} == set(COUNTER_READERS)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.reader)
def test_unchanged_is_quiet_and_a_planted_change_is_found_and_named(
    file: CounterFile, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    served = init_repository(tmp_path / "served.git", bare=True)
    commits = list(import_commits(served, chain("main", STORED + 1)).values())
    history = ["--repo", str(served), "--history", str(served)]
    rng = np.random.default_rng(7)
    first, *between, last = [(written(file, tmp_path / commit, rng), commit) for commit in commits[:STORED]]
    assert main(["record", first[0], *history, "--commit", first[1]]) == 0
    with open_history(Config().history, url=str(served)) as store:
        store.append_all([collect_run([name], config=Config(), commit=commit) for name, commit in between])
    assert main(["record", last[0], *history, "--commit", last[1]]) == 0

    def compared(name: str, factor: float) -> tuple[dict[str, str], str]:
        """Return the verdicts by metric, the worst of several tables, and the output."""
        out = tmp_path / f"{name}.json"
        target = written(file, tmp_path / name, rng, factor)
        capsys.readouterr()
        main(["compare", "--target", target, *history, "--commit", commits[STORED], "--json", str(out)])
        findings: list[dict[str, Any]] = json.loads(out.read_bytes())["findings"]
        assert findings, "nothing was compared"
        results = {entry["metric"]: entry["verdict"] for entry in findings if entry["verdict"] not in CHANGES}
        results |= {entry["metric"]: entry["verdict"] for entry in findings if entry["verdict"] in CHANGES}
        return results, capsys.readouterr().out

    unchanged, _ = compared("unchanged", 1.0)
    assert not CHANGES & set(unchanged.values())
    assert planted(unchanged, file) in {"unchanged", "not_seen"} | ({"untested"} if file.is_one_value else set())
    changed, printed = compared("changed", PLANTED_IN_ONE_VALUE if file.is_one_value else PLANTED)
    assert planted(changed, file) in {"suspected"} | (set() if file.is_one_value else {"regression"})
    others = {name: verdict for name, verdict in changed.items() if name not in {file.planted, *file.followers}}
    assert not CHANGES & {verdict for name, verdict in others.items() if file.planted not in name}
    assert file.planted in printed


def planted(verdicts: dict[str, str], file: CounterFile) -> str:
    """Return the planted metric's verdict. Some readers add the device or the processor to its name."""
    (result,) = {verdict for name, verdict in verdicts.items() if file.planted in name and name not in file.followers}
    return result


def written(file: CounterFile, folder: Path, rng: np.random.Generator, factor: float = 1.0) -> str:
    folder.mkdir()
    path = folder / file.name
    path.write_text(file.write(rng, factor), encoding="utf-8", newline="")
    return str(path)
