"""A workload several times in one process, so that imports are little of it: `python repeat.py TIMES WORKLOAD`."""

import runpy
import sys

for _ in range(int(sys.argv[1])):
    runpy.run_path(sys.argv[2], run_name="__main__")
