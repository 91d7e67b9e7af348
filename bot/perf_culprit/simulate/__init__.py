"""Layered models of a design, simulated: what would it do, before it is built [F11, chapter 4]."""
