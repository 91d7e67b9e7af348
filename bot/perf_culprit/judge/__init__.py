"""Evidence per metric from a detector, and the policy that judges it.

A detector is a module of this package that fits one or both protocols of `detector`; it is in use once it
is in `detectors`, under what it judges.
"""
