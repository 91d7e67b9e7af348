"""Fixtures for all tests."""

import os

pytest_plugins = ["tests.support.fake_github.fixtures"]
# On a runner commands see less of the environment: tests say themselves where they are one.
os.environ.pop("GITHUB_ACTIONS", None)
