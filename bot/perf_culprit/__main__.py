"""`python -m perf_culprit` and the `perf-culprit` command."""

import gc
import sys


def run() -> int:
    """Run one command. Its objects live to the end of the process, so none of millions is collected."""
    gc.disable()
    from perf_culprit.one_blas_thread import use_one_blas_thread

    use_one_blas_thread()
    from perf_culprit.cli.entry import main

    return main()


if __name__ == "__main__":
    if not sys.flags.safe_path:
        # `python -m` put the folder that it was called in first: it may be a stranger's checkout.
        del sys.path[0]
    sys.exit(run())
