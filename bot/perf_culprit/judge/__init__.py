"""Evidence per metric from a detector, and the policy that judges it.

A detector is a module of this package that implements one or both protocols of `detector`. It is in use once it is
listed in `detectors`, under the kind of measurement that it judges.
"""
