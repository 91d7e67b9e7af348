"""The workspaces of npm: which of them sources, manifests and scripts can lead to."""

import json
import posixpath
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from perf_culprit.measure.package_graphs import (
    ChangedFiles,
    Graph,
    ShellCommand,
    UnknownError,
    deepest,
    is_inside,
    join_path,
)
from perf_culprit.model.file_limits import FILE_LIMITS


class Npm(Graph):
    """Workspaces by their folders, and the root's own files by their paths.

    Naming another workspace, a program of it, or a path in it counts as use: sources may import unlisted packages.
    """

    endings = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".vue", ".svelte")
    called = "workspaces and files by manifests and imports"
    flag = ("-w",)
    programs = re.compile(r"child_process|\b(?:execa|cross-spawn|zx|shelljs|Deno\.Command|Bun\.spawn|worker_threads)\b")
    runners = (
        re.compile(
            r"""["'`/](?:node|npm|npx|pnpm|yarn|bun|deno|tsx|ts-node|sh|bash|make|python[\d.]*|go|cargo)(?=["'`\s])"""
            r"""|execPath|\bfork\("""
            r"""|["'`/ ][\w.-]+\.(?:sh|bash|py|pl|rb|[mc]?[jt]s|ps1|mk)["'` ]"""
        ),
    )
    walks = re.compile(r"\b(?:readdir(?:Sync)?|opendir(?:Sync)?|globby|globSync|fast-glob|tinyglobby|glob)\b")
    anchors = re.compile(r"""__dirname|__filename|import\.meta|\bcwd\(|["'`]\.{1,2}/?["'`]""")
    computed = re.compile(
        r"""(?:\+\s{0,9}["'`]|["'`][^"'`\n]{0,80}(?:\.\./[^"'`\n]{0,80}\*|\$\{)[^"'`\n]{0,80})\.(\w{1,8})["'`]"""
    )
    _DYNAMIC: Final = re.compile(
        r"""\b(?:import|require|require\.resolve)\s*\(\s*(?!\s|'[^'\n\\]*'\s*[,)]|"[^"\n\\]*"\s*[,)]|`[^`\n\\$]*`\s*[,)])"""
        r"""|createRequire|import\.meta\.glob|require\.context\((?!['"]\.)|=\s*require\s*[;,)\n]"""
        r"""|\beval\(|new Function\(|['"](?:node:)?vm['"]"""
    )
    _VARIABLE: Final = re.compile(r"\w+(?=\s*\))")
    _QUOTED: Final = re.compile(r"""(?<=['"`:])[\w@./-]+""")
    _WORDS: Final = re.compile(r"[\w@./*-]+")
    _SETTINGS: Final = re.compile(r"(?:^|/)(?:\.[\w.-]*rc(?:\.\w+)?|[\w.-]+\.(?:jsonc?|ya?ml|toml))$")
    _LOCKS: Final = ("package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock")
    _TESTS: Final = re.compile(r"(?:^|/)(?:__)?tests?(?:__)?/|\.(?:test|spec)\.\w+$")
    _HOOKS: Final = ("preinstall", "install", "postinstall", "preprepare", "prepare", "postprepare", "prepublish")
    # What programs read at the top of a repository, but for those that only check, format or publish.
    _CONFIGURES: Final = re.compile(
        r"(?!\.?(?:eslint|prettier|stylelint|commitlint|lint-staged|release|typedoc))"
        r"(?:[^/]+\.(?:[cm]?[jt]sx?|vue|svelte)|\.[\w.-]*rc(?:\.\w+)?|(?:package|tsconfig|babel\.config)\.json)"
    )
    _NAMES: Final = re.compile(r"(?<![\w:./*@-])[\w:.-]+(?![\w:./*-])")  # of scripts, in scripts
    _RUNS: Final = re.compile(r"\b(?:npm|pnpm|yarn|bun|run[\w-]*|nps|concurrently|wsrun)\b")
    _CHOOSES: Final = frozenset(("-w", "--workspace", "--filter", "-F", "--prefix", "-C", "--cwd", "--scope"))
    # Commands that run scripts of workspaces that they do not name.
    _ALL: Final = re.compile(
        r"(?<![\w@/-])(?:lerna(?![^\n]{0,200}--scope)|nx|turbo|rush|wsrun|foreach|wireit|-r|--recursive|-ws|--workspaces"
        r"|--filter)(?![\w/-])"
    )
    _UNREAD: Final = frozenset(
        ("workspaces", "files", "description", "keywords", "author", "contributors", "repository", "homepage", "bugs")
    )

    def __init__(self, files: ChangedFiles) -> None:
        super().__init__(files)
        self._manifests: dict[str, dict[str, Any]] = {}
        self._named: dict[str, set[str]] = {}
        for at, text in files.called("package.json").items():
            self._manifests[at] = data = json.loads(text)
            names = [data["name"]] if isinstance(data.get("name"), str) else []
            programs = data.get("bin", {})
            names += [name.rpartition("/")[2] for name in names] if isinstance(programs, str) else list(programs)
            for name in names if at else ():  # nothing installs the root
                self._named.setdefault(name, set()).add(at)
        self._started: dict[str, set[str]] = {"": set()}  # words of commands, by where they may be scripts
        self._anywhere: set[str] = set()
        self._has_hooks: bool | None = None  # whether a command installs and so runs scripts; None: setup may
        self._measured: set[str] = set()  # packages whose tests can be benchmarks

    def starts(self, command: ShellCommand, *, can_choose: bool) -> Iterable[str]:  # noqa: ARG002 - it names workspaces
        if command.words[1:2] in (["ci"], ["install"]):
            if not all(word.startswith("-") for word in command.words[2:]):
                raise UnknownError(f"nothing shows what `{' '.join(command.words)}` installs")
            self._has_hooks = bool(self._has_hooks) or "--ignore-scripts" not in command.words
            return ()
        self._refuse_all(" ".join(command.words))
        values = [self._plain(word) for word in command.words[1:]]
        places = {place for value in values if (place := join_path(command.folder, value)) != command.folder}
        inside = (path for path in self.files.blobs if any(is_inside(path, place) for place in places))
        named = {owner for path in inside for owner in self.owners(path)} & self._manifests.keys()
        named |= {one for value in values for one in self._named.get(value, ())}
        named = named or {deepest(command.folder, self._manifests) or ""}
        if "" in named and self._manifests.keys() != {""}:
            raise UnknownError("the command names no workspace")
        self._measured |= set() if command.is_build else named
        self._anywhere |= {*command.words}
        if not self._CHOOSES & {word.partition("=")[0] for word in command.words}:
            self._started[""] |= {*command.words}
        for at in {"", *named} & self._manifests.keys():
            for text in self._scripts(at):
                self._anywhere |= set(self._words(text))
                self._started[""] |= set(self._words(text)) if ".." in text else set()
        return named

    @staticmethod
    def _plain(word: str) -> str:
        """The value of an option; of a pattern, the folder above all that it means."""
        value = word.partition("=")[2] or word
        parts = re.split(r"[*?{}!^\[\]]|\.\.\.", value)
        folder = parts[0].rpartition("/")[0]
        if len(parts) > 1 and folder in ("", "."):
            raise UnknownError(f"{word} of the command is not understood")
        return folder if len(parts) > 1 else value

    @property
    def _hooks(self) -> tuple[str, ...]:
        return () if self._has_hooks is False else self._HOOKS

    def _scripts(self, package: str) -> list[str]:
        """The scripts of a package that a command may start, directly or from another one."""
        table = self._manifests[package].get("scripts", {})
        scripts: dict[str, str] = {}
        waiting = [*self._started.get(package, self._anywhere), *self._hooks]
        while waiting:
            word = waiting.pop()
            for name in (word, f"pre{word}", f"post{word}"):
                if isinstance(table.get(name), str) and name not in scripts:
                    self._refuse_all(table[name])
                    scripts[name] = table[name]
                    waiting += self._words(table[name])
        return list(scripts.values())

    def _words(self, text: str) -> list[str]:
        """Words of a script that may be names of scripts: those of a command that runs scripts."""
        commands = filter(self._RUNS.search, re.split(r"[;&|\n]+", text))
        return [word for command in commands for word in self._NAMES.findall(command)]

    def _refuse_all(self, command: str) -> None:
        if match := self._ALL.search(re.sub(r"--filter[= ]@?[\w/.-]+(?=\s|$)", "", command)):
            raise UnknownError(f"`{match[0]}` runs scripts of workspaces that it does not name")

    def uses(self, package: str, *, is_start: bool) -> Iterator[str]:
        if is_start:
            configures = filter(self._CONFIGURES.fullmatch, self.files.blobs)
            has_types = f"{package}/tsconfig.json" in self.files.blobs
            yield from (path for path in configures if path != "tsconfig.json" or not has_types)
            yield from (
                at for at, data in self._manifests.items() if at and {*self._hooks} & {*data.get("scripts", {})}
            )
            yield from self._from_installed()
        for source in self.sources(package, is_start=is_start):
            is_settings = not source.path.endswith(self.endings)
            if not is_settings and (unclear := self._unclear(source.code)):
                raise UnknownError(f"only running {source.path} shows what it uses ({unclear})")
            words = self._WORDS.findall(source.text) if is_settings else self._QUOTED.findall(source.code)
            is_anchored = self.anchors.search(source.code) or "path." in source.code
            for word in set(words):
                yield from self._led_to(word, source.path, package, is_settings=is_settings, is_loose=bool(is_anchored))

    def _unclear(self, code: str) -> str | None:
        """Code that may load more than it names. Data does no harm: a change of JSON is never left out."""
        for number, match in enumerate(self._DYNAMIC.finditer(code)):
            name = self._VARIABLE.match(code, match.end()) if number < FILE_LIMITS.dynamic_imports else None
            values = re.findall(rf"\b{name[0]}\s*=(?!=)([^;\n]*)", code) if name else []
            if len(values) != 1 or not re.search(r"\.json[`'\"]\)*\s*$", values[0]):
                return match[0][:20]
        return None

    def _led_to(self, word: str, path: str, package: str, *, is_settings: bool, is_loose: bool) -> Iterator[str]:
        parts = _without_version(word).split("/")
        led_to = {*self._named.get(parts[0], ()), *self._named.get("/".join(parts[:2]), ())}
        if "*" in word and "/" in word:
            prefix = word.partition("*")[0].rpartition("/")[0]
            place = join_path(posixpath.dirname(path), prefix)
            if place not in ("", package):
                led_to |= {at for at in self._manifests if is_inside(at, place)}
        elif "/" in word or is_settings or is_loose:
            for at in {posixpath.dirname(path), package, *([""] if "/" in word else [])} - {path}:
                place = join_path(at, word.lstrip("/"))
                led_to |= set(self._files(place))
            if is_loose and "/" not in word:
                led_to |= {at for at in self._manifests if at and posixpath.basename(at) == word}
        others = led_to - {package}
        if others & self._manifests.keys() - {""} and self._TESTS.search(word):
            raise UnknownError(f"{path} uses tests of another workspace")
        yield from others

    def _files(self, place: str) -> Iterator[str]:
        """The packages of the file or folder that this path without an ending may mean."""
        if place in self._manifests and place:
            yield place
        stem = re.sub(r"\.[cm]?jsx?$", "", place)
        for one in (
            place,
            *(f"{stem}{ending}" for ending in self.endings),
            *(f"{place}/index{ending}" for ending in self.endings),
        ):
            if one in self.files.blobs:
                yield from self.owners(one)
        if (above := deepest(place, self._manifests)) and above != place:
            yield above

    def _from_installed(self) -> Iterator[str]:
        """Workspaces that a package of the registry may use, as the lock file tells."""
        for name in self._LOCKS:
            if name not in self.files.blobs:
                continue
            ((_, text),) = self.files.texts([name])
            if name.endswith(".json"):
                packages = json.loads(text).get("packages", {}).items()
                text = " ".join(
                    json.dumps(one) for at, one in packages if "node_modules/" in at and not one.get("link")
                )
            else:
                text = text.partition("\npackages:")[2] or text
                text = "\n".join(block for block in text.split("\n\n") if "@workspace:" not in block.partition("\n")[0])
            words = set(map(_without_version, re.findall(r"[\w@./-]+", text)))
            yield from (at for word in words & self._named.keys() for at in self._named[word])

    def owners(self, path: str) -> Iterable[str]:
        at = deepest(path, self._manifests)
        return [at] if at else [path] if at is None or self._manifests.keys() != {""} else [path, ""]

    def paths(self, package: str, *, is_start: bool) -> Iterable[str]:
        if package in self.files.blobs:
            return [package]
        ours = [path for path in self.files.blobs if is_inside(path, package) and package in self.owners(path)]
        has_tests = is_start and package in self._measured
        sources = [path for path in ours if path.endswith(self.endings) and (has_tests or not self._TESTS.search(path))]
        top = [path for path in ours if posixpath.dirname(path) == package and self._SETTINGS.search(path)]
        return [*sources, *(path for path in top if posixpath.basename(path) not in self._LOCKS)]

    def texts(self, paths: Iterable[str]) -> Iterable[tuple[str, str]]:
        for path, text in self.files.texts(paths):
            at, name = posixpath.split(path)
            if name == "package.json":
                data = {key: value for key, value in self._manifests[at].items() if key not in self._UNREAD}
                data["scripts"] = self._scripts(at)
                yield path, json.dumps(data, indent=1)
            else:
                yield path, text


def _without_version(word: str) -> str:
    """The name in `@x/name@1.0.0`."""
    return word[:1] + word[1:].partition("@")[0]
