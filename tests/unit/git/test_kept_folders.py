"""Private folders that a process keeps: they hold what was fetched before, and one user has them at a time."""

import pytest

from perf_culprit.git.objects import open_kept_folder, remove_kept
from perf_culprit.model.work_limits import WORK_LIMITS


def test_the_next_user_has_what_the_one_before_fetched_and_two_at_once_are_apart() -> None:
    with open_kept_folder("one") as first:
        (first / "fetched").touch()
        with open_kept_folder("one") as other:
            assert other != first
    with open_kept_folder("one") as again:
        assert (again / "fetched").exists()
    remove_kept()
    assert not first.exists()
    assert not other.exists()


def test_after_trouble_nothing_is_kept_and_never_more_than_a_few() -> None:
    with pytest.raises(KeyboardInterrupt), open_kept_folder("two") as broken:
        raise KeyboardInterrupt
    assert not broken.exists()
    folders = []
    for number in range(WORK_LIMITS.kept_folders + 1):
        with open_kept_folder(f"purpose {number}") as folder:
            folders.append(folder)
    assert [folder.exists() for folder in folders] == [False, *[True] * WORK_LIMITS.kept_folders]
    remove_kept()
