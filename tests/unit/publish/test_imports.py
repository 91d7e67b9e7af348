import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["check", "event", "host", "log", "markers", "outputs", "summary", "text"])
def test_all_but_the_host_itself_loads_no_client(module: str) -> None:
    code = f"import sys, bot.publish.{module}; print(sorted({{'github', 'requests', 'urllib3'}} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
