import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["log", "outputs", "summary", "text"])
def test_what_every_action_run_needs_loads_no_client(module: str) -> None:
    code = f"import sys, bot.publish.{module}; print(sorted({{'github', 'requests', 'urllib3'}} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
