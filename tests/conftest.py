"""Fixtures for all tests, and the same surroundings on every machine."""

import gc
import os
import signal
import sys

import pytest
from hypothesis import settings

import tests.support.installed  # noqa: F401 - no test asks the compilers again

pytest_plugins = [
    "tests.support.fake_github.fixtures",
    "tests.support.scenarios",
    "tests.support.sometimes",
    "tests.support.tiers",
]
# On a runner commands see less of the environment: tests that simulate one set this themselves.
os.environ.pop("GITHUB_ACTIONS", None)
# Lines are as long as they are, whatever the caller's terminal.
os.environ.pop("COLUMNS", None)
# Tests use only their own history.
os.environ.pop("PERF_CULPRIT_HISTORY_URL", None)
# Tests use only their own git configuration, without the user's aliases and keys or a calling hook's repository.
for name in [name for name in os.environ if name.startswith("GIT_")]:
    del os.environ[name]
os.environ |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
# A shell starts background commands with Ctrl-C ignored, but tests send it to their processes.
signal.signal(signal.SIGINT, signal.default_int_handler)
# A test's own settings take precedence. CI's fuzzing uses the other profile (.ci/fuzz).
settings.register_profile("quick", derandomize=True, deadline=None, max_examples=30)
settings.register_profile("thorough", derandomize=True, deadline=None, max_examples=300)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
# There is a process per core: a second thread of linear algebra would only wait, which costs processor time.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
# Bytecode is kept, whatever the caller's setting: for the workers, and for every process that a test starts.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# Collected tests are no garbage, so collections are rare. They are not frozen: the tracer looks for referrers of code.
gc.set_threshold(50_000, 20, 100)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests first, so that no worker is left with one at the end.

    Whoever needs the container image while another worker builds it only waits: all files of containers but one follow.
    """
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    contained = dict.fromkeys(item.path for item in items if "action_image" in getattr(item, "fixturenames", ()))
    ranks = dict.fromkeys(slow, 0) | dict.fromkeys(contained, 1) | dict.fromkeys([*contained][:1], 0)
    items.sort(key=lambda item: ranks.get(item.path, 2))
