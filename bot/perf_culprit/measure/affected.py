"""Check whether the changes between two commits can reach a suite, or some of its packages. Unknown means reached."""

import posixpath
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from perf_culprit import git
from perf_culprit.measure.package_graphs import BUILD_FILES, TOOLS, Files, Graph, UnknownError, is_inside, joined
from perf_culprit.model.run import MOST_UNREACHED, Unreached

# A placeholder in a command, with all packages as default. The packages to measure replace it, as tool arguments.
AFFECTED: Final = re.compile(r"\$\{PERF_CULPRIT_AFFECTED:-([^}]*)\}")

# Documentation, except in typical input folders of programs, and except files that a measured source names.
DOCUMENT: Final = re.compile(
    r"(?:.*/)?(?:[^/]+\.(?:md|rst|adoc)|(?:LICEN[CS]E|COPYING|NOTICE|AUTHORS|CODEOWNERS)[-\w]*(?:\.txt)?)"
    r"|docs?/.*\.(?:txt|png|svg|jpe?g|gif|webp|css|html)|\.github/(?:ISSUE_TEMPLATE/.*|FUNDING\.yml)"
)
_INPUTS: Final = re.compile(r"(?i)(?:^|/)[^/]*(?:bench|test|data|fixture|corpus|sample|example|snapshot|input)[^/]*/")
# Not source of a package, whatever its name: copies of other code, inputs and build files.
_NO_SOURCE: Final = re.compile(
    r"(?i)(?:^|/)(?:vendor|third_party|node_modules|test_?data|fixtures?|snapshots?|corpus|samples?|data|inputs?|resources)/"
)
_COMMENT: Final = re.compile(r"\s*(?://|\*|#(?!\[))|.*\bdoc\s*=")
_EMBEDS: Final = re.compile(r"go:embed|include_dir!|RustEmbed|rust_embed")


@dataclass(frozen=True, kw_only=True, slots=True)
class Reach:
    """`why` it is measured, in words; None if nothing is. `arguments`: the packages, if only some are measured."""

    why: str | None = None
    unreached: Unreached | None = None
    arguments: str | None = None


def reach(repository: Path, base: str, head: str, *, run: str, build: str | None, by_package: bool) -> Reach:
    """Find the part of the suite that these commits can affect; `by_package`: select its affected packages."""
    changes = git.file_changes(repository, base, head)
    paths = sorted({path for change in changes for path in (change.path, change.old_path)})
    others = [path for path in paths if not DOCUMENT.fullmatch(path) or _INPUTS.search(path)]
    documents = [path for path in paths if path not in others]
    files, parts = Files(repository, base, head), list[_Part]()
    try:
        parts += _parts(files, run, build)
        _refuse_unclear(paths, others, files, parts)
    except UnknownError as error:
        if others or any(is_inside(path, link) for path in paths for link in files.links):
            return Reach(why=str(error))
    reached = [part for part in parts if any(map(part.is_reached_by, others))]
    if not reached and (named := _named(documents, others, files, parts, f"{run} {build}")):
        return Reach(why=named)
    left = tuple(part.name for part in parts if part not in reached)
    folders = dict.fromkeys(posixpath.dirname(path) or "." for path in others)
    unreached = Unreached(
        files=len(paths),
        documents=len(documents),
        changed=tuple(folders)[:MOST_UNREACHED],
        packages=left[:MOST_UNREACHED] if reached else (),
    )
    if not reached:
        return Reach(unreached=unreached)
    why = f"{next(filter(reached[0].is_reached_by, others))} reaches {reached[0].name}"
    if not (left and by_package and AFFECTED.search(run)):
        return Reach(why=why)
    words = (word for part in reached for word in (*part.graph.flag, part.name))
    return Reach(why=why, unreached=unreached, arguments=shlex.join(words))


def _refuse_unclear(paths: Sequence[str], others: Sequence[str], files: Files, parts: Sequence["_Part"]) -> None:
    for path in paths:
        if any(is_inside(path, link) for link in files.links):
            raise UnknownError(f"{path} is or lies behind a link or a submodule")
    beside = {"", *(posixpath.dirname(path) for path in files.blobs if BUILD_FILES.fullmatch(path))}
    for path in others:
        if not any(path.endswith(part.graph.endings) and part.graph.owner(path) is not None for part in parts):
            raise UnknownError(f"{path} is neither documentation nor a source of the suite's language")
        if _NO_SOURCE.search(path) or (path.endswith(".py") and posixpath.dirname(path) in beside):
            raise UnknownError(f"{path} is no package's source")


def _named(
    documents: Sequence[str], others: Sequence[str], files: Files, parts: Sequence["_Part"], command: str
) -> str | None:
    """The file that a measured source or the build may read; with unknown sources, search files named bench or perf."""
    sources = {path for part in parts for package in part.used for path in part.graph.sources.get(package, ())}
    called = (path for path in files.blobs if re.search(r"bench|perf", path) and not DOCUMENT.fullmatch(path))
    texts = [("the command", command), *files.texts(sources if parts else called)]
    building = files.texts(filter(BUILD_FILES.fullmatch, files.blobs)) if others else []
    for path in (*documents, *others):
        folder, name = posixpath.split(path)
        inside = posixpath.basename(folder) if path in documents else ""
        if path in others and re.match(r"(?:lib|mod|main|index|__init__|doc)\.", name):
            name = f"{posixpath.basename(folder)}/{name}"
        pattern = re.compile(rf"{re.escape(name)}|['\"/]{re.escape(inside) or '(?!)'}/?(?:\*[^'\"]*)?['\"]")
        for source, text in (*texts, *(building if path in others else ())):
            if _is_named(pattern, text) or (
                inside and _EMBEDS.search(text) and is_inside(path, posixpath.dirname(source))
            ):
                return f"{source} may read {path}"
    return None


def _is_named(pattern: re.Pattern[str], text: str) -> bool:
    lines = (text[text.rfind("\n", 0, match.start()) + 1 : match.end()] for match in pattern.finditer(text))
    return not all(map(_COMMENT.match, lines))


# The commands of a shell line, and the packages that they start.


@dataclass(frozen=True, kw_only=True, slots=True)
class _Part:
    """A package whose benchmarks are measured, and all packages that it uses."""

    graph: Graph
    package: str
    folder: str
    used: frozenset[str]

    @property
    def name(self) -> str:
        return self.graph.argument(self.package, self.folder)

    def is_reached_by(self, path: str) -> bool:
        return path.endswith(self.graph.endings) and self.graph.owner(path) in self.used


# Commands that pass results on and read no sources, or that only build what the run command starts.
_HELPERS: Final = re.compile(
    r"(?:tee|cat|mkdir|export|set|true|echo|grep|cargo (?:build|fetch|bench .*--no-run)|go (?:build|mod download)"
    r"|(?:npm|pnpm|yarn) (?:ci|install)|(?:python3? -m |uv )?pip3? install)\b"
)
_AROUND: Final = ("uv", "poetry", "run", "time", "exec", "env")


def _parts(files: Files, run: str, build: str | None) -> Iterator[_Part]:
    graphs: dict[type[Graph], Graph] = {}
    count = 0
    for words, folder in (*_commands(build or ""), *_commands(run)):
        if _HELPERS.match(" ".join(words)):
            continue
        if (kind := TOOLS.get(words[0])) is None:
            raise UnknownError(f"nothing shows what {words[0]} reads")
        graph = graphs.get(kind) or graphs.setdefault(kind, kind(files))
        for count, package in enumerate(sorted(graph.starts(words, folder)), 1):  # noqa: B007
            yield _Part(graph=graph, package=package, folder=folder, used=graph.used(package))
    if not count:
        raise UnknownError("the command starts no benchmark that is here")


def _commands(text: str) -> Iterator[tuple[list[str], str]]:
    """Yield each command with its folder; the placeholder variable has its default."""
    text = AFFECTED.sub(r"\1", text).replace("\\\n", " ").replace("\n", " ; ")
    if re.search(r"[`(){}]|\$(?!PERF_CULPRIT_OUTPUT\b|[ '\"]|$)", text):
        raise UnknownError("the shell command is not understood")
    folder, words = "", list[str]()
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        for token in (*lexer, ";"):
            if not re.fullmatch(r"[;&|]+", token):
                words += [] if re.match(r"\+|[<>]", token) else [token]
                continue
            while words and (re.match(r"\w+=", words[0]) or words[0] in _AROUND):
                words = words[1:]
            if words[:1] == ["cd"]:
                folder = joined(folder, words[1])
            elif words:
                yield words, folder
            words = []
    except (ValueError, IndexError):
        raise UnknownError("the shell command is not understood") from None
