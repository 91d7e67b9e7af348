"""This machine as a place to measure commits, to trace them, and to diagnose a culprit. It searches nothing."""
