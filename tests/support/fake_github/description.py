"""GitHub's OpenAPI description: which requests exist, and whether a request or an answer is as described."""

import json
import re
import urllib.parse
from dataclasses import dataclass
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from tests.support.fake_github.subset import DESCRIPTION_FILE

DESCRIPTION_URI = "urn:github-description"
# `uri` and `date-time` need rfc3986-validator and rfc3339-validator; without them the check would silently pass.
FORMATS = ("uri", "date-time")
# These path parameters hold slashes.
SLASHED = {"path": ".+", "ref": ".+", "basehead": ".+"}
SHOWN_CHARACTERS = 200
FILLED_TIME = "2026-01-02T03:04:05Z"


@dataclass(frozen=True, kw_only=True, slots=True)
class Operation:
    id: str
    method: str
    template: str
    pattern: re.Pattern[str]
    body: dict[str, Any]

    @property
    def placeholders(self) -> int:
        return self.template.count("{")


@dataclass(frozen=True, kw_only=True, slots=True)
class Match:
    operation: Operation
    path_values: dict[str, str]


class Description:
    def __init__(self) -> None:
        text = DESCRIPTION_FILE.read_text(encoding="utf-8")
        self.document: dict[str, Any] = with_json_schema_nulls(json.loads(text))
        resource = DRAFT202012.create_resource(self.document)
        self.registry: Registry[Any] = Registry().with_resource(DESCRIPTION_URI, resource)
        self.validators: dict[int, Draft202012Validator] = {}
        operations = [
            Operation(
                id=body["operationId"], method=method.upper(), template=path, pattern=path_pattern(path), body=body
            )
            for path, methods in self.document["paths"].items()
            for method, body in methods.items()
        ]
        # `/issues/comments` before `/issues/{issue_number}`.
        self.operations = sorted(operations, key=lambda operation: operation.placeholders)

    def find(self, method: str, path: str) -> Match | None:
        for operation in self.operations:
            match = operation.pattern.fullmatch(path) if operation.method == method else None
            if match:
                values = {name: urllib.parse.unquote(value) for name, value in match.groupdict().items()}
                return Match(operation=operation, path_values=values)
        return None

    def resolve(self, node: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in node:
            target: Any = self.document
            for part in node["$ref"].split("/")[1:]:
                target = target[part]
            node = target
        return node

    def schema(self, name: str) -> dict[str, Any]:
        result: dict[str, Any] = self.document["components"]["schemas"][name]
        return result

    def mistakes(self, schema: dict[str, Any], value: Any) -> list[str]:
        validator = self.validators.get(id(schema))
        if validator is None:
            absolute = json.loads(json.dumps(schema).replace('"#/components', f'"{DESCRIPTION_URI}#/components'))
            validator = Draft202012Validator(absolute, registry=self.registry, format_checker=FormatChecker(FORMATS))
            self.validators[id(schema)] = validator
        return [
            f"{'/'.join(map(str, error.absolute_path))}: {error.message[:SHOWN_CHARACTERS]}"
            for error in validator.iter_errors(value)
        ]

    def request_mistakes(self, match: Match, *, query: dict[str, str], body: Any) -> list[str]:
        parameters = [self.resolve(parameter) for parameter in match.operation.body.get("parameters", [])]
        schemas = {(parameter["in"], parameter["name"]): parameter["schema"] for parameter in parameters}
        mistakes = []
        for where, values in (("path", match.path_values), ("query", query)):
            for name, text in values.items():
                schema = schemas.get((where, name))
                if schema is None:
                    mistakes.append(f"unknown {where} parameter {name}")
                else:
                    value = typed(text, self.resolve(schema).get("type"))
                    mistakes += [f"{where} {name}={text!r}{mistake}" for mistake in self.mistakes(schema, value)]
        return mistakes + self.body_mistakes(match.operation, body)

    def body_mistakes(self, operation: Operation, body: Any) -> list[str]:
        described = operation.body.get("requestBody")
        if described is None:
            return [] if body in (None, {}) else ["a body was sent to an operation without one"]
        if body is None:
            return ["the body is missing"] if described.get("required") else []
        schema = described["content"]["application/json"]["schema"]
        fields = self.resolve(schema).get("properties")
        unknown = sorted(set(body) - set(fields)) if isinstance(body, dict) and fields is not None else []
        return [f"body {mistake}" for mistake in self.mistakes(schema, body)] + [
            f"unknown body field {field}" for field in unknown
        ]

    def response_mistakes(self, operation: Operation, *, status: int, body: Any) -> list[str]:
        response = operation.body["responses"].get(str(status))
        if response is None:
            return [f"status {status} is not described"]
        schema = self.resolve(response).get("content", {}).get("application/json", {}).get("schema")
        return self.mistakes(schema, body) if schema is not None else []

    def fill(self, schema: dict[str, Any], values: dict[str, Any], *, base_url: str) -> dict[str, Any]:
        """Return `values`, and for every required field that they lack the simplest value that the schema allows.

        Made-up links stay on the fake but lead to no operation: a client that follows one is reported.
        """
        filled: dict[str, Any] = self.plainest(schema, base_url=base_url)
        return filled | values

    def plainest(self, schema: dict[str, Any], *, base_url: str) -> Any:
        schema = self.resolve(schema)
        if "allOf" in schema:
            parts = [self.plainest(part, base_url=base_url) for part in schema["allOf"]]
            return {name: value for part in parts for name, value in part.items()}
        for choice in ("anyOf", "oneOf"):
            if choice in schema:
                return self.plainest(schema[choice][0], base_url=base_url)
        if schema.get("enum"):
            return schema["enum"][0]
        kind = schema.get("type", "object")
        if kind == "object":
            properties = schema.get("properties", {})
            required = [name for name in schema.get("required", ()) if name in properties]
            return {name: self.plainest(properties[name], base_url=base_url) for name in required}
        return plainest_scalar(kind, format_=schema.get("format"), base_url=base_url)


def plainest_scalar(kind: Any, *, format_: str | None, base_url: str) -> Any:
    if isinstance(kind, list):
        return None
    if kind == "string":
        return {"uri": f"{base_url}/made-up", "date-time": FILLED_TIME}.get(format_ or "", "made up")
    return {"integer": 1, "number": 1, "boolean": False, "array": [], "null": None}[kind]


@cache
def load() -> Description:
    return Description()


def path_pattern(template: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", template)
    # `ref` holds slashes in git references only; in /commits/{ref}/check-runs it is one part.
    slashed = SLASHED if "/commits/" not in template else {}
    return re.compile(
        "".join(
            f"(?P<{part}>{slashed.get(part, '[^/]+')})" if index % 2 else re.escape(part)
            for index, part in enumerate(parts)
        )
    )


def typed(text: str, kind: Any) -> Any:
    """Return a query or path text as the described type; invalid text is kept, so that the schema refuses it."""
    if kind == "integer" and re.fullmatch(r"-?[0-9]{1,18}", text):
        return int(text)
    if kind == "boolean":
        return {"true": True, "false": False}.get(text.lower(), text)
    return text


def with_json_schema_nulls(node: Any) -> Any:
    """OpenAPI 3.0 says `nullable: true`; JSON Schema says `null` is one of the types."""
    if isinstance(node, list):
        return [with_json_schema_nulls(item) for item in node]
    if not isinstance(node, dict):
        return node
    node = {key: with_json_schema_nulls(value) for key, value in node.items()}
    if node.get("nullable") is not True:
        return node
    del node["nullable"]
    if "type" not in node:
        return {"anyOf": [{"type": "null"}, node]}
    if "enum" in node:
        node["enum"] = [*node["enum"], None]
    return node | {"type": [node["type"], "null"]}
