"""Our tracer for Python: structure in one full pass, times level by level (docs/tracing.md).

Only the standard library and this package are imported: the traced program may have nothing else. What `trace` gives
is a noun of the model, for which perf-culprit has to be installed.
"""

from .session import trace
from .tracer_fault import TraceError

__all__ = ["TraceError", "trace"]
