"""Fixtures for all tests."""

pytest_plugins = ["tests.support.fake_github.fixtures"]
