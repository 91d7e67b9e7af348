"""Our tracer for Python: structure in one full pass, times level by level (docs/tracing.md).

Only the standard library and this package are imported: the traced program may have nothing else.
"""

from .fault import TraceError
from .session import trace

__all__ = ["TraceError", "trace"]
