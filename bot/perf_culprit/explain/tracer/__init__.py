"""Our tracer for Python: structure in one full pass, times level by level (docs/tracing.md).

Only the standard library and this package are imported: the traced program may have nothing else.
"""

from perf_culprit.explain.tracer.session import trace
from perf_culprit.explain.tracer.tracer_fault import TraceError

__all__ = ["TraceError", "trace"]
