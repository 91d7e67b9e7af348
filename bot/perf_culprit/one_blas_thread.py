"""numpy's and scipy's OpenBLAS with one thread: one per core costs more processor time than most commands take."""

import os
from typing import Final

VARIABLE: Final = "OPENBLAS_NUM_THREADS"
# OpenBLAS obeys the first of these that is set.
USERS_CHOICE: Final = (VARIABLE, "GOTO_NUM_THREADS", "OMP_NUM_THREADS")


def use_one_blas_thread() -> None:
    """Before numpy loads. `os.environ` stays as it is, and a process that is started with it is none the wiser."""
    if not any(name in os.environ for name in USERS_CHOICE):
        os.putenv(VARIABLE, "1")
