"""Generated repositories in which one file of code breaks, and whether the benchmark then fails.

A seed chooses how code leads to other code: imports in all their forms, files that are read, programs that are started.
Decoys lead nowhere. Only an execution tells whether the broken file matters.
"""

import json
import os
import random
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from perf_culprit.measure.affected import reach
from tests.support.git_repository import init_repository, run_git

EXECUTION_SECONDS: Final = 240
NAMES: Final = ("amber", "birch", "cedar", "dune", "ember", "fjord", "grove", "heath", "islet", "knoll")


@dataclass(frozen=True, kw_only=True)
class Case:
    """A repository, the commands that measure it, and the file that its next commit breaks."""

    name: str
    files: Mapping[str, str]
    run: str
    broken: str
    text: str
    build: str | None = None

    def write(self, folder: Path) -> tuple[str, str]:
        """Commit the files, then break one; return both commits."""
        init_repository(folder)
        base = _committed(folder, self.files)
        return base, _committed(folder, {self.broken: self.text})

    def is_running(self, folder: Path, commit: str) -> bool:
        """Whether the benchmark of a commit runs to its end in this folder."""
        run_git(folder, "checkout", "--quiet", "--force", commit)
        run_git(folder, "clean", "--quiet", "-fdx")
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        own = {"GOPROXY": "off", "GOTOOLCHAIN": "local", "CARGO_NET_OFFLINE": "true", "PYTHONDONTWRITEBYTECODE": "1"}
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))}
        done = subprocess.run(
            ["sh", "-e", "-c", f"{self.build or 'true'}\n{self.run}"],
            cwd=folder,
            env={**environment, **own, "PATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=EXECUTION_SECONDS,
            check=False,
        )
        return done.returncode == 0 and b"measured" in done.stdout


@dataclass(frozen=True, kw_only=True)
class Truth:
    """`is_valid`: the benchmark runs at the base; `breaks`: not at the head. `why`: the reason to measure, if any."""

    is_valid: bool
    breaks: bool
    why: str | None

    @property
    def is_missed(self) -> bool:
        return self.is_valid and self.breaks and self.why is None


def judged(case: Case, folder: Path) -> Truth:
    """Execute the benchmark at both commits, and ask what the change reaches."""
    base, head = case.write(folder)
    is_valid, breaks = case.is_running(folder, base), not case.is_running(folder, head)
    run_git(folder, "clean", "--quiet", "-fdx")
    answer = reach(folder, base, head, run=case.run, build=case.build, only="suites")
    return Truth(is_valid=is_valid, breaks=breaks, why=answer.why)


def generated(language: str, number: int) -> Case:
    """The case of this number; the name and the number are the seed."""
    return MAKERS[language](random.Random(f"{language} {number}"), number)


def _committed(folder: Path, files: Mapping[str, str]) -> str:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if text.startswith("#!"):
            path.chmod(0o755)
    run_git(folder, "add", "--all")
    run_git(folder, "commit", "--quiet", "-m", "change")
    return run_git(folder, "rev-parse", "HEAD")


@dataclass
class Draft:
    """A repository in the making. `lines` and `tops` are code of a module: what it does, and what stands above."""

    draw: random.Random
    files: dict[str, str] = field(default_factory=dict)
    lines: dict[str, list[str]] = field(default_factory=dict)
    tops: dict[str, list[str]] = field(default_factory=dict)
    extra: dict[str, str] = field(default_factory=dict)
    manifests: dict[str, dict[str, object]] = field(default_factory=dict)

    def manifest(self, module: str) -> dict[str, object]:
        return self.manifests.setdefault(module, {})

    def do(self, module: str, text: str) -> "Draft":
        self.lines.setdefault(module, []).append(textwrap.dedent(text).strip("\n"))
        return self

    def top(self, module: str, text: str) -> "Draft":
        self.tops.setdefault(module, []).append(textwrap.dedent(text).strip("\n"))
        return self


Way = Callable[[Draft, str, str], object]


def _drawn(draft: Draft, number: int, ways: Mapping[str, Way], plain: tuple[str, ...]) -> list[tuple[str, str, str]]:
    """Draw edges between modules: (way, user, used). One way is special, and only plain ways lead to its user."""
    draw, special = draft.draw, sorted(ways)[number % len(ways)]
    names = draw.sample(NAMES, draw.randint(4, 6))
    edges = [(draw.choice(plain), "bench", names[0]), (special, draw.choice(["bench", names[0]]), names[1])]
    for at, name in enumerate(names[2:], 2):
        edges.append((draw.choice(plain), draw.choice(["bench", *names[:at]]), name))
    for way, user, used in edges:
        ways[way](draft, user, used)
    return edges


# Python: modules of one package, a script or a test that measures.

PYTHON_BROKEN: Final = 'raise RuntimeError("broken")\n'


def _py(text: str) -> Way:
    return lambda draft, user, used: draft.do(user, text.replace("USED", used))


def _py_star(draft: Draft, user: str, used: str) -> None:
    draft.files["lib/__init__.py"] = f'{draft.files.get("lib/__init__.py", "")}__all__ = ["{used}"]\n'
    draft.do(user, "from lib import *")


def _py_sub(draft: Draft, user: str, used: str) -> None:
    package = f"lib/p_{used}"
    draft.files[f"{package}/__init__.py"] = '__all__ = ["inner"]\n'
    draft.files[f"{package}/inner.py"] = f"import lib.{used}\n"
    draft.do(user, f"from lib.p_{used} import *")


def _py_data(draft: Draft, user: str, used: str) -> None:
    draft.do(
        user,
        f'''
        from pathlib import Path
        compile((Path(__file__).parent.parent / "lib" / "{used}.py").read_text(), "x", "exec")
        assert "broken" not in (Path(__file__).parent.parent / "lib" / "{used}.py").read_text()''',
    )


def _py_conftest(draft: Draft, _user: str, used: str) -> None:
    draft.files["conftest.py"] = draft.files.get("conftest.py", "") + f"import lib.{used}\n"


def _py_plugin(draft: Draft, _user: str, used: str) -> None:
    draft.files["conftest.py"] = draft.files.get("conftest.py", "") + f'pytest_plugins = ["lib.{used}"]\n'


def _py_ini(draft: Draft, _user: str, used: str) -> None:
    draft.files["pytest.ini"] = f"[pytest]\naddopts = -p lib.{used}\npythonpath = .\n"


def _py_script(draft: Draft, user: str, used: str) -> None:
    draft.files["tools.sh"] = f"#!/bin/sh\nexec python -m lib.{used}\n"
    draft.do(user, 'import subprocess\nsubprocess.run(["./tools.sh"], check=True)')


def _py_shadow(draft: Draft, user: str, _used: str) -> None:
    draft.extra["shadow"] = "colorsys.py"
    draft.files["colorsys.py"] = "VALUE = 1\n"
    draft.do(user, "import colorsys, importlib\nassert colorsys")


PYTHON_WAYS: Final[Mapping[str, Way]] = {
    "import": _py("import lib.USED"),
    "from": _py("from lib import USED"),
    "from, in brackets": _py("from lib import (\n    # )\n    USED,\n)"),
    "as": _py("import lib.USED as other"),
    "name in a function": _py("def load():\n    from lib.USED import VALUE\n    return VALUE\nload()"),
    "try": _py("try:\n    import lib.USED\nexcept ImportError:\n    pass"),
    "semicolons": _py("import os; import lib.USED"),
    "continued": _py("from lib \\\n    import USED"),
    "star": _py_star,
    "star of a package": _py_sub,
    "import_module": _py('from importlib import import_module\nimport_module("lib.USED")'),
    "import_module by another name": _py('from importlib import import_module as load\nload("lib." + "USED")'),
    "import_module, relative": _py('import importlib\nimportlib.import_module(".USED", "lib")'),
    "import_module, computed": _py(
        'import importlib\nfor name in ("USED",):\n    importlib.import_module("lib." + name)'
    ),
    "__import__": _py('__import__("lib.USED")'),
    "getattr": _py('import importlib\ngetattr(importlib, "import_" + "module")("lib.USED")'),
    "exec": _py('exec("import lib." + "USED")'),
    "runpy": _py('import runpy\nrunpy.run_module("lib.USED")'),
    "spec": _py(
        'import importlib.util\nspec = importlib.util.spec_from_file_location("x", "lib/USED.py")\n'
        "spec.loader.exec_module(importlib.util.module_from_spec(spec))"
    ),
    "pkgutil": _py('import pkgutil\nassert pkgutil.resolve_name("lib.USED")'),
    "subprocess": _py('import subprocess, sys\nsubprocess.run([sys.executable, "-m", "lib.USED"], check=True)'),
    "subprocess, imported": _py(
        'import sys\nfrom subprocess import check_call as start\nstart([sys.executable, "lib/USED.py"])'
    ),
    "subprocess, code": _py(
        'import subprocess, sys\nsubprocess.run([sys.executable, "-c", "import lib.USED"], check=True)'
    ),
    "subprocess, computed code": _py(
        'import subprocess, sys\nname = "USED"\n'
        'subprocess.run([sys.executable, "-c", f"import lib.{name}"], check=True)'
    ),
    "os.system": _py('import os, sys\nassert os.system(f"{sys.executable} lib/USED.py") == 0'),
    "os.spawnv": _py(
        'import os, sys\nassert os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-m", "lib.USED"]) == 0'
    ),
    "asyncio": _py("""
        import asyncio, sys
        async def start():
            return await (await asyncio.create_subprocess_exec(sys.executable, "-m", "lib.USED")).wait()
        assert asyncio.run(start()) == 0"""),
    "glob": _py("""
        from pathlib import Path
        for one in sorted(Path("lib").glob("*.py")):
            compile(one.read_text(), one, "exec")
            assert "bro" + "ken" not in one.read_text()"""),
    "listdir": _py("""
        import os
        for one in os.listdir("lib"):
            if one == "USED" + os.extsep + "py":
                assert "bro" + "ken" not in open(os.path.join("lib", one)).read()"""),
    "computed file": _py('name = "USED"\nassert "bro" + "ken" not in open(f"lib/{name}.py").read()'),
    "data": _py_data,
    "getsource": _py("import inspect\nfrom lib import USED\nassert inspect.getsource(USED)"),
    "pickle": _py('import pickle\npickle.loads(b"clib.USED\\nVALUE\\n.")'),
    "shell script": _py_script,
    "conftest": _py_conftest,
    "plugin": _py_plugin,
    "pytest.ini": _py_ini,
    "standard library's name": _py_shadow,
    "search path": _py(
        'import os, sys\nsys.path.append(os.path.join(os.path.dirname(__file__), "..", "lib"))\nimport USED'
    ),
    "resource": _py(
        'import importlib.resources\ncompile((importlib.resources.files("lib") / "USED.py").read_text(), "x", "exec")\n'
        'assert "bro" + "ken" not in (importlib.resources.files("lib") / "USED.py").read_text()'
    ),
    "mock": _py('from unittest.mock import patch\nwith patch("lib.USED.VALUE", 2):\n    pass'),
    "configuration": _py(
        'import logging.config\nlogging.config.dictConfig({"version": 1, "filters": {"x": {"()": "lib.USED.make"}}})'
    ),
    "decoy: comment": _py("# import lib.USED"),
    "decoy: never": _py("if False:\n    import lib.USED"),
    "decoy: type": _py("TYPE_CHECKING = False\nif TYPE_CHECKING:\n    import lib.USED"),
    "decoy: code": _py('import subprocess, sys\nsubprocess.run([sys.executable, "-c", "import json"], check=True)'),
    "decoy: commit": _py('import subprocess\nsubprocess.run(["git", "rev-parse", "HEAD"], check=True)'),
    "decoy: documentation": _py('"""See lib.USED."""'),
    "decoy: nothing": lambda _draft, _user, _used: None,
}
PYTHON_RUNS: Final = (
    *("python bench/run.py", "python -m bench.run", "pytest -q -s bench/test_it.py") * 4,
    "python -m pytest -q -s bench",
    "PYTHONPATH=. pytest -q -s -p lib.PLUGIN bench",
    "cat bench/run.py | python",
    "python < bench/run.py",
    "cd bench && PYTHONPATH=.. python run.py",
    "python -c 'import bench.run'",
    "pytest -q -s bench/*.py",
)


def python_case(draw: random.Random, number: int) -> Case:
    """A package `lib`, and a benchmark that uses some of its modules."""
    draft = Draft(draw=draw)
    edges = _drawn(draft, number, PYTHON_WAYS, ("import", "from", "as", "try", "decoy: comment", "decoy: nothing"))
    names = [*NAMES]
    for name in names:
        draft.files[f"lib/{name}.py"] = "\n".join(["VALUE = 1", "make = object", *draft.lines.get(name, []), ""])
    bench = "\n".join(
        ["import sys", 'sys.path.insert(0, "")', 'sys.path.insert(0, "..")', *draft.lines.get("bench", [])]
    )
    draft.files.setdefault("lib/__init__.py", "")
    draft.files["bench/__init__.py"] = ""
    draft.files["bench/run.py"] = f'{bench}\nprint("measured")\n'
    draft.files["bench/test_it.py"] = 'def test_it():\n    import bench.run\n    print("measured")\n'
    draft.files["README.md"] = "Read lib.\n"
    is_pytest = edges[1][0] in ("conftest", "plugin", "pytest.ini")
    run = draw.choice([one for one in PYTHON_RUNS if "pytest" in one] if is_pytest else PYTHON_RUNS)
    run = run.replace("PLUGIN", names[draw.randrange(len(names))])
    chosen = (
        [f"lib/{edges[1][2]}.py"] * 8 + [f"lib/{used}.py" for _, _, used in edges] + [f"lib/{draw.choice(names)}.py"]
    )
    broken = draft.extra.get("shadow") or draw.choice([*chosen, "bench/__init__.py"])
    text = PYTHON_BROKEN + draft.files[broken]
    return Case(name=f"python {number}: {edges[1][0]}", files=draft.files, run=run, broken=broken, text=text)


# Go: packages of one module, and one with a benchmark.

GO_BROKEN: Final = '\nfunc init() { panic("broken") }\n'
MODULE: Final = "example.com/m"


def _go(text: str) -> Way:
    return lambda draft, user, used: draft.top(user, text.replace("USED", used).replace("MODULE", MODULE))


def _go_do(imports: str, text: str) -> Way:
    """Code of an `init` function. A file of a benchmark runs in the folder of its package."""

    def add(draft: Draft, user: str, used: str) -> None:
        number = len(draft.tops.get(user, ()))
        names = "\n".join(f'i{number}{index} "{one}"' for index, one in enumerate(imports.split()))
        body = text.replace("USED", used).replace("MODULE", MODULE)
        for index, one in enumerate(imports.split()):
            body = body.replace(f"{one.rpartition('/')[2]}.", f"i{number}{index}.")
        draft.top(user, f"import (\n{names}\n)")
        draft.do(user, f"func init() {{\n{body}\n}}")

    return add


def _go_test(draft: Draft, user: str, used: str) -> None:
    draft.files[f"{user}/more_test.go"] = f'package {user}\nimport _ "{MODULE}/{used}"\n'


def _go_outer_test(draft: Draft, user: str, used: str) -> None:
    draft.files[f"{user}/outer_test.go"] = f'package {user}_test\nimport _ "{MODULE}/{used}"\n'


def _go_system(draft: Draft, user: str, used: str) -> None:
    draft.files[f"{user}/more_linux.go"] = f'package {user}\nimport _ "{MODULE}/{used}"\n'


def _go_other_system(draft: Draft, user: str, used: str) -> None:
    draft.files[f"{user}/more_windows.go"] = f'package {user}\nimport _ "{MODULE}/{used}"\n'


def _go_tag(draft: Draft, user: str, used: str) -> None:
    draft.files[f"{user}/tagged.go"] = f'//go:build special\n\npackage {user}\nimport _ "{MODULE}/{used}"\n'
    draft.extra["flags"] = "-tags special "


def _go_embed(draft: Draft, user: str, used: str) -> None:
    draft.files[f"{user}/inner/{used}_data.go"] = "package data\n"
    draft.extra["broken"] = f"{user}/inner/{used}_data.go"
    draft.top(user, 'import "embed"')
    draft.do(
        user,
        f"""//go:embed inner/*
        var inner_{used} embed.FS
        func init() {{
            text, _ := inner_{used}.ReadFile("inner/{used}_data.go")
            if len(text) > 20 {{ panic("broken") }}
        }}""",
    )


def _go_other_module(draft: Draft, user: str, used: str) -> None:
    draft.files[f"mods/x{used}/go.mod"] = f"module example.com/x{used}\n\ngo 1.21\n"
    draft.files[f"mods/x{used}/x.go"] = f"package x{used}\n"
    draft.files["go.mod"] += f"require example.com/x{used} v0.0.0\nreplace example.com/x{used} => ./mods/x{used}\n"
    draft.extra["broken"] = f"mods/x{used}/x.go"
    draft.top(user, f'import _ "example.com/x{used}"')


def _go_workspace(draft: Draft, user: str, used: str) -> None:
    draft.files[f"mods/x{used}/go.mod"] = f"module example.com/x{used}\n\ngo 1.21\n"
    draft.files[f"mods/x{used}/x.go"] = f"package x{used}\n"
    draft.files["go.work"] = f"go 1.21\n\nuse (\n\t.\n\t./mods/x{used}\n)\n"
    draft.extra["broken"] = f"mods/x{used}/x.go"
    draft.top(user, f'import _ "example.com/x{used}"')


def _go_generated(draft: Draft, _user: str, used: str) -> None:
    draft.files[f"cmd/c{used}/main.go"] = f'package main\nimport _ "{MODULE}/{used}"\nfunc main() {{}}\n'
    draft.extra["build"] = f"go build -o tool ./cmd/c{used} && ./tool"


def _go_tool(draft: Draft, user: str, used: str) -> None:
    draft.files[f"cmd/c{used}/main.go"] = f'package main\nimport _ "{MODULE}/{used}"\nfunc main() {{}}\n'
    draft.extra["build"] = f"go build -o tool-{used} ./cmd/c{used}"
    _go_do("os/exec", f'if err := exec.Command("../tool-{used}").Run(); err != nil {{ panic(err) }}')(draft, user, used)


GO_WAYS: Final[Mapping[str, Way]] = {
    "import": _go('import _ "MODULE/USED"'),
    "group": _go('import (\n\t_ "MODULE/USED"\n)'),
    "bracket in a comment": _go('import (\n\t// )\n\t_ "MODULE/USED" // )\n)'),
    "bracket in a comment before": _go('import ( /* ) */\n\t_ "MODULE/USED"\n)'),
    "several on a line": _go('import ( _ "errors"; _ "MODULE/USED" )'),
    "two statements on a line": _go('import _ "errors"; import _ "MODULE/USED"'),
    "raw": _go("import _ `MODULE/USED`"),
    "raw, in a group": _go("import (\n\t_ `MODULE/USED`\n)"),
    "escaped": _go('import _ "MODULE\\u002fUSED"'),
    "dot": lambda draft, user, used: (
        draft.top(user, f'import . "{MODULE}/{used}"'),
        draft.do(user, "var _ = Value" + used.title()),
    ),
    "named": lambda draft, user, used: (
        draft.top(user, f'import x{used} "{MODULE}/{used}"'),
        draft.do(user, f"var _ = x{used}.Value{used.title()}"),
    ),
    "comment between": _go('import /* "x" */ _ /* ( */ "MODULE/USED"'),
    "test": _go_test,
    "test of the package's own": _go_outer_test,
    "system": _go_system,
    "tag": _go_tag,
    "embedded": _go_embed,
    "module": _go_other_module,
    "workspace": _go_workspace,
    "started when built": _go_generated,
    "built tool": _go_tool,
    "go run": _go_do("os/exec", 'if err := exec.Command("go", "run", "../runs/USED").Run(); err != nil { panic(err) }'),
    "go, by a variable": _go_do(
        "os/exec",
        'tool := "go"\nif err := exec.Command(tool, "vet", "../USED").Run(); err == nil {\n'
        'text, _ := exec.Command(tool, "list", "-f", "{{.GoFiles}}", "../USED").Output()\n_ = text }',
    ),
    "file": _go_do(
        "os bytes",
        'text, _ := os.ReadFile("../USED/USED.go")\nif bytes.Contains(text, []byte("bro" + "ken")) { panic("found") }',
    ),
    "glob": _go_do(
        "path/filepath os bytes",
        'names, _ := filepath.Glob("../*/*.go")\nfor _, name := range names {\ntext, _ := os.ReadFile(name)\n'
        'if bytes.Contains(text, []byte("bro" + "ken")) { panic("found") }\n}',
    ),
    "walk": _go_do(
        "path/filepath io/fs os bytes",
        'filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {\ntext, _ := os.ReadFile(name)\n'
        'if filepath.Ext(name) == ".go" && bytes.Contains(text, []byte("bro" + "ken")) { panic("found") }\n'
        "return nil\n})",
    ),
    "parser": _go_do(
        "go/parser go/token strings os",
        'found, err := parser.ParseDir(token.NewFileSet(), "../USED", nil, 0)\nif err != nil { panic(err) }\n'
        "for _, one := range found { for name := range one.Files {\ntext, _ := os.ReadFile(name)\n"
        'if strings.Contains(string(text), "bro" + "ken") { panic("found") }\n} }',
    ),
    "caller": _go_do(
        "runtime path/filepath os bytes",
        "_, here, _, _ := runtime.Caller(0)\ntop := filepath.Dir(filepath.Dir(here))\n"
        'text, _ := os.ReadFile(filepath.Join(top, "USED", "USED" + ".go"))\n'
        'if bytes.Contains(text, []byte("bro" + "ken")) { panic("found") }',
    ),
    "decoy: other system": _go_other_system,
    "decoy: comment": _go('// import _ "MODULE/USED"'),
    "decoy: text": lambda draft, user, used: draft.do(user, f'const text{used} = "{MODULE}/{used}"'),
    "decoy: nothing": lambda _draft, _user, _used: None,
}
GO_RUNS: Final = (
    "go test FLAGS-run '^$' -bench . ./bench",
    "go test FLAGS-run '^$' -bench=. -benchtime 1x ./...",
    "cd bench && go test FLAGS-run '^$' -bench . -benchtime=1x",
    "go test FLAGS-run '^$' -bench . -benchtime 1x example.com/m/bench | tee out.txt",
    "GOMAXPROCS=1 go test FLAGS-bench . -benchtime 1x -count 1 ./bench ./amber",
    "go test FLAGS-bench . -benchtime 1x ./b...",
)


def go_case(draw: random.Random, number: int) -> Case:
    """A module with packages of one file each, and a package `bench`."""
    draft = Draft(draw=draw, files={"go.mod": f"module {MODULE}\n\ngo 1.21\n\n"})
    edges = _drawn(draft, number, GO_WAYS, ("import", "group", "named", "test", "decoy: comment", "decoy: nothing"))
    for _, _, used in edges:
        draft.files[f"runs/{used}/main.go"] = f'package main\nimport _ "{MODULE}/{used}"\nfunc main() {{}}\n'
    for name in NAMES:
        code = [
            f"package {name}",
            *draft.tops.get(name, []),
            f"const Value{name.title()} = 1",
            *draft.lines.get(name, []),
            "",
        ]
        draft.files[f"{name}/{name}.go"] = "\n".join(code)
    draft.files["bench/bench.go"] = "\n".join(
        ["package bench", *draft.tops.get("bench", []), *draft.lines.get("bench", []), ""]
    )
    draft.files["bench/bench_test.go"] = (
        'package bench\n\nimport (\n\t"fmt"\n\t"testing"\n)\n\n'
        'func BenchmarkIt(b *testing.B) {\n\tfor i := 0; i < b.N; i++ {\n\t}\n\tfmt.Println("measured")\n}\n'
    )
    run = draw.choice(GO_RUNS).replace("FLAGS", draft.extra.get("flags", ""))
    chosen = [f"{edges[1][2]}/{edges[1][2]}.go"] * 8
    chosen += [f"{used}/{used}.go" for _, _, used in edges] + [f"{draw.choice(NAMES)}/x_test.go", "bench/bench.go"]
    broken = draft.extra.get("broken") or draw.choice(chosen)
    text = draft.files.get(broken, f"package {broken.partition('/')[0]}\n")
    is_syntax = draw.random() < 0.25
    text = f"{text}}}{{ // broken\n" if is_syntax else text + GO_BROKEN
    return Case(
        name=f"go {number}: {edges[1][0]}",
        files=draft.files,
        run=run,
        build=draft.extra.get("build"),
        broken=broken,
        text=text,
    )


# npm: workspaces, one of which has a benchmark.

NPM_BROKEN: Final = 'throw new Error("broken");\n'


def _js(text: str) -> Way:
    return lambda draft, user, used: draft.do(user, text.replace("USED", used))


def _js_manifest(key: str, value: object, text: str) -> Way:
    def add(draft: Draft, user: str, used: str) -> None:
        draft.manifest(user)[key] = json.loads(json.dumps(value).replace("USED", used))
        draft.do(user, text.replace("USED", used))

    return add


def _js_script(script: str) -> Way:
    """A part of the benchmark's script, before or after the benchmark itself."""

    def add(draft: Draft, _user: str, used: str) -> None:
        draft.extra["script"] = script.replace("USED", used)

    return add


def _js_hook(draft: Draft, user: str, used: str) -> None:
    draft.files[f"packages/{used}/hook.js"] = (
        f'require("fs").writeFileSync("../made-{used}.js", "require(\'@x/{used}\')");\n'
    )
    draft.manifest(used)["scripts"] = {"postinstall": "node hook.js"}
    draft.do(user, f'const made = "made-{used}"; require(`../${{made}}`);')
    draft.extra["broken"] = f"packages/{used}/hook.js"


def _js_root_hook(draft: Draft, _user: str, _used: str) -> None:
    draft.files["package.json"] = json.dumps(
        {**json.loads(draft.files["package.json"]), "scripts": {"prepare": "node tools/make.js"}}
    )
    draft.files["tools/make.js"] = 'require("./part");\n'
    draft.files["tools/part.js"] = "\n"
    draft.extra["broken"] = "tools/part.js"


def _js_alias(draft: Draft, user: str, used: str) -> None:
    draft.manifest(user)["dependencies"] = {f"other-{used}": f"file:../{used}"}
    draft.do(user, f'require("other-{used}");')


NPM_WAYS: Final[Mapping[str, Way]] = {
    "require": _js('require("@x/USED");'),
    "require, quoted otherwise": _js("require('@x/USED');"),
    "require, template": _js("require(`@x/USED`);"),
    "file of a package": _js('require("@x/USED/index.js");'),
    "computed": _js('const name = "USED"; require("@x/" + name);'),
    "computed, template": _js('const name = "USED"; require(`@x/${name}`);'),
    "escaped": _js('require("@x\\u002fUSED");'),
    "loop": _js('for (const name of ["USED"]) require(["@x", name].join("/"));'),
    "another name": _js('const load = require; load("@x/USED");'),
    "createRequire": _js('require("module").createRequire(__filename)("@x/USED");'),
    "import()": _js('import("@x/USED").catch((error) => { console.error(error); process.exit(1); });'),
    "relative": _js('require("../USED");'),
    "relative file": _js('require("../USED/index");'),
    "joined": _js('require(require("path").join(__dirname, "..", "USED", "index.js"));'),
    "resolved": _js('require(require.resolve("@x/USED"));'),
    "fork": _js(
        'const done = require("child_process").spawnSync(process.execPath, ["../USED/index.js"]);\n'
        "if (done.status) throw 1;"
    ),
    "execFile": _js('require("child_process").execFileSync("node", [require("path").join(__dirname, "../USED")]);'),
    "exec": _js('require("child_process").execSync("node ../USED/index.js", { cwd: __dirname });'),
    "worker": _js(
        'const { Worker } = require("worker_threads");\n'
        'new Worker(require("path").join(__dirname, "../USED/index.js")).on("error", () => process.exit(1));'
    ),
    "read": _js(
        'if (require("fs").readFileSync(__dirname + "/../USED/index.js", "utf8").includes("bro" + "ken")) throw 1;'
    ),
    "listed": _js(
        'const fs = require("fs"), path = require("path"), root = path.join(__dirname, "..");\n'
        "for (const one of fs.readdirSync(root)) {\n"
        '  const file = path.join(root, one, "index.js");\n'
        '  if (fs.existsSync(file) && fs.readFileSync(file, "utf8").includes("bro" + "ken")) throw 1;\n}'
    ),
    "vm": _js('require("vm").runInThisContext(require("fs").readFileSync(__dirname + "/../USED/index.js", "utf8"));'),
    "imports": _js_manifest("imports", {"#other": "@x/USED"}, 'require("#other");'),
    "alias": _js_alias,
    "program": _js_script("USED-tool"),
    "npm run": _js_script("npm run check -w @x/USED"),
    "npm exec": _js_script("npm exec -w @x/USED -- node index.js"),
    "all workspaces": _js_script("npm run check --workspaces --if-present"),
    "required before": _js_script("node -r ../USED/index.js -e 0"),
    "other folder": _js_script("(cd ../USED && node index.js)"),
    "hook of a workspace": _js_hook,
    "hook of the root": _js_root_hook,
    "decoy: comment": _js('// require("@x/USED")'),
    "decoy: word": _js('const text = "see USED";'.replace("text", "text_USED")),
    "decoy: nothing": lambda _draft, _user, _used: None,
}
NPM_RUNS: Final = (
    "npm run bench -w @x/bench",
    "npm run bench --workspace=packages/bench",
    "cd packages/bench && npm run bench",
    "npm --prefix packages/bench run bench | tee out.txt",
)


def npm_case(draw: random.Random, number: int) -> Case:
    """Workspaces `@x/NAME` in `packages/`, and `@x/bench`."""
    draft = Draft(
        draw=draw, files={"package.json": json.dumps({"name": "root", "private": True, "workspaces": ["packages/*"]})}
    )
    edges = _drawn(
        draft, number, NPM_WAYS, ("require", "file of a package", "relative", "decoy: comment", "decoy: nothing")
    )
    for name in NAMES:
        draft.files[f"packages/{name}/index.js"] = "\n".join(["#!/usr/bin/env node", *draft.lines.get(name, []), ""])
        manifest: dict[str, object] = {"name": f"@x/{name}", "version": "1.0.0", "main": "index.js"}
        manifest |= {"bin": {f"{name}-tool": "index.js"}}
        manifest |= {"scripts": {"check": "node index.js"}} if name == edges[1][2] else {}
        manifest |= draft.manifests.get(name, {})
        draft.files[f"packages/{name}/package.json"] = json.dumps(manifest)
    script = " && ".join(filter(None, (draft.extra.get("script"), "node index.js")))
    manifest = {"name": "@x/bench", "version": "1.0.0", "scripts": {"bench": script}}
    draft.files["packages/bench/package.json"] = json.dumps(manifest | draft.manifests.get("bench", {}))
    draft.files["packages/bench/index.js"] = "\n".join([*draft.lines.get("bench", []), 'console.log("measured");', ""])
    draft.files[".gitignore"] = "node_modules/\n"
    chosen = [f"packages/{edges[1][2]}/index.js"] * 8 + [f"packages/{used}/index.js" for _, _, used in edges]
    broken = draft.extra.get("broken") or draw.choice(chosen)
    return Case(
        name=f"npm {number}: {edges[1][0]}",
        files=draft.files,
        build="npm install --offline --no-audit --no-fund",
        run=draw.choice(NPM_RUNS),
        broken=broken,
        text=f"#!/usr/bin/env node\n{NPM_BROKEN}",
    )


# Cargo: crates of one workspace, one of which has a benchmark.

CARGO_BROKEN: Final = 'compile_error!("broken");\n'
CRATE: Final = '[package]\nname = "NAME"\nversion = "0.1.0"\nedition = "2021"\n'


def _dependency(table: str, text: str = 'USED = { path = "../USED" }') -> Way:
    def add(draft: Draft, user: str, used: str) -> None:
        draft.extra[f"{user} {table}"] = draft.extra.get(f"{user} {table}", "") + text.replace("USED", used) + "\n"

    return add


def _rs(text: str) -> Way:
    return lambda draft, user, used: draft.do(user, text.replace("USED", used))


def _build_script(text: str) -> Way:
    def add(draft: Draft, user: str, used: str) -> None:
        draft.files[f"crates/{user}/build.rs"] = f"fn main() {{\n{text.replace('USED', used)}\n}}\n"

    return add


def _at_run(text: str) -> Way:
    return lambda draft, _user, used: draft.extra.update(bench=text.replace("USED", used))


def _rs_inner(draft: Draft, user: str, used: str) -> None:
    draft.files[f"crates/{used}/src/deep/mod.rs"] = "mod inner;\n"
    draft.files[f"crates/{used}/src/deep/inner.rs"] = "\n"
    draft.extra["broken"] = f"crates/{used}/src/deep/inner.rs"
    draft.do(user, f'#[path = "../../{used}/src/deep/mod.rs"]\nmod deep_{used};')


def _rs_folder(draft: Draft, user: str, used: str) -> None:
    draft.files[f"crates/{used}/src/deep/inner.rs"] = "\n"
    draft.extra["broken"] = f"crates/{used}/src/deep/inner.rs"
    draft.do(user, f'#[path = "../../{used}/src/deep"]\nmod deep_{used} {{\n    mod inner;\n}}')


def _patched(draft: Draft, user: str, used: str) -> None:
    draft.extra[f"{user} dependencies"] = draft.extra.get(f"{user} dependencies", "") + f'{used} = "0.1"\n'
    draft.extra["patch"] = f'[patch.crates-io]\n{used} = {{ path = "crates/{used}" }}\n'


CARGO_WAYS: Final[Mapping[str, Way]] = {
    "dependency": _dependency("dependencies"),
    "renamed": _dependency("dependencies", 'other-USED = { path = "../USED", package = "USED" }'),
    "of the workspace": lambda draft, user, used: (
        _dependency("dependencies", "USED.workspace = true")(draft, user, used),
        draft.extra.update(workspace=draft.extra.get("workspace", "") + f'{used} = {{ path = "crates/{used}" }}\n'),
    ),
    "of the system": _dependency("target.'cfg(unix)'.dependencies"),
    "of another system": _dependency("target.'cfg(windows)'.dependencies"),
    "development": _dependency("dev-dependencies"),
    "build": lambda draft, user, used: (
        _dependency("build-dependencies")(draft, user, used),
        _build_script("")(draft, user, used),
    ),
    "optional": _dependency("dependencies", 'USED = { path = "../USED", optional = true }'),
    "optional, chosen": lambda draft, user, used: (
        _dependency("dependencies", 'USED = { path = "../USED", optional = true }')(draft, user, used),
        _dependency("features", 'default = ["USED"]')(draft, user, used),
    ),
    "patched": _patched,
    "path": _rs('#[path = "../../USED/src/lib.rs"]\nmod used_USED;'),
    "path of a module with modules": _rs_inner,
    "path of a folder": _rs_folder,
    "include!": _rs('mod used_USED { include!("../../USED/src/lib.rs"); }'),
    "include!, computed": _rs(
        'mod used_USED { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/../USED/src/", "lib", ".rs")); }'
    ),
    "include_str!": _rs('const _: () = assert!(include_str!("../../USED/src/lib.rs").len() < 200);'),
    "include_bytes!": _rs('const _: () = assert!(include_bytes!("../../USED/src/lib.rs").len() < 200);'),
    "build script reads": _build_script(
        'assert!(!std::fs::read_to_string("../USED/src/lib.rs").unwrap().contains("broken"));'
    ),
    "build script lists": _build_script(
        'for one in std::fs::read_dir("../USED/src").unwrap() {\n'
        'assert!(!std::fs::read_to_string(one.unwrap().path()).unwrap_or_default().contains("broken"));\n}'
    ),
    "build script lists all": _build_script(
        'let top = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned();\n'
        'for one in std::fs::read_dir(top).unwrap() {\nlet path = one.unwrap().path().join("src").join("lib.rs");\n'
        'assert!(!std::fs::read_to_string(path).unwrap_or_default().contains("broken"));\n}'
    ),
    "build script runs cargo": _build_script(
        'let done = std::process::Command::new(std::env::var("CARGO").unwrap())'
        '.args(["check", "--offline", "--target-dir", '
        '"../../target/other", "-p", "USED"]).status().unwrap();\nassert!(done.success());'
    ),
    "outside of the workspace": lambda draft, user, used: (
        _dependency("dependencies")(draft, user, used),
        draft.extra.update(exclude=f"exclude = ['crates/{used}']\n"),
    ),
    "benchmark reads": _at_run('assert!(!std::fs::read_to_string("../USED/src/lib.rs").unwrap().contains("broken"));'),
    "benchmark lists": _at_run(
        'for one in std::fs::read_dir("..").unwrap() {\nlet path = one.unwrap().path().join("src").join("lib.rs");\n'
        'assert!(!std::fs::read_to_string(path).unwrap_or_default().contains("broken"));\n}'
    ),
    "benchmark runs cargo": _at_run(
        'let done = std::process::Command::new("cargo").args(["check", "--offline", "--target-dir", '
        '"../../target/other", '
        '"-p", "USED"]).status().unwrap();\nassert!(done.success());'
    ),
    "decoy: comment": _rs('// include!("../../USED/src/lib.rs")'),
    "decoy: text": _rs('pub const TEXT_USED: &str = "USED";'),
    "decoy: nothing": lambda _draft, _user, _used: None,
}
CARGO_RUNS: Final = (
    *(
        "cargo bench -p bench",
        "cd crates/bench && cargo bench --offline",
        "cargo bench --package=bench --bench it -- --quick",
    )
    * 3,
    "cargo bench",
    "cargo bench --workspace",
)


def cargo_case(draw: random.Random, number: int) -> Case:
    """A workspace of crates in `crates/`, and the crate `bench`."""
    draft = Draft(draw=draw)
    edges = _drawn(
        draft, number, CARGO_WAYS, ("dependency", "development", "of the system", "decoy: comment", "decoy: nothing")
    )
    for name in (*NAMES, "bench"):
        own = {key.partition(" ")[2]: text for key, text in draft.extra.items() if key.startswith(f"{name} ")}
        manifest = CRATE.replace("NAME", name) + "".join(f"[{table}]\n{text}" for table, text in own.items())
        manifest += '[[bench]]\nname = "it"\nharness = false\n' if name == "bench" else ""
        draft.files[f"crates/{name}/Cargo.toml"] = manifest
        draft.files[f"crates/{name}/src/lib.rs"] = "\n".join([*draft.lines.get(name, []), ""])
    workspace = f"[workspace.dependencies]\n{draft.extra['workspace']}" if "workspace" in draft.extra else ""
    tables = f"{draft.extra.get('exclude', '')}{workspace}{draft.extra.get('patch', '')}"
    draft.files["Cargo.toml"] = f'[workspace]\nmembers = ["crates/*"]\nresolver = "2"\n{tables}'
    draft.files["crates/bench/benches/it.rs"] = (
        f'fn main() {{\n{draft.extra.get("bench", "")}\nprintln!("measured");\n}}\n'
    )
    draft.files[".gitignore"] = "target/\nCargo.lock\n"
    chosen = [f"crates/{edges[1][2]}/src/lib.rs"] * 8 + [f"crates/{used}/src/lib.rs" for _, _, used in edges]
    broken = draft.extra.get("broken") or draw.choice(chosen)
    text = draft.files[broken] + CARGO_BROKEN + "// " + "long enough to be seen " * 9 + "\n"
    return Case(
        name=f"cargo {number}: {edges[1][0]}", files=draft.files, run=draw.choice(CARGO_RUNS), broken=broken, text=text
    )


MAKERS: Final[Mapping[str, Callable[[random.Random, int], Case]]] = {
    "go": go_case,
    "python": python_case,
    "npm": npm_case,
    "cargo": cargo_case,
}
