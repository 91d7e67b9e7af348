"""What a path says of a file: whether it runs, and whether it decides what is built with."""

import re
from typing import Final

_DOCUMENT_SUFFIXES: Final = (".md", ".rst", ".txt", ".adoc", ".org", ".tex", ".pdf", ".png", ".jpg", ".svg", ".gif")
_DOCUMENT_NAMES: Final = re.compile(
    r"(license|licence|copying|authors|changelog|changes|news|readme|contributing|notice|codeowners)(\..*)?"
    r"|\.gitignore|\.gitattributes|\.mailmap|\.editorconfig"
)
_DOCUMENT_FOLDERS: Final = frozenset({"doc", "docs", "documentation", "changelog", "changelogs", "changelog.d", "man"})
_TEST_FOLDERS: Final = frozenset({"test", "tests", "testing", "__tests__", "spec", "specs", "testdata", "fixtures"})
_TEST_NAMES: Final = re.compile(
    r"test_.*\.py|conftest\.py|.*_test\.(py|go|cc|cpp|rb|rs)|.*[._-](test|spec)\.[cm]?[jt]sx?|.*_spec\.rb"
    r"|.*tests?\.(java|kt|cs|php)"
)
_BUILD_NAMES: Final = re.compile(
    r"requirements.*\.(txt|in)|constraints.*\.txt|pyproject\.toml|setup\.(py|cfg)|pipfile(\.lock)?|.*\.lock"
    r"|package(-lock)?\.json|pnpm-lock\.yaml|go\.(mod|sum)|cargo\.toml|pom\.xml|.*\.gradle(\.kts)?|gradle\.properties"
    r"|gemfile|composer\.json|.*\.(csproj|props|targets|cmake)|cmakelists\.txt|(gnu)?makefile(\..*)?|meson\.build"
    r"|configure(\.ac)?|dockerfile.*|build(\.bazel)?|module\.bazel|conanfile\.(txt|py)|vcpkg\.json|\.gitmodules"
    r"|rust-toolchain(\.toml)?|\.(python|node|ruby)-version|environment\.ya?ml|uv\.lock"
)
LONGEST_NAME: Final = 255


def changes_build(path: str) -> bool:
    """Whether the file names dependencies, tools or flags of the build."""
    return _BUILD_NAMES.fullmatch(_name(path)) is not None


def is_document_or_test(path: str) -> bool:
    """Whether nothing that is measured should read the file. A guess by name: a weight, never an exclusion."""
    folders = {part.lower() for part in path.split("/")[:-1]}
    name = _name(path)
    if changes_build(path):
        return False
    return bool(
        folders & (_DOCUMENT_FOLDERS | _TEST_FOLDERS)
        or name.endswith(_DOCUMENT_SUFFIXES)
        or _DOCUMENT_NAMES.fullmatch(name)
        or _TEST_NAMES.fullmatch(name)
    )


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1].lower()[:LONGEST_NAME]
