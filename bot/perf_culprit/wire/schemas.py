"""The JSON schemas of our files, from the types that check them.

`python -m perf_culprit.wire.schemas` writes them to docs/.
"""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from perf_culprit.wire import report_json
from perf_culprit.wire.analysis_json import (
    DIAGNOSIS_SCHEMA,
    RELEASES_SCHEMA,
    SIMULATION_SCHEMA,
    TRACE_SCHEMA,
    TREE_COMPARISON_SCHEMA,
    DiagnosisFile,
    ProfileLine,
    ReleasesFile,
    SimulationFile,
    TreeComparisonFile,
)
from perf_culprit.wire.bisection_json import (
    ACCEPTANCE_SCHEMA,
    BISECT_JOB_SCHEMA,
    BISECT_REQUEST_SCHEMA,
    BISECT_SESSION_SCHEMA,
    BISECTION_SCHEMA,
    STORED_BISECTION_SCHEMA,
    AcceptanceFile,
    BisectionFile,
    BisectJobFile,
    BisectRequestFile,
    BisectSession,
    StoredBisectionFile,
)
from perf_culprit.wire.checked_json import schema
from perf_culprit.wire.run_json import SCHEMA_NAME, RunFile

SCHEMAS: Final[dict[str, Callable[[], dict[str, Any]]]] = {
    SCHEMA_NAME: partial(msgspec.json.schema, RunFile),
    report_json.SCHEMA_NAME: partial(schema, report_json.ReportFile),
    BISECTION_SCHEMA: partial(schema, BisectionFile),
    BISECT_SESSION_SCHEMA: partial(schema, BisectSession),
    BISECT_REQUEST_SCHEMA: partial(schema, BisectRequestFile),
    BISECT_JOB_SCHEMA: partial(schema, BisectJobFile),
    STORED_BISECTION_SCHEMA: partial(schema, StoredBisectionFile),
    ACCEPTANCE_SCHEMA: partial(schema, AcceptanceFile),
    DIAGNOSIS_SCHEMA: partial(schema, DiagnosisFile),
    TREE_COMPARISON_SCHEMA: partial(schema, TreeComparisonFile),
    RELEASES_SCHEMA: partial(schema, ReleasesFile),
    SIMULATION_SCHEMA: partial(schema, SimulationFile),
    TRACE_SCHEMA: partial(msgspec.json.schema, ProfileLine),
}


def schema_text(name: str) -> str:
    return json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", **SCHEMAS[name]()}, indent=2) + "\n"


def write_schemas(folder: Path) -> None:
    for name in SCHEMAS:
        (folder / f"{name}.schema.json").write_text(schema_text(name), encoding="utf-8")


if __name__ == "__main__":
    write_schemas(Path("docs"))
