"""Fixtures for all tests, and the same surroundings on every machine."""

import os

pytest_plugins = ["tests.support.fake_github.fixtures"]
# On a runner commands see less of the environment: tests say themselves where they are one.
os.environ.pop("GITHUB_ACTIONS", None)
# No history but a test's own.
os.environ.pop("PERF_CULPRIT_HISTORY_URL", None)
# No git configuration but a test's own: not the user's aliases and signing keys, not a calling hook's repository.
for name in [name for name in os.environ if name.startswith("GIT_")]:
    del os.environ[name]
os.environ |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
