"""The JSON schemas of our files, from the types that check them.

`python -m bot.codec.schema` writes them to docs/.
"""

import json
from collections.abc import Callable
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
    tree_comparison,
)

SCHEMAS: Final[dict[str, Callable[[], dict[str, Any]]]] = {
    run.SCHEMA_NAME: lambda: msgspec.json.schema(run.RunFile),
    report.SCHEMA_NAME: lambda: report.report_adapter().json_schema(mode="validation"),
    bisection_report.SCHEMA_NAME: lambda: bisection_report.bisection_adapter().json_schema(mode="validation"),
    bisect_session.SCHEMA_NAME: lambda: bisect_session.session_adapter().json_schema(mode="validation"),
    bisect_request.SCHEMA_NAME: lambda: bisect_request.request_adapter().json_schema(mode="validation"),
    bisect_job.SCHEMA_NAME: lambda: bisect_job.job_adapter().json_schema(mode="validation"),
    bisect_stored.SCHEMA_NAME: lambda: bisect_stored.stored_adapter().json_schema(mode="validation"),
    acceptance.SCHEMA_NAME: lambda: acceptance.acceptance_adapter().json_schema(mode="validation"),
    diagnosis.SCHEMA_NAME: lambda: diagnosis.diagnosis_adapter().json_schema(mode="validation"),
    tree_comparison.SCHEMA_NAME: lambda: tree_comparison.tree_comparison_adapter().json_schema(mode="validation"),
    releases.SCHEMA_NAME: lambda: releases.releases_adapter().json_schema(mode="validation"),
    profile.SCHEMA_NAME: lambda: msgspec.json.schema(profile.ProfileLine),
}


def schema_text(name: str) -> str:
    schema = SCHEMAS[name]()
    return json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}, indent=2) + "\n"


def write_schemas(folder: Path) -> None:
    for name in SCHEMAS:
        (folder / f"{name}.schema.json").write_text(schema_text(name), encoding="utf-8")


if __name__ == "__main__":
    write_schemas(Path("docs"))
