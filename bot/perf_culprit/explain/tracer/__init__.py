"""Our tracer for Python: structure in one full pass, times level by level (docs/tracing.md).

It imports only the standard library and this package, because the traced program may have nothing else. The result of
`trace` is a `Profile` of the model, which needs an installed perf-culprit.
"""

from .session import trace
from .tracer_fault import TraceError

__all__ = ["TraceError", "trace"]
