import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["host", "runner_files"])
def test_all_but_the_host_itself_loads_no_client(module: str) -> None:
    names = "{'github', 'requests', 'urllib3'}"
    code = f"import sys, perf_culprit.github.{module}; print(sorted({names} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
