"""Fixtures for all tests, and the same surroundings on every machine."""

import gc
import os
import signal
import sys

import pytest
from hypothesis import settings

import tests.support.installed  # noqa: F401 - no test asks the compilers again

pytest_plugins = ["tests.support.fake_github.fixtures"]
# On a runner commands see less of the environment: tests say themselves where they are one.
os.environ.pop("GITHUB_ACTIONS", None)
# No history but a test's own.
os.environ.pop("PERF_CULPRIT_HISTORY_URL", None)
# No git configuration but a test's own: not the user's aliases and signing keys, not a calling hook's repository.
for name in [name for name in os.environ if name.startswith("GIT_")]:
    del os.environ[name]
os.environ |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
# A shell starts what it runs in the background deaf to Ctrl-C, which tests send to their processes.
signal.signal(signal.SIGINT, signal.default_int_handler)
# Settings of a test's own count more. CI's fuzzing takes the other profile (.ci/fuzz).
settings.register_profile("quick", derandomize=True, deadline=None, max_examples=30)
settings.register_profile("thorough", derandomize=True, deadline=None, max_examples=300)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
# A process per core: beside the others a second thread of linear algebra only waits, and that costs processor time.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
# What is compiled is kept, whatever the caller says: for the workers, and for every process that a test starts.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# Thousands of collected tests are no garbage: it is looked for seldom. Not frozen: the tracer asks who refers to code.
gc.set_threshold(50_000, 20, 100)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests first, so that no worker is left with one at the end.

    Whoever needs the container image while another worker builds it only waits: all files of containers but one follow.
    """
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    contained = dict.fromkeys(item.path for item in items if item.get_closest_marker("container"))
    ranks = dict.fromkeys(slow, 0) | dict.fromkeys(contained, 1) | dict.fromkeys([*contained][:1], 0)
    items.sort(key=lambda item: ranks.get(item.path, 2))
