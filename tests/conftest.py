"""Fixtures for all tests, and the same surroundings on every machine."""

import compileall
import os
import sys
from pathlib import Path
from py_compile import PycInvalidationMode

pytest_plugins = ["tests.support.fake_github.fixtures"]
# On a runner commands see less of the environment: tests say themselves where they are one.
os.environ.pop("GITHUB_ACTIONS", None)
# No history but a test's own.
os.environ.pop("PERF_CULPRIT_HISTORY_URL", None)
# No git configuration but a test's own: not the user's aliases and signing keys, not a calling hook's repository.
for name in [name for name in os.environ if name.startswith("GIT_")]:
    del os.environ[name]
os.environ |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
# Where Python keeps nothing that it compiled, every process that a test starts would compile the program anew.
if sys.dont_write_bytecode and "PYTEST_XDIST_WORKER" not in os.environ:
    compileall.compile_dir(
        Path(__file__).parents[1] / "bot", quiet=2, invalidation_mode=PycInvalidationMode.CHECKED_HASH
    )
