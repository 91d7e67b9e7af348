"""Source of a language with a grammar in scopes, by tree-sitter (the extra `languages`)."""

import importlib
import re
import time
from functools import cache
from typing import TYPE_CHECKING, Final

from bot.diagnose.changed.code import (
    MOST_SCOPES,
    CodeScope,
    MissingGrammarError,
    OpenScope,
    UnreadableCodeError,
    with_text,
)
from bot.diagnose.changed.grammars import Grammar
from bot.diagnose.changed.matching import without_types
from bot.model.touched import Scope

if TYPE_CHECKING:
    from tree_sitter import Language, Node

# A megabyte takes about a second; the rest is for busy machines and for what was made to be slow.
READ_LIMIT_S: Final = 5.0
_NODES_PER_LOOK: Final = 4_096
_COMMENTS: Final = frozenset({"comment", "line_comment", "block_comment", "html_comment", "multiline_comment"})
_SEPARATORS: Final = re.compile(r"::|[.\\]")
# JavaScript's functions without a name of their own: by the type of what holds them, the field that names them.
_NAMED_BY: Final = {
    "variable_declarator": "name",
    "assignment_expression": "left",
    "pair": "key",
    "field_definition": "property",
    "public_field_definition": "name",
}


def read_with_grammar(source: bytes, grammar: Grammar) -> tuple[CodeScope, ...]:  # noqa: C901 - one walk, a case per kind of node
    """The file, its classes and its functions, outer ones first. Unnamed functions belong to what encloses them.

    What the grammar does not understand is kept as tokens of the scope it stands in.

    Raises: UnreadableCodeError.
    """
    file = OpenScope(qualified_name="", scope=Scope.FILE, first_line=1, last_line=source.count(b"\n") + 1)
    scopes, position, package, nodes = [file], 0, "", 0
    own_names: set[tuple[int, int]] = set()
    deadline = time.monotonic() + READ_LIMIT_S
    waiting: list[tuple[Node, Node | None, OpenScope, str]] = [(_root(source, grammar, deadline), None, file, "")]
    while waiting:
        # The parent is carried along: a node finds its own by a walk from the root.
        node, parent, scope, prefix = waiting.pop()
        nodes += 1
        if len(scopes) > MOST_SCOPES:
            raise UnreadableCodeError(f"has more than {MOST_SCOPES:,} functions")
        if not nodes % _NODES_PER_LOOK and time.monotonic() > deadline:
            raise UnreadableCodeError("takes too long to read")
        if node.type in _COMMENTS:
            position = node.end_byte
            continue
        if gap := source[position : node.start_byte].strip():
            scope.add(gap)
        position = max(position, node.start_byte)
        if node.type in grammar.packages and not _has_body(node):
            package = _package(node) + "."
        elif opened := _opened(node, parent, grammar, prefix or package):
            scope = opened
            scopes.append(scope)
            prefix = f"{scope.qualified_name}."
            if own := node.child_by_field_name("name"):
                own_names.add((own.start_byte, own.end_byte))
        if node.child_count:
            waiting += [(child, node, scope, prefix) for child in reversed(node.children)]
            continue
        token = source[node.start_byte : node.end_byte].strip()
        if token and (node.start_byte, node.end_byte) not in own_names:
            scope.add(token)
        position = node.end_byte
    return with_text([scope.closed() for scope in scopes], source)


@cache
def _language(grammar: Grammar) -> "Language":
    try:
        from tree_sitter import Language

        module = importlib.import_module(grammar.module)
    except ImportError:
        raise MissingGrammarError("needs a grammar", next_step="pip install 'perf-culprit[languages]'") from None
    return Language(getattr(module, grammar.entry)())


def _root(source: bytes, grammar: Grammar, deadline: float) -> "Node":
    language = _language(grammar)
    from tree_sitter import Parser

    try:
        tree = Parser(language).parse(
            lambda offset, _: source[offset : offset + (1 << 16)],
            progress_callback=lambda _offset, _has_error: time.monotonic() > deadline,
        )
    except ValueError:
        raise UnreadableCodeError("takes too long to read") from None
    return tree.root_node


def _opened(node: "Node", parent: "Node | None", grammar: Grammar, prefix: str) -> OpenScope | None:
    if node.type in grammar.functions:
        name, scope = _function_name(node, parent), Scope.FUNCTION
    elif (node.type in grammar.classes or node.type in grammar.packages) and _has_body(node):
        name, scope = _class_name(node), Scope.CLASS
    else:
        return None
    if not name:
        return None
    return OpenScope(
        qualified_name=prefix + name, scope=scope, first_line=node.start_point.row + 1, last_line=node.end_point.row + 1
    )


def _has_body(node: "Node") -> bool:
    return node.child_by_field_name("body") is not None or any(child.type.endswith("_body") for child in node.children)


def _function_name(node: "Node", parent: "Node | None") -> str:
    own = node.child_by_field_name("name")
    if own is None:
        own = node.child_by_field_name("declarator")
        while own is not None and (inner := _inner_declarator(own)) is not None:
            own = inner
    if own is None and parent is not None and parent.type in _NAMED_BY:
        own = parent.child_by_field_name(_NAMED_BY[parent.type])
    if own is None:
        return "constructor" if node.type == "secondary_constructor" else ""
    receiver = node.child_by_field_name("receiver")
    return (f"{_receiver_type(receiver)}." if receiver is not None else "") + _dotted(own)


def _inner_declarator(node: "Node") -> "Node | None":
    """C's declarators: a pointer to, a reference to, a function of … a name."""
    inner = node.child_by_field_name("declarator")
    if inner is None and node.type in ("reference_declarator", "parenthesized_declarator"):
        inner = node.named_children[0] if node.named_children else None
    return inner


def _class_name(node: "Node") -> str:
    own = node.child_by_field_name("name") or node.child_by_field_name("type")
    if own is None:
        return "Companion" if node.type == "companion_object" else ""
    return _dotted(own)


def _package(node: "Node") -> str:
    own = node.child_by_field_name("name") or (node.named_children[0] if node.named_children else None)
    return "" if own is None else _dotted(own)


def _receiver_type(receiver: "Node") -> str:
    """Go: `(c *Cart[T])` is Cart."""
    words = _text(receiver).strip("()").replace("*", " ").partition("[")[0].split()
    return words[-1] if words else ""


def _dotted(node: "Node") -> str:
    """The name with dots between its parts, without type parameters."""
    text = _text(node).strip("'\"`")
    if text.startswith("operator"):
        return text.replace(" ", "")
    name = "".join(without_types(text).split())
    return ".".join(part for part in _SEPARATORS.split(name) if part)


def _text(node: "Node") -> str:
    return (node.text or b"")[:1_000].decode("utf-8", "replace")
