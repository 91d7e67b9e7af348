from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from perf_culprit.git.objects import TreeEntry
from perf_culprit.model.run import Run
from perf_culprit.store.run_names import RUN_PATH, name_run, read_names, suite_slug

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_a_name_tells_everything_that_retention_needs() -> None:
    time = datetime(2026, 3, 1, 1, 30, tzinfo=timezone(timedelta(hours=2)))
    named = name_run(Run(benchmarks=(), commit=COMMIT, time=time), b"content", now=NOW)
    assert named.path == f"runs/default/{COMMIT}/20260228T233000Z-ed7002b439e9ac84-7.json"
    (read,) = read_names([TreeEntry(named.path, "b10b")])
    assert read.blob == "b10b"
    assert read.is_same_run(named)
    assert (read.time, read.size, read.compacted) == (named.time, 7, False)


def test_a_compacted_run_is_still_the_same_run() -> None:
    named = name_run(Run(benchmarks=(), commit=COMMIT, time=datetime(2026, 1, 1, tzinfo=UTC)), b"content", now=NOW)
    small = named.with_content(b"less", compacted=True)
    assert small.path.endswith("-4.summary.json")
    assert small.is_same_run(named)
    assert read_names([TreeEntry(small.path, "x")])[0].compacted


def test_a_run_without_time_is_dated_by_its_recording_and_known_again() -> None:
    run = Run(benchmarks=(), commit=COMMIT)
    named = name_run(run, b"content", now=NOW)
    assert named.time == "20260501T120000Z"
    assert named.is_same_run(name_run(run, b"content", now=NOW + timedelta(days=1)))


def test_other_people_s_files_are_no_runs() -> None:
    paths = [
        "README.md",
        "runs/x.json",
        f"runs/default/{COMMIT}/notes.json",
        f"x/runs/default/{COMMIT}/20260501T120000Z-0-1.json",
    ]
    assert read_names([TreeEntry(path, "x") for path in paths]) == ()


@given(st.text(max_size=80))
def test_any_suite_has_a_safe_folder(suite: str) -> None:
    path = name_run(Run(benchmarks=(), commit=COMMIT, suite=suite), b"x", now=NOW).path
    assert RUN_PATH.fullmatch(path)
    assert suite_slug(suite) not in {"", ".", "..", ".git"}


@given(st.lists(st.text(alphabet="aA.-/ _\u00e9", max_size=6), min_size=2, max_size=20, unique=True))
def test_different_suites_never_share_a_folder(suites: list[str]) -> None:
    assert len({suite_slug(suite) for suite in suites}) == len(suites)


def test_a_suite_cannot_take_another_one_s_folder_by_its_name() -> None:
    assert suite_slug("A") != "a"
    assert suite_slug(suite_slug("A")) != suite_slug("A")
