"""The JSON schemas of our files, from the adapters that check them.

`python -m bot.codec.schema` writes them to docs/.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter

from bot.codec import bisection_report, report, run

SCHEMAS: Final[dict[str, Callable[[], TypeAdapter[Any]]]] = {
    run.SCHEMA_NAME: run.run_adapter,
    report.SCHEMA_NAME: report.report_adapter,
    bisection_report.SCHEMA_NAME: bisection_report.bisection_adapter,
}


def schema_text(name: str) -> str:
    schema = SCHEMAS[name]().json_schema(mode="validation")
    return json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}, indent=2) + "\n"


def write_schemas(folder: Path) -> None:
    for name in SCHEMAS:
        (folder / f"{name}.schema.json").write_text(schema_text(name), encoding="utf-8")


if __name__ == "__main__":
    write_schemas(Path("docs"))
