"""The schemas of our files: away from what a job needs, because they take the codecs of all files."""

import json
from typing import Final

from perf_culprit.config.settings import config_schema
from perf_culprit.simulate.design import design_schema
from perf_culprit.wire.schemas import schema_text

YAML_SCHEMAS: Final = {"config": config_schema, "simulation-model": design_schema}


def schema(name: str) -> bytes:
    """The JSON schema of a file that is read or written: `run`, `config`, `simulation-model`, ..."""
    if name in YAML_SCHEMAS:
        return (json.dumps(YAML_SCHEMAS[name](), indent=1, ensure_ascii=False) + "\n").encode()
    return schema_text(f"{name}-v1").encode()
