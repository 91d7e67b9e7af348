"""What the grammars of other languages call functions, classes and packages: a table per language, no code."""

from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True, kw_only=True, slots=True)
class Grammar:
    """`module` is the Python package of the grammar and `entry` the function in it that gives the language.

    `functions`, `classes` and `packages` are types of nodes. A package without a body holds the rest of the file.
    """

    module: str
    entry: str = "language"
    functions: frozenset[str]
    classes: frozenset[str] = frozenset()
    packages: frozenset[str] = frozenset()


def _types(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SCRIPT_FUNCTIONS: Final = _types(
    "function_declaration generator_function_declaration method_definition function_expression generator_function "
    "arrow_function"
)
_TYPESCRIPT_CLASSES: Final = _types("class_declaration abstract_class_declaration class internal_module module")
_CPP_CLASSES: Final = _types("class_specifier struct_specifier union_specifier namespace_definition")

JAVASCRIPT: Final = Grammar(
    module="tree_sitter_javascript", functions=_SCRIPT_FUNCTIONS, classes=_types("class_declaration class")
)
TYPESCRIPT: Final = Grammar(
    module="tree_sitter_typescript",
    entry="language_typescript",
    functions=_SCRIPT_FUNCTIONS,
    classes=_TYPESCRIPT_CLASSES,
)
TSX: Final = replace(TYPESCRIPT, entry="language_tsx")
JAVA: Final = Grammar(
    module="tree_sitter_java",
    functions=_types("method_declaration constructor_declaration compact_constructor_declaration"),
    classes=_types("class_declaration interface_declaration enum_declaration record_declaration"),
    packages=_types("package_declaration"),
)
GO: Final = Grammar(
    module="tree_sitter_go",
    functions=_types("function_declaration method_declaration"),
    packages=_types("package_clause"),
)
RUST: Final = Grammar(
    module="tree_sitter_rust", functions=_types("function_item"), classes=_types("impl_item trait_item mod_item")
)
C: Final = Grammar(module="tree_sitter_c", functions=_types("function_definition"))
CPP: Final = Grammar(module="tree_sitter_cpp", functions=_types("function_definition"), classes=_CPP_CLASSES)
C_SHARP: Final = Grammar(
    module="tree_sitter_c_sharp",
    functions=_types(
        "method_declaration constructor_declaration destructor_declaration local_function_statement "
        "operator_declaration property_declaration"
    ),
    classes=_types(
        "class_declaration struct_declaration interface_declaration record_declaration namespace_declaration"
    ),
    packages=_types("file_scoped_namespace_declaration"),
)
RUBY: Final = Grammar(
    module="tree_sitter_ruby", functions=_types("method singleton_method"), classes=_types("class module")
)
PHP: Final = Grammar(
    module="tree_sitter_php",
    entry="language_php",
    functions=_types("function_definition method_declaration"),
    classes=_types("class_declaration interface_declaration trait_declaration enum_declaration"),
    packages=_types("namespace_definition"),
)
KOTLIN: Final = Grammar(
    module="tree_sitter_kotlin",
    functions=_types("function_declaration secondary_constructor"),
    classes=_types("class_declaration object_declaration companion_object"),
    packages=_types("package_header"),
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
