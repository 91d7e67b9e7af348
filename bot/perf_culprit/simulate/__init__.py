"""Simulate layered models of a design: how it would perform, before it is built [F11, chapter 4]."""
