"""Check whether the changes between two commits can reach a suite, or some of its packages. Unknown means reached."""

import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from perf_culprit import git
from perf_culprit.commands.measure_requests import Affected
from perf_culprit.errors import BotError
from perf_culprit.measure.compiled_graphs import Cargo, Go
from perf_culprit.measure.npm_workspaces import Npm
from perf_culprit.measure.package_graphs import (
    ChangedFiles,
    Graph,
    MeasuredPackage,
    ShellCommand,
    Source,
    UnknownError,
    join_path,
)
from perf_culprit.measure.processes import Log
from perf_culprit.measure.python_modules import Python
from perf_culprit.measure.runner import Commands
from perf_culprit.measure.workplace import Workplace, open_workplace
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.run import Run, Unreached

# A placeholder in a command, with all packages as default. The packages to measure replace it, as tool arguments.
AFFECTED: Final = re.compile(r"\$\{PERF_CULPRIT_AFFECTED:-([^}]*)\}")

# Documentation, and settings of programs that check, format, publish or show code; except in typical input folders of
# programs, and except files that a measured source names.
DOCUMENT: Final = re.compile(
    r"(?:.*/)?(?:[^/]+\.(?:md|rst|adoc)|(?:LICEN[CS]E|COPYING|NOTICE|AUTHORS|CODEOWNERS)[-\w]*(?:\.txt)?)"
    r"|docs?/.*\.(?:txt|png|svg|jpe?g|gif|webp|css|html)|\.github/(?:ISSUE_TEMPLATE/.*|FUNDING\.yml)"
)
SETTINGS: Final = re.compile(
    r"\.github/(?!perf-culprit\.).*\.ya?ml"
    r"|(?:.*/)?(?:\.(?:vscode|idea)/.*|[^/]+\.code-workspace|\.?(?:codecov|renovate|readthedocs|biome|codespellrc|mailmap"
    r"|editorconfig|(?:pre-commit-config|markdownlint|golangci|prettierrc|eslintrc)[-\w]*|prettierignore|eslintignore"
    r"|git-blame-ignore-revs)(?:\.(?:ya?ml|jsonc?|json5|toml))?)"
)
_INPUTS: Final = re.compile(r"(?i)(?:^|/)[^/]*(?:bench|test|data|fixture|corpus|sample|example|snapshot|input)[^/]*/")
# Not source of a package, whatever its name: copies of other code, and inputs.
_NO_SOURCE: Final = re.compile(
    r"(?i)(?:^|/)(?:vendor|third_party|node_modules|test_?data|fixtures?|snapshots?|corpus|samples?|data|inputs?|resources)/"
)
# What a file of an unexpected form raises: a fork wrote it.
FORM_FAULTS: Final = (ValueError, LookupError, TypeError, AttributeError, RecursionError, MemoryError)
ASK_SECONDS: Final = 60.0
# Manifests, and their lines that describe a package.
_MANIFESTS: Final = re.compile(r"(?:.*/)?(?:pyproject\.toml|setup\.(?:py|cfg)|Cargo\.toml|package\.json|MANIFEST\.in)")
_ABOUT: Final = re.compile(r"(?im)^.*(?:readme|license|description|include|\"files\").*$")


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasureChoice:
    """`why` it is measured, or `why_not`, in words. `arguments`: the packages, if only some are measured."""

    why: str | None = None
    why_not: str = ""
    unreached: Unreached | None = None
    arguments: str | None = None


def reach(
    repository: Path,
    base: str,
    head: str,
    *,
    run: str,
    build: str | None,
    only: Affected,
    environment: Sequence[str] = (),
) -> MeasureChoice:
    """Find the part of the suite that these commits can affect.

    For `benchmarks` and `suites` the language's own tool is asked in a checkout of the head, as the commands would run
    there. For `documents` any file but these may affect it.
    """
    by_package = only == "benchmarks"
    changes = git.file_changes(repository, base, head)
    paths = sorted({path for change in changes for path in (change.path, change.old_path)})
    edited = {change.path for change in changes if change.blob and change.old_blob and change.path == change.old_path}
    documents = [path for path in paths if _is_document(path)]
    others = sorted({*paths} - {*documents})
    with ExitStack() as stack:
        files = ChangedFiles(repository, base, head, ask=_Checkout(repository, head, environment, stack).ask)
        try:
            _refuse_changes(paths, files)
            if only == "documents":
                _refuse_sources(documents, others)
            can_choose = by_package and AFFECTED.search(run) is not None
            parts = () if only == "documents" else _understood(files, run, build, others=others, can_choose=can_choose)
            if not parts and (why := _reader_of_document(files, documents, edited, f"{build or ''}\n{run}")):
                return MeasureChoice(why=why)
            reached = {part: why for part in parts if (why := part.why(others, documents, edited))}
        except UnknownError as error:
            return MeasureChoice(why=str(error))
        except FORM_FAULTS as error:
            return MeasureChoice(why=f"a file has an unexpected form ({type(error).__name__})")
    not_reached = tuple(part.name for part in parts if part not in reached)
    folders = dict.fromkeys(posixpath.dirname(path) or "." for path in others)
    unreached = Unreached(
        files=len(paths),
        documents=len(documents),
        changed=tuple(folders)[: FILE_LIMITS.unreached],
        packages=not_reached[: FILE_LIMITS.unreached] if reached else (),
    )
    if not reached:
        return MeasureChoice(why_not=_why_not(parts), unreached=unreached)
    why = next(iter(reached.values()))
    if not (not_reached and by_package and AFFECTED.search(run)):
        return MeasureChoice(why=why)
    words = (word for part in reached for word in (*part.graph.flag, part.name))
    return MeasureChoice(why=why, unreached=unreached, arguments=shlex.join(words))


def _why_not(parts: Sequence[MeasuredPackage]) -> str:
    used: dict[Graph, set[str]] = {}
    for part in parts:
        used.setdefault(part.graph, set()).update(part.used)
    graphs = (f"the benchmarks use {graph.described(packages)}" for graph, packages in used.items())
    return (
        ", ".join([*graphs, "and nothing that changed is in them or named by them"])
        if used
        else "only documentation changed"
    )


def _is_document(path: str) -> bool:
    return bool(SETTINGS.fullmatch(path) or (DOCUMENT.fullmatch(path) and not _INPUTS.search(path)))


def _refuse_changes(paths: Sequence[str], files: ChangedFiles) -> None:
    if len(paths) > FILE_LIMITS.changed_paths:
        raise UnknownError(f"{len(paths)} files changed")
    for path in paths:
        if files.is_linked(path):
            raise UnknownError(f"{path} is or lies behind a link or a submodule")


def _refuse_sources(documents: Sequence[str], others: Sequence[str]) -> None:
    if others or not documents:
        raise UnknownError(f"{others[0]} is no documentation" if others else "nothing changed")


def _understood(
    files: ChangedFiles, run: str, build: str | None, *, others: Sequence[str], can_choose: bool
) -> tuple[MeasuredPackage, ...]:
    """The parts of the suite; none if the command or a source is not understood and only documents changed.

    Only sources of the suite's language belong to a package for certain.
    """
    try:
        parts = tuple(_parts(files, run, build, can_choose=can_choose))
    except UnknownError:
        if others:
            raise
        return ()
    endings = tuple({ending for part in parts for ending in part.graph.endings})
    for path in others:
        if not path.endswith(endings) or _NO_SOURCE.search(path):
            raise UnknownError(f"{path} is neither documentation nor a source of the suite's language")
    return parts


def _reader_of_document(files: ChangedFiles, documents: Sequence[str], edited: set[str], command: str) -> str | None:
    """The file that may read a document. It can be any file, since nothing shows what the command starts."""
    paths = [path for path in files.blobs if not _is_document(path)]
    texts = ((path, _ABOUT.sub("", text) if _MANIFESTS.fullmatch(path) else text) for path, text in files.texts(paths))
    sources = [Source(path=path, text=text) for path, text in (("the command", command), *texts)]
    for path in documents:
        for source in sources:
            if source.may_read(path, is_document=True, is_kept=path in edited):
                return f"{source.path} may read {path}"
    return None


class _Checkout:
    """A checkout of a commit in which commands of this job are run; made when it is first needed."""

    def __init__(self, repository: Path, commit: str, environment: Sequence[str], stack: ExitStack) -> None:
        self._repository = repository
        self._commit = commit
        self._commands = Commands(run="false", environment=tuple(environment), run_timeout_seconds=ASK_SECONDS)
        self._stack = stack
        self._workplace: Workplace | None = None

    def ask(self, command: str) -> str:
        """Return the output of a command in the checkout, with the environment of the suite's commands."""
        if self._workplace is None:
            folder = Path(self._stack.enter_context(TemporaryDirectory(prefix="perf-culprit-")))
            log = self._stack.enter_context(Log(folder / "log.txt"))
            opened = open_workplace(self._repository, commands=self._commands, read=_refuse_results, log=log)
            self._workplace = self._stack.enter_context(opened)
        try:
            printed = self._workplace.run(self._commit, command=command)
            if printed.stat().st_size > FILE_LIMITS.file_bytes:
                raise UnknownError("the language's tool printed too much")
            return printed.read_text(errors="replace")
        except BotError as error:
            raise UnknownError(f"the language's tool did not answer: {error.message[:300]}") from None


def _refuse_results(result: Path) -> Run:
    raise UnknownError(f"{result} is not a result")


TOOLS: Final[Mapping[str, type[Graph]]] = {
    "cargo": Cargo,
    "go": Go,
    **dict.fromkeys(("npm", "npx", "pnpm", "yarn", "node", "bun"), Npm),
    **dict.fromkeys(("python", "python3", "pytest", "asv"), Python),
}
# Commands that pass results on and read no sources.
_HELPERS: Final = re.compile(
    r"(?:tee|cat|mkdir|true|echo|set|cargo fetch|go mod download"
    r"|(?:python3? -m |uv )?pip3? install)\b"
)
_AROUND: Final = ("uv", "poetry", "run", "time", "exec", "env", "export")
# Variables that only switch or count.
_PLAIN: Final = re.compile(r"\w+=(?:[\d.]*|true|false|on|off|yes|no|full|production|release)")
_PYTHON_PATH: Final = re.compile(r"PYTHONPATH=[\w./:-]*")


def _parts(files: ChangedFiles, run: str, build: str | None, *, can_choose: bool) -> Iterator[MeasuredPackage]:
    graphs: dict[type[Graph], Graph] = {}
    started: dict[tuple[Graph, str], str] = {}
    for command in (*_commands(build or "", is_build=True), *_commands(run)):
        words = " ".join(command.words)
        if _HELPERS.match(words):
            if re.search(r"[*?\[]", words):
                raise UnknownError("a pattern of the command is not understood")
            continue
        if (kind := TOOLS.get(command.words[0])) is None:
            raise UnknownError(f"nothing shows what {command.words[0]} reads")
        graph = graphs.get(kind) or graphs.setdefault(kind, kind(files))
        for package in sorted(graph.starts(command, can_choose=can_choose)):
            started.setdefault((graph, package), command.folder)
    if not started:
        raise UnknownError("the command starts no benchmark that is here")
    source = Source(path="the command", text=f"{build or ''}\n{run}")
    for (graph, package), folder in started.items():
        yield MeasuredPackage(graph=graph, package=package, folder=folder, used=graph.used(package), command=source)


def _commands(text: str, *, is_build: bool = False) -> Iterator[ShellCommand]:
    """Yield each command; the placeholder variable has its default."""
    text = AFFECTED.sub(r"\1", text).replace("\\\n", " ").replace("\n", " ; ")
    if re.search(r"[`(){}#]|<|\$(?!PERF_CULPRIT_OUTPUT\b|[ '\"]|$)", text):
        raise UnknownError("the shell command is not understood")
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    folder, words, variables = "", list[str](), dict[str, str]()
    try:
        for token in _without_output([*lexer, ";"]):
            if not re.fullmatch(r"[;&|]+", token):
                words.append(token)
                continue
            own_variables, words = _variables(words)
            if words[:1] == ["cd"]:
                folder = join_path(folder, words[1])
                if len(words[1:]) != 1 or folder.startswith((".", "/", "~", "-")):
                    raise UnknownError("the shell command is not understood")
            elif words:
                yield ShellCommand(words=words, folder=folder, variables=variables | own_variables, is_build=is_build)
            else:
                variables |= own_variables
            words = []
    except (ValueError, LookupError):
        raise UnknownError("the shell command is not understood") from None


def _without_output(tokens: Sequence[str]) -> Iterator[str]:
    """The tokens without files that the command writes."""
    is_target = False
    for token in tokens:
        if is_target and re.search(r"\.(?:py|go|rs|[cm]?[jt]sx?)$", token):
            raise UnknownError("the shell command writes a source")
        is_output = re.fullmatch(r"[>&]*>[>&]*", token) is not None
        if not is_target and not is_output:
            yield token
        is_target = is_output


def _variables(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """The variables set before a command, and its other words."""
    variables = dict[str, str]()
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if equals and re.fullmatch(r"\w+", name):
            if not (_PLAIN.fullmatch(word) or _PYTHON_PATH.fullmatch(word)):
                raise UnknownError(f"nothing shows what {word} changes")
            variables[name] = value
        elif word not in _AROUND:
            return variables, list(words[at:])
    return variables, []
