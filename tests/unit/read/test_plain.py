"""Files of plain numbers are named after themselves; compared with each other they are one benchmark."""

from pathlib import Path

from perf_culprit.read.results.collect import collect_each, collect_executions, collect_separate
from perf_culprit.read.results.merge import NAME, named_alike


def written(folder: Path, *names: str, text: str = "1.0\n1.1\n1.2\n") -> list[str]:
    for name in names:
        (folder / name).write_text(text)
    return [str(folder / name) for name in names]


def test_base_and_head_are_one_benchmark(tmp_path: Path) -> None:
    baseline, target = written(tmp_path, "base.txt"), written(tmp_path, "head.txt")
    before, after = named_alike(collect_each(baseline), collect_separate(target))
    assert [benchmark.name for run in (*before, after) for benchmark in run.benchmarks] == [NAME, NAME]
    assert after.benchmarks[0].samples == (1.0, 1.1, 1.2)


def test_several_files_stay_runs_or_executions(tmp_path: Path) -> None:
    baseline, target = written(tmp_path, "b1.txt", "b2.txt"), written(tmp_path, "h1.txt", "h2.txt", "h3.txt")
    before, after = named_alike(collect_each(baseline), collect_separate(target))
    assert len(before) == 2
    assert after.is_separate
    assert (after.benchmarks[0].group_sizes, after.benchmarks[0].rounds) == ((3, 3, 3), (1, 1, 1))
    (paired,), _ = named_alike([collect_executions(baseline)], collect_executions(target))
    assert (paired.benchmarks[0].group_sizes, paired.benchmarks[0].rounds) == ((3, 3), (1, 1))


def test_names_that_both_sides_have_are_kept(tmp_path: Path) -> None:
    for side in ("base", "head"):
        (tmp_path / side).mkdir()
        written(tmp_path / side, "parse.txt", "render.txt")
    read = collect_each([str(tmp_path / "base" / "*.txt")]), collect_separate([str(tmp_path / "head" / "*.txt")])
    assert named_alike(*read) == read


def test_what_names_its_benchmarks_is_not_renamed(tmp_path: Path) -> None:
    entry = '[{"name": "parse", "unit": "s", "value": 1.5}]'
    read = collect_each(written(tmp_path, "base.json", text=entry)), collect_separate(written(tmp_path, "head.txt"))
    assert named_alike(*read) == read
