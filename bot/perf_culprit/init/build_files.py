"""Benchmarks in the files of build tools: packages of Cargo, JMH in modules of Maven and Gradle, CMake's targets."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatch
from itertools import groupby
from typing import Any, Final

from perf_culprit.init.native_output import OUTPUT_FILE, BenchmarkCommand, compiling, native
from perf_culprit.init.repository import Repository, Suggestion


def build_file_suggestions(repository: Repository) -> Iterator[Suggestion]:
    yield from _criterion(repository)
    yield from _libtest(repository)
    yield from _maven(repository)
    yield from _gradle(repository)
    yield from cmake_suggestions(repository)


def _criterion(repository: Repository) -> Iterator[Suggestion]:
    packages = _packages(repository)
    benching = {folder: about for folder, about in packages.items() if _uses_criterion(about)}
    if not benching:
        return
    members = {folder: about for folder, about in benching.items() if _is_member(folder, packages)}
    texts = [_cargo_bench(members)] if members else []
    texts += [
        f"cargo bench --manifest-path {folder}/Cargo.toml{_features({folder: about})}"
        for folder, about in benching.items()
        if folder not in members
    ]
    command = native(BenchmarkCommand(text=" && ".join(texts)), repository)
    build = compiling(command.text)
    yield Suggestion(tool="Criterion", build=build, run=" && ".join(filter(None, (command.text, command.after))))


def _packages(repository: Repository) -> dict[str, Mapping[str, Any]]:
    """Parse each valid Cargo.toml, by its folder."""
    packages: dict[str, Mapping[str, Any]] = {}
    for name in repository.matching(re.compile(r"(^|/)Cargo\.toml$")):
        try:
            packages[name.rpartition("/")[0]] = tomllib.loads(repository.read(name))
        except (tomllib.TOMLDecodeError, RecursionError):
            continue
    return packages


def _uses_criterion(about: Mapping[str, Any]) -> bool:
    platforms = about.get("target")
    each = [about, *platforms.values()] if isinstance(platforms, dict) else [about]
    tables = [one.get(kind) for one in each if isinstance(one, dict) for kind in ("dependencies", "dev-dependencies")]
    names = {name for table in tables if isinstance(table, dict) for name in table}
    return any(re.match(r"(codspeed-)?criterion\b", name) for name in names)


def _is_member(folder: str, packages: Mapping[str, Mapping[str, Any]]) -> bool:
    workspace = packages.get("", {}).get("workspace")
    if not folder or not isinstance(workspace, dict):
        return not folder
    outside = [str(name).rstrip("/") for name in workspace.get("exclude", ())]
    inside = [str(name).rstrip("/") for name in workspace.get("members", ())]
    is_inside = any(fnmatch(folder, pattern) for pattern in inside)
    return is_inside and not any(folder == name or folder.startswith(f"{name}/") for name in outside)


def _cargo_bench(members: Mapping[str, Mapping[str, Any]]) -> str:
    """Omit `-p` if the package at the top is the only one."""
    chosen = "" if set(members) == {""} else "".join(f" -p {_package_name(about)}" for about in members.values())
    return f"cargo bench{chosen}{_features(members)}"


def _package_name(about: Mapping[str, Any]) -> str:
    package = about.get("package")
    return str(package.get("name", "")) if isinstance(package, dict) else ""


def _features(packages: Mapping[str, Mapping[str, Any]]) -> str:
    """The features that benchmarks require: without them, Cargo silently skips a benchmark."""
    wanted = [
        str(feature) if len(packages) == 1 else f"{_package_name(about)}/{feature}"
        for about in packages.values()
        for bench in about.get("bench", ())
        if isinstance(bench, dict)
        for feature in bench.get("required-features", ())
    ]
    return f" --features {','.join(dict.fromkeys(wanted))}" if wanted else ""


def _libtest(repository: Repository) -> Iterator[Suggestion]:
    if repository.says(r"\.rs$", r"#\[bench\]"):
        # Code behind `cfg(bench)` is not built without that flag.
        flag = "RUSTFLAGS=--cfg=bench " if repository.says(r"\.rs$", r"\bcfg(_attr)?\(bench\b") else ""
        run = f"{flag}cargo +nightly bench"
        yield Suggestion(tool="cargo bench", setup="rustup toolchain install nightly", build=compiling(run), run=run)


def _maven(repository: Repository) -> Iterator[Suggestion]:
    for name in repository.matching(re.compile(r"(^|/)pom\.xml$")):
        text, folder = repository.read(name), name.rpartition("/")[0]
        if "jmh-core" in text and "<packaging>pom<" not in text:
            jar = _shaded_jar(text)
            program = f"-jar {_within(folder, f'target/{jar}')}" if jar else _from_classes(folder)
            run = f"java {program} -rf json -rff {OUTPUT_FILE}"
            yield Suggestion(
                tool="JMH (Maven)", build=_maven_build(repository, folder, has_jar=bool(jar)), run=run, place=name
            )


def _within(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _shaded_jar(pom: str) -> str:
    """The name of the jar with JMH that maven-shade-plugin makes; "" without the plugin or a name."""
    name = re.search(r"<finalName>([^<]+)</finalName>", pom) if "maven-shade-plugin" in pom else None
    if name is None:
        return ""
    resolved = re.sub(r"\$\{([\w.-]+)\}", lambda match: _property(pom, match[1]), name[1])
    return f"{resolved}.jar"


def _property(pom: str, name: str) -> str:
    value = re.search(rf"<{re.escape(name)}>([^<]+)<", pom)
    return value[1] if value else ""


def _from_classes(folder: str) -> str:
    target = _within(folder, "target")
    return f'-cp "{target}/test-classes:{target}/classes:$(cat {target}/classpath.txt)" org.openjdk.jmh.Main'


def _maven_build(repository: Repository, folder: str, *, has_jar: bool) -> str:
    maven = "./mvnw" if "mvnw" in repository.files else "mvn"
    goal = "package" if has_jar else "test-compile dependency:build-classpath -Dmdep.outputFile=target/classpath.txt"
    if not folder:
        return f"{maven} --quiet -DskipTests {goal}"
    if f"<module>{folder}</module>" in repository.read("pom.xml"):
        return f"{maven} --quiet -DskipTests -pl {folder} -am {goal}"
    first = f"{maven} --quiet -DskipTests install && " if "pom.xml" in repository.files else ""
    return f"{first}{maven} --quiet -DskipTests -f {folder}/pom.xml {goal}"


GRADLE_PLUGIN: Final = re.compile(
    r"me\.champeau\.(gradle\.)?jmh\b(?!.*apply\s*\(?false)|alias\(libs\.plugins\.jmh\)(?!.*false)"
)


def _gradle(repository: Repository) -> Iterator[Suggestion]:
    gradle = "./gradlew" if "gradlew" in repository.files else "gradle"
    for name in repository.matching(re.compile(r"(^|/)build\.gradle(\.kts)?$")):
        if GRADLE_PLUGIN.search(repository.read(name)):
            folder = name.rpartition("/")[0]
            task = f":{folder.replace('/', ':')}:jmh" if folder else "jmh"
            command = native(BenchmarkCommand(text=f"{gradle} {task}"), repository)
            yield Suggestion(tool="JMH (Gradle)", run=f"{command.text} && {command.after}", place=name)


LINKED: Final = re.compile(r"target_link_libraries\(\s*([\w.-]+)[^)]*\bbenchmark(::|_main\b|\b)")
_CMAKE_OPTION: Final = re.compile(
    r"(?:option|cmake_dependent_option)\(\s*(\w*BENCH\w*)\s+[^)]*\bOFF\s*\)", re.IGNORECASE
)


def cmake_suggestions(repository: Repository, *, also: Iterable[str] = ()) -> Iterator[Suggestion]:
    """Suggest each project's targets that link Google Benchmark. `also`: further options to switch on."""
    files = repository.matching(re.compile(r"(^|/)CMakeLists\.txt$|\.cmake$"))
    texts = {name: repository.read(name) for name in files}
    linked = [(_cmake_root(name, texts), match[1]) for name, text in texts.items() for match in LINKED.finditer(text)]
    options = dict.fromkeys([*_CMAKE_OPTION.findall("".join(texts.values())), *also])
    switches = " ".join(f"-D{name}=ON" for name in options)
    for root, pairs in groupby(dict.fromkeys(linked), key=lambda pair: pair[0]):
        names = [name for _, name in pairs]
        target = " ".join(names)
        runs = [
            f'"$(find build -name {name} -type f -perm -u+x | head -n 1)" --benchmark_repetitions=5 --benchmark_out='
            + (OUTPUT_FILE if len(names) == 1 else f'"$PERF_CULPRIT_OUTPUT/{name}.json"')
            for name in names
        ]
        yield Suggestion(
            tool="Google Benchmark",
            build=(
                f"cmake -S {root or '.'} -B build -DCMAKE_BUILD_TYPE=Release {switches}".rstrip()
                + f" && cmake --build build --parallel --target {target}"
            ),
            run=" && ".join([f"mkdir -p {OUTPUT_FILE}"] * (len(names) > 1) + runs),
            place=_within(root, "CMakeLists.txt"),
        )


def _cmake_root(name: str, texts: Mapping[str, str]) -> str:
    """The top folder, unless no file there leads to this one; then the nearest folder that is its own project."""
    folder = name.rpartition("/")[0]
    first = folder.split("/")[0]
    if not folder or re.search(
        rf"(add_subdirectory|include)\(\s*\"?{re.escape(first)}\b", texts.get("CMakeLists.txt", "")
    ):
        return ""
    parts = folder.split("/")
    above = ["/".join(parts[:end]) for end in range(len(parts), 0, -1)]
    return next((folder for folder in above if "project(" in texts.get(f"{folder}/CMakeLists.txt", "")), "")
