"""GitHub's expressions, as far as our workflow files use them; unknown names are errors, not empty texts.

Source: docs.github.com, "Evaluate expressions in workflows and actions".
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

TOKEN: Final = re.compile(
    r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<number>\d+)|(?P<operator>==|!=|&&|\|\||[!().,*\[\]])|(?P<name>[A-Za-z_][\w-]*))"
)
INSERTED: Final = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
LITERALS: Final[dict[str, Any]] = {"true": True, "false": False, "null": None}


def starts_with(text: Any, start: Any) -> bool:
    return as_text(text).lower().startswith(as_text(start).lower())


def ends_with(text: Any, end: Any) -> bool:
    return as_text(text).lower().endswith(as_text(end).lower())


def contains(among: Any, one: Any) -> bool:
    if isinstance(among, list):
        return as_text(one).lower() in [as_text(entry).lower() for entry in among]
    return as_text(one).lower() in as_text(among).lower()


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "startsWith": starts_with,
    "endsWith": ends_with,
    "contains": contains,
    "fromJSON": json.loads,
    "always": lambda: True,
    "cancelled": lambda: False,
}


def evaluate(expression: str, contexts: Mapping[str, Any]) -> Any:
    parser = Parser(expression, contexts)
    value = parser.either()
    if parser.tokens:
        raise ValueError(f"left over: {parser.tokens} in {expression!r}")
    return value


def fill(value: Any, contexts: Mapping[str, Any]) -> Any:
    """Return a workflow file's value with each `${{ }}` replaced; a text of one expression gets its value's type."""
    if isinstance(value, Mapping):
        return {key: fill(entry, contexts) for key, entry in value.items()}
    if isinstance(value, list):
        return [fill(entry, contexts) for entry in value]
    if not isinstance(value, str):
        return value
    whole = INSERTED.fullmatch(value.strip())
    if whole and "${{" not in whole[1]:
        return evaluate(whole[1], contexts)
    return INSERTED.sub(lambda result: as_text(evaluate(result[1], contexts)), value)


def condition(value: Any, contexts: Mapping[str, Any]) -> bool:
    """Evaluate the value of `if:`, with or without `${{ }}`."""
    if isinstance(value, bool):
        return value
    text = INSERTED.sub(lambda result: result[1], str(value))
    return truthy(evaluate(text, contexts))


def truthy(value: Any) -> bool:
    return value not in (None, False, 0, "")


def as_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else json.dumps(value)


class Parser:
    def __init__(self, expression: str, contexts: Mapping[str, Any]) -> None:
        self.contexts = contexts
        self.tokens: list[tuple[str, str]] = []
        at = 0
        while at < len(expression.rstrip()):
            match = TOKEN.match(expression, at)
            if match is None or match.lastgroup is None:
                raise ValueError(f"no expression at {expression[at:]!r}")
            self.tokens.append((match.lastgroup, match[match.lastgroup]))
            at = match.end()

    def take(self, *texts: str) -> str | None:
        if self.tokens and self.tokens[0][1] in texts and self.tokens[0][0] != "text":
            return self.tokens.pop(0)[1]
        return None

    def either(self) -> Any:
        value = self.both()
        while self.take("||"):
            other = self.both()
            value = value if truthy(value) else other
        return value

    def both(self) -> Any:
        value = self.equal()
        while self.take("&&"):
            other = self.equal()
            value = other if truthy(value) else value
        return value

    def equal(self) -> Any:
        value = self.unary()
        while operator := self.take("==", "!="):
            other = self.unary()
            same = as_text(value).lower() == as_text(other).lower()
            value = same if operator == "==" else not same
        return value

    def unary(self) -> Any:
        if self.take("!"):
            return not truthy(self.unary())
        if self.take("("):
            value = self.either()
            assert self.take(")"), "a bracket is not closed"
            return value
        kind, text = self.tokens.pop(0)
        if kind == "text":
            return text[1:-1].replace("''", "'")
        if kind == "number":
            return int(text)
        if text in LITERALS:
            return LITERALS[text]
        return self.call(text) if self.take("(") else self.reach(text)

    def call(self, name: str) -> Any:
        arguments = []
        while not self.take(")"):
            arguments.append(self.either())
            self.take(",")
        return FUNCTIONS[name](*arguments)

    def reach(self, name: str) -> Any:
        """Evaluate a path into a context; a missing member is null, but the context must be known."""
        value: Any = self.contexts[name]
        while self.take("."):
            key = self.tokens.pop(0)[1]
            if key == "*":  # the next key of each entry of a list
                self.take(".")
                key = self.tokens.pop(0)[1]
                value = [one.get(key) for one in value or ()]
            else:
                value = value.get(key) if isinstance(value, Mapping) else None
        return value
