"""Split source of languages with a grammar into scopes, with tree-sitter (the extra `languages`)."""

import importlib
import re
import time
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from perf_culprit.explain.method_names import without_types
from perf_culprit.explain.python_code import (
    CodeScope,
    MissingGrammarError,
    UnreadableCodeError,
    with_text,
)
from perf_culprit.model.call_tree import Scope
from perf_culprit.model.file_limits import FILE_LIMITS

if TYPE_CHECKING:
    from tree_sitter import Language, Node


@dataclass(frozen=True, slots=True)
class Grammar:
    """`module` is the grammar's Python package and `entry` its function that returns the language.

    `functions`, `classes` and `packages` are types of nodes. A package without a body contains the rest of the file.
    """

    module: str
    functions: frozenset[str]
    classes: frozenset[str]
    packages: frozenset[str]
    entry: str


def _grammar(module: str, functions: str, classes: str = "", packages: str = "", *, entry: str = "language") -> Grammar:
    kinds = [frozenset(text.split()) for text in (functions, classes, packages)]
    return Grammar(f"tree_sitter_{module}", kinds[0], kinds[1], kinds[2], entry)


_SCRIPT_FUNCTIONS: Final = (
    "function_declaration generator_function_declaration method_definition function_expression generator_function "
    "arrow_function"
)
_TYPESCRIPT_CLASSES: Final = "class_declaration abstract_class_declaration class internal_module module"

JAVASCRIPT: Final = _grammar("javascript", _SCRIPT_FUNCTIONS, "class_declaration class")
TYPESCRIPT: Final = _grammar("typescript", _SCRIPT_FUNCTIONS, _TYPESCRIPT_CLASSES, entry="language_typescript")
TSX: Final = _grammar("typescript", _SCRIPT_FUNCTIONS, _TYPESCRIPT_CLASSES, entry="language_tsx")
JAVA: Final = _grammar(
    "java",
    "method_declaration constructor_declaration compact_constructor_declaration",
    "class_declaration interface_declaration enum_declaration record_declaration",
    "package_declaration",
)
GO: Final = _grammar("go", "function_declaration method_declaration", packages="package_clause")
RUST: Final = _grammar("rust", "function_item", "impl_item trait_item mod_item")
C: Final = _grammar("c", "function_definition")
CPP: Final = _grammar(
    "cpp", "function_definition", "class_specifier struct_specifier union_specifier namespace_definition"
)
C_SHARP: Final = _grammar(
    "c_sharp",
    "method_declaration constructor_declaration destructor_declaration local_function_statement operator_declaration "
    "property_declaration",
    "class_declaration struct_declaration interface_declaration record_declaration namespace_declaration",
    "file_scoped_namespace_declaration",
)
RUBY: Final = _grammar("ruby", "method singleton_method", "class module")
PHP: Final = _grammar(
    "php",
    "function_definition method_declaration",
    "class_declaration interface_declaration trait_declaration enum_declaration",
    "namespace_definition",
    entry="language_php",
)
KOTLIN: Final = _grammar(
    "kotlin",
    "function_declaration secondary_constructor",
    "class_declaration object_declaration companion_object",
    "package_header",
)

GRAMMARS: Final[dict[str, Grammar]] = {
    ".c": C,
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx"), CPP),
    ".cs": C_SHARP,
    ".go": GO,
    ".java": JAVA,
    **dict.fromkeys((".js", ".jsx", ".cjs", ".mjs"), JAVASCRIPT),
    **dict.fromkeys((".kt", ".kts"), KOTLIN),
    ".php": PHP,
    ".rb": RUBY,
    ".rs": RUST,
    **dict.fromkeys((".ts", ".cts", ".mts"), TYPESCRIPT),
    ".tsx": TSX,
}


_COMMENTS: Final = frozenset({"comment", "line_comment", "block_comment", "html_comment", "multiline_comment"})
_SEPARATORS: Final = re.compile(r"::|[.\\]")
# Rust: an implementation for `&'a mut Lines` has the type's name.
_REFERENCE: Final = re.compile(r"^&(?:'\w+ )?(?:mut )?")
# JavaScript's unnamed functions: the field with the name, by the type of the enclosing node.
_NAMED_BY: Final = {
    "variable_declarator": "name",
    "assignment_expression": "left",
    "pair": "key",
    "field_definition": "property",
    "public_field_definition": "name",
}


def read_with_grammar(source: bytes, grammar: Grammar) -> tuple[CodeScope, ...]:  # noqa: C901 - one walk, a case per kind of node
    """Read the file, its classes and its functions, outer ones first. Unnamed functions belong to the enclosing scope.

    Text that the grammar does not parse becomes tokens of the scope around it.

    Raises: UnreadableCodeError.
    """
    file = CodeScope(qualified_name="", scope=Scope.FILE, first_line=1, last_line=source.count(b"\n") + 1)
    scopes, position, package, nodes = [file], 0, "", 0
    own_names: set[tuple[int, int]] = set()
    deadline = time.monotonic() + FILE_LIMITS.source_reading_s
    waiting: list[tuple[Node, Node | None, CodeScope, str]] = [(_root(source, grammar, deadline), None, file, "")]
    while waiting:
        # The parent is passed along, because a node would find it only by a walk from the root.
        node, parent, scope, prefix = waiting.pop()
        nodes += 1
        if len(scopes) > FILE_LIMITS.source_scopes:
            raise UnreadableCodeError(f"has more than {FILE_LIMITS.source_scopes:,} functions")
        if not nodes % 4_096 and time.monotonic() > deadline:
            raise UnreadableCodeError("takes too long to read")
        if node.type in _COMMENTS:
            position = node.end_byte
            continue
        if gap := source[position : node.start_byte].strip():
            scope.add(gap)
        position = max(position, node.start_byte)
        if node.type in grammar.packages and not _has_body(node):
            package = _package(node) + "."
        elif opened := _scope_of(node, parent, grammar, prefix or package):
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
    return with_text(scopes, source)


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


def _scope_of(node: "Node", parent: "Node | None", grammar: Grammar, prefix: str) -> CodeScope | None:
    if node.type in grammar.functions:
        name, scope = _function_name(node, parent), Scope.FUNCTION
    elif (node.type in grammar.classes or node.type in grammar.packages) and _has_body(node):
        name, scope = _class_name(node), Scope.CLASS
    else:
        return None
    if not name:
        return None
    return CodeScope(
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
    """The inner one of C's declarators: a pointer to, a reference to, a function of … a name."""
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
    """The receiver's type in Go: `(c *Cart[T])` gives Cart."""
    words = _text(receiver).strip("()").replace("*", " ").partition("[")[0].split()
    return words[-1] if words else ""


def _dotted(node: "Node") -> str:
    """The name with dots between its parts, without type parameters."""
    text = _REFERENCE.sub("", _text(node).strip("'\"`"))
    if text.startswith("operator"):
        return text.replace(" ", "")
    name = "".join(without_types(text).split())
    return ".".join(part for part in _SEPARATORS.split(name) if part)


def _text(node: "Node") -> str:
    return (node.text or b"")[:1_000].decode("utf-8", "replace")
