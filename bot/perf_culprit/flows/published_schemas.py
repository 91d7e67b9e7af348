"""JSON schemas of our files, from the types that check them. Apart, because jobs need not import all these types.

`python -m perf_culprit.flows.published_schemas` writes those of our JSON files to docs/.
"""

import json
from collections.abc import Mapping
from inspect import cleandoc
from pathlib import Path
from typing import Any, Final

import msgspec

from perf_culprit.config.settings import config_schema
from perf_culprit.model.bisection_files import (
    BisectionFile,
    BisectJobFile,
    BisectRequestFile,
    BisectSession,
    StoredBisection,
)
from perf_culprit.model.call_tree import Diagnosis, Profile
from perf_culprit.model.finding import Acceptance
from perf_culprit.model.json_files import schema_name
from perf_culprit.model.notification import Notification
from perf_culprit.model.reason import Reason
from perf_culprit.model.report import Report, TreeComparison
from perf_culprit.model.run import Environment
from perf_culprit.model.run_file import StoredRun
from perf_culprit.model.series import DeviationMatrix
from perf_culprit.model.simulation import SimulationReport
from perf_culprit.simulate.design import design_schema

YAML_SCHEMAS: Final = {"config": config_schema, "simulation-model": design_schema}
_FILES: Final[tuple[type[msgspec.Struct], ...]] = (
    StoredRun,
    Report,
    BisectionFile,
    BisectSession,
    BisectRequestFile,
    BisectJobFile,
    StoredBisection,
    Acceptance,
    Diagnosis,
    TreeComparison,
    DeviationMatrix,
    SimulationReport,
    Profile,
    Notification,
)
SCHEMA_KINDS: Final = {schema_name(kind): kind for kind in _FILES}
_NEWEST: Final = {name.rpartition("-v")[0]: name for name in SCHEMA_KINDS}


def published_schema(name: str) -> bytes:
    """Return the JSON schema of a file that is read or written: `run` or `run-v1`, `config`, `simulation-model`, ..."""
    if name in YAML_SCHEMAS:
        return (json.dumps(YAML_SCHEMAS[name](), indent=1, ensure_ascii=False) + "\n").encode()
    return schema_text(name if name in SCHEMA_KINDS else _NEWEST[name]).encode()


def schema_text(name: str) -> str:
    kind = SCHEMA_KINDS[name]
    (top, reason, environment), definitions = msgspec.json.schema_components(
        [kind, Reason.JSON, Environment.JSON], schema_hook=lambda custom: {"$ref": f"#/$defs/{custom.__name__}"}
    )
    definitions |= {"Reason": reason, "Environment": environment}
    for definition in definitions.values():
        if "description" in definition:
            definition["description"] = cleandoc(definition["description"])
        if "required" in definition:
            # A type that is part of another file need not state its own format there.
            definition["required"] = [member for member in definition["required"] if member != "format"]
    definitions[kind.__name__]["required"][:0] = ["format", "version"]
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", **top, "$defs": _closure(top, definitions)}
    return json.dumps(whole, indent=2) + "\n"


def _closure(part: object, definitions: Mapping[str, Any]) -> dict[str, Any]:
    """The definitions that `part` refers to, directly or indirectly, by name."""
    used: dict[str, Any] = {}
    parts = [part]
    while parts:
        one = parts.pop()
        if isinstance(one, dict):
            name = str(one.get("$ref")).removeprefix("#/$defs/")
            if name in definitions and name not in used:
                used[name] = definitions[name]
                parts.append(used[name])
            parts += one.values()
        elif isinstance(one, list):
            parts += one
    return dict(sorted(used.items()))


if __name__ == "__main__":
    for _name in SCHEMA_KINDS:
        (Path("docs") / f"{_name}.schema.json").write_text(schema_text(_name), encoding="utf-8")
