"""The JSON schemas of our files, from the types that check them.

`python -m bot.codec.schema` writes them to docs/.
"""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from bot.codec import (
    acceptance,
    bisect_job,
    bisect_request,
    bisect_session,
    bisect_stored,
    bisection_report,
    diagnosis,
    profile,
    releases,
    report,
    run,
    simulation,
    tree_comparison,
)
from bot.codec.wire import schema

SCHEMAS: Final[dict[str, Callable[[], dict[str, Any]]]] = {
    run.SCHEMA_NAME: partial(msgspec.json.schema, run.RunFile),
    report.SCHEMA_NAME: partial(schema, report.ReportFile),
    bisection_report.SCHEMA_NAME: partial(schema, bisection_report.BisectionFile),
    bisect_session.SCHEMA_NAME: partial(schema, bisect_session.BisectSession),
    bisect_request.SCHEMA_NAME: partial(schema, bisect_request.BisectRequestFile),
    bisect_job.SCHEMA_NAME: partial(schema, bisect_job.BisectJobFile),
    bisect_stored.SCHEMA_NAME: partial(schema, bisect_stored.StoredBisectionFile),
    acceptance.SCHEMA_NAME: partial(schema, acceptance.AcceptanceFile),
    diagnosis.SCHEMA_NAME: partial(schema, diagnosis.DiagnosisFile),
    tree_comparison.SCHEMA_NAME: partial(schema, tree_comparison.TreeComparisonFile),
    releases.SCHEMA_NAME: partial(schema, releases.ReleasesFile),
    simulation.SCHEMA_NAME: partial(schema, simulation.SimulationFile),
    profile.SCHEMA_NAME: partial(msgspec.json.schema, profile.ProfileLine),
}


def schema_text(name: str) -> str:
    return json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", **SCHEMAS[name]()}, indent=2) + "\n"


def write_schemas(folder: Path) -> None:
    for name in SCHEMAS:
        (folder / f"{name}.schema.json").write_text(schema_text(name), encoding="utf-8")


if __name__ == "__main__":
    write_schemas(Path("docs"))
