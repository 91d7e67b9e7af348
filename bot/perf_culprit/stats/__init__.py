"""Array in, array out: numpy and scipy.special only, vectorised over benchmarks.

scipy.special copies all names of numpy, and with them loads parts that nobody needs here, such as a Fortran compiler:
a third of its time. They are hidden while it loads. Whoever uses one later loads it then.
"""

import numpy as np

_UNUSED = ("char", "core", "ctypeslib", "f2py", "ma", "polynomial", "rec", "testing")
_hidden = [name for name in _UNUSED if name not in vars(np)]
vars(np).update(dict.fromkeys(_hidden))
try:
    import scipy.special  # noqa: F401 - what this is for
finally:
    for _name in _hidden:
        delattr(np, _name)
