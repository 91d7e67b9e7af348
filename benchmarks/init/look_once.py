"""Try `init` on one checkout, and keep what it said and the names of the benchmarks that it ran.

python -m benchmarks.init.look_once CHECKOUT OUTPUT.json MINUTES
"""

import contextlib
import io
import json
import sys
import time
from pathlib import Path
from typing import Any

from perf_culprit.cli.entry import main
from perf_culprit.flows import qualify
from perf_culprit.init import trial


def look(checkout: Path, minutes: str) -> dict[str, Any]:
    """The trial as a user makes it, without the table of `qualify` at its end."""
    ran: list[str] = []
    first_of = trial.Trials.first_of

    def noted(*asked: Any) -> Any:
        """Note what the trial that is taken ran; a part that is not taken does not count."""
        taken = first_of(*asked)
        if taken.tried is not None:
            ran.extend(dict.fromkeys(benchmark.name for benchmark in taken.tried.run.benchmarks))
        return taken

    def nothing(*_: Any, **__: Any) -> Any:
        raise SystemExit(0)

    vars(trial)["Trials"].first_of = noted
    vars(qualify)["qualified"] = nothing
    told, begun = io.StringIO(), time.monotonic()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        try:
            code = main(["init", "--repo", str(checkout), "--try", "--yes", "--minutes", minutes])
        except SystemExit as end:
            code = int(end.code or 0)
    written = {path.name: path.read_text() for path in sorted((checkout / ".github/workflows").glob("perf*.yml"))}
    return {"exit": code, "seconds": time.monotonic() - begun, "ran": ran, "told": told.getvalue(), "written": written}


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(look(Path(sys.argv[1]), sys.argv[3]), indent=1))
