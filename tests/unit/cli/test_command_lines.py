"""Command lines that reports advise: they give the fields that they were made of, and name no unknown option."""

import shlex
from pathlib import Path

import pytest

from perf_culprit.cli.command_parser import parsed
from perf_culprit.commands.judge_requests import Compare
from perf_culprit.commands.measure_requests import Bisect


def test_a_line_gives_the_fields_that_it_was_made_of() -> None:
    paths = ("a b", "$(c)")
    line = Bisect.line(good="g", bad="b", run="echo 'x'", seed=0, build=None, first_parent=True, paths=paths)
    options = parsed(shlex.split(line)[1:])
    assert isinstance(options, Bisect)
    assert (options.run, options.seed, options.build, options.paths) == ("echo 'x'", 0, None, paths)
    assert options.first_parent


def test_files_in_a_folder_with_a_space_are_found_again() -> None:
    folder = Path("my results")
    line = Compare.line(paired=True, baseline=folder / "b.json", target=folder / "t.json", confirm=())
    options = parsed(shlex.split(line)[1:])
    assert isinstance(options, Compare)
    assert (options.baseline, options.target, options.confirm) == (("my results/b.json",), ("my results/t.json",), ())
    assert options.paired


def test_an_option_that_is_not_declared_is_an_error() -> None:
    with pytest.raises(KeyError):
        Compare.line(good="g")
