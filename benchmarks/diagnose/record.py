"""Profiles of both revisions of every pair: a working tree per revision, each profiler several times, sides in turns.

    python -m benchmarks.diagnose.record OUT --clones DIR [--only ID] [--half choose] [--profiler pyspy] [--loaded]

DIR holds a clone per repository (`git clone https://github.com/OWNER/NAME DIR/OWNER+NAME`). `base` is the fix, `head`
its parent, so that the head is slower. `base2` repeats the base: a pair in which nothing changed. Files are
OUT/PAIR/PROFILER/SIDE-N.EXT; with `--loaded` they are in `loaded/` below, recorded next to two busy loops.
OUT/PAIR/truth.json has the commit's changes, OUT/PAIR/load.json the load averages. OUT/trees has each pair's build.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from perf_culprit import git
from perf_culprit.explain.changed_code import touched_code
from perf_culprit.explain.tracer.trace_levels import Budget
from perf_culprit.explain.tracer.trace_profile import encode_trace
from perf_culprit.explain.tracer.traced_command import trace_command
from perf_culprit.model.call_tree import Touched

HERE = Path(__file__).parent
SIDES = {"base": "base", "head": "head", "base2": "base"}
RUNS = 5
RATE_HZ = "200"
REPEATED_S = 2.0
MOST_TIMES = 20
TRACE_BUDGET_S = 120.0
BUSY_LOOPS = 2
OLDER = "numpy==1.23.5 pandas==1.5.3 scipy==1.11.4 dask==2023.3.2 cftime networkx==3.1 toolz partd setuptools<70"
WHEELS = "numpy<2.1 pandas==2.2.3 scipy==1.15.2 astropy==7.0.0 toolz cloudpickle fsspec partd pyyaml click packaging"
PACKAGES = {"older": OLDER, "wheels": WHEELS}
SUFFIXES = {
    "pyspy": "speedscope.json", "collapsed": "txt", "cprofile": "prof", "pyinstrument": "json", "tracer": "json",
    "pprof": "pb.gz", "cpuprofile": "cpuprofile", "perf": "txt", "perf-dwarf": "txt",
}  # fmt: skip
Pair = Mapping[str, str]
Command = Sequence[str | Path]


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A pair whose sides can be run; `commands` has, by profiler, the command that records one side into a file."""

    environments: Mapping[str, Mapping[str, str]]
    commands: Mapping[str, Callable[[str, Path], Command]]
    traced: Callable[[str], Command] | None = None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--only", action="append")
    parser.add_argument("--half", choices=("choose", "report", "seen"), action="append")
    parser.add_argument("--profiler", choices=tuple(SUFFIXES), action="append")
    parser.add_argument("--loaded", action="store_true")
    arguments = parser.parse_args()
    for pair in chosen_pairs(arguments.only, arguments.half):
        out = arguments.out / pair["id"]
        out.mkdir(parents=True, exist_ok=True)
        clone = clone_of(pair, arguments.clones)
        (out / "truth.json").write_text(json.dumps(truth_file(pair, touched(pair, clone)), indent=1) + "\n")
        prepared = KINDS[pair.get("language", "python")](pair, clone, arguments.out / "trees")
        with busy_loops(BUSY_LOOPS if arguments.loaded else 0):
            record(out, prepared, arguments.profiler or tuple(SUFFIXES), "loaded" if arguments.loaded else "")
        print(pair["id"], "recorded", flush=True)


def chosen_pairs(only: Sequence[str] | None, halves: Sequence[str] | None) -> list[Pair]:
    pairs = json.loads((HERE / "pairs.json").read_text())
    wanted = halves or ("choose", "report")
    return [one for one in pairs if (one["id"] in only if only else one["half"] in wanted)]


def clone_of(pair: Pair, clones: Path) -> Path:
    clone = clones / pair["repository"].replace("/", "+")
    return clone / "repo" if (clone / "repo").is_dir() else clone


def touched(pair: Pair, clone: Path) -> Touched:
    fix, parent = (git.resolve_commit(clone, revision) for revision in (pair["fix"], pair["fix"] + "~1"))
    return touched_code(clone, base=fix, head=parent)


def truth_file(pair: Pair, code: Touched) -> dict[str, object]:
    functions = [
        {"path": one.path, "function": one.qualified_name, "first_line": one.first_line}
        for one in code.functions
        if one.changes_code
    ]
    return {name: pair[name] for name in ("id", "repository", "fix", "half")} | {"functions": functions}


@contextmanager
def busy_loops(number: int) -> Iterator[None]:
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(number)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def record(out: Path, prepared: Prepared, profilers: Sequence[str], folder: str) -> None:
    kept = out / f"load{'-' * bool(folder)}{folder}.json"
    loads = json.loads(kept.read_text()) if kept.exists() else {}
    for profiler, command in prepared.commands.items():
        if profiler in profilers:
            for run in range(1, RUNS + 1):
                for name, side in SIDES.items():
                    path = out / profiler / folder / f"{name}-{run}.{SUFFIXES[profiler]}"
                    path.parent.mkdir(parents=True, exist_ok=True)
                    execute(command(side, path), prepared.environments[side], {})
                    if profiler == "pyspy":
                        write_collapsed(path)
                    loads[f"{profiler}/{name}-{run}"] = round(os.getloadavg()[0], 1)
    if prepared.traced is not None and "tracer" in profilers:
        for name, side in SIDES.items():
            path = out / "tracer" / folder / f"{name}-1.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(trace(prepared.traced(side), prepared.environments[side]))
            loads[f"tracer/{name}-1"] = round(os.getloadavg()[0], 1)
    kept.write_text(json.dumps(loads, indent=1) + "\n")


def execute(command: Command, environment: Mapping[str, str], variables: Mapping[str, str]) -> None:
    done = subprocess.run(command, env={**environment, **variables}, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{command}: {done.stdout[-1000:]}{done.stderr[-1000:]}")


def trace(command: Command, environment: Mapping[str, str]) -> bytes:
    """Trace all repetitions into one file, sampled, as `measure --trace` does with a command of this length."""
    source = environment["PYTHONPATH"]
    one = trace_command(
        partial(execute, command, environment),
        root=Path(source),
        service="workload",
        repetitions=RUNS,
        python_path=source,
        budget=Budget(seconds=TRACE_BUDGET_S),
        is_sampled=True,
    )
    return encode_trace(one)


# Preparation of a side for each language, and the calls of its profilers.


def working_tree(pair: Pair, clone: Path, trees: Path, side: str) -> Path:
    tree = trees / pair["id"] / side
    if not tree.is_dir():
        tree.mkdir(parents=True)
        revision = pair["fix"] + "~1" * (side == "head")
        archive = subprocess.run(["git", "-C", clone, "archive", revision], check=True, capture_output=True)
        subprocess.run(["tar", "-x", "-C", tree], check=True, input=archive.stdout)
    return tree


def prepare_python(pair: Pair, clone: Path, trees: Path) -> Prepared:
    python = environment_of(pair["packages"], trees) if "packages" in pair else Path(sys.executable)
    make = overlay if "overlay" in pair else working_tree
    below = "." if "overlay" in pair else pair["source"]
    sources = {side: make(pair, clone, trees, side) / below for side in ("base", "head")}
    fixed = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    environments = {side: os.environ | fixed | {"PYTHONPATH": str(source)} for side, source in sources.items()}
    script: list[str | Path] = [workload(pair, "py")]
    if "packages" not in pair:
        script = [HERE / "repeat.py", str(times([python, *script], environments["head"])), *script]
    spy: list[str | Path] = [python.parent / "py-spy", "record", "-r", RATE_HZ, "-f", "speedscope"]
    return Prepared(
        environments=environments,
        commands={
            "pyspy": lambda _, path: [*spy, "-o", path, "--", python, *script],
            "cprofile": lambda _, path: [python, "-m", "cProfile", "-o", path, *script],
            "pyinstrument": lambda _, path: [python, "-m", "pyinstrument", "-r", "json", "-o", path, *script],
        },
        traced=lambda _: [str(python), *map(str, script)],
    )


def workload(pair: Pair, suffix: str) -> Path:
    return HERE / "workloads" / f"{pair['id'].replace('-', '_')}.{suffix}"


def times(command: Command, environment: Mapping[str, str]) -> int:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    execute(command, environment, {})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return max(1, min(MOST_TIMES, round(REPEATED_S / took_s)))


def environment_of(name: str, trees: Path) -> Path:
    folder = (trees / f"python-{name}").absolute()
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        packages = [*PACKAGES[name].split(), "py-spy==0.4.3", "pyinstrument==5.1.3"]
        subprocess.run([python, "-m", "pip", "--quiet", "install", *packages], check=True)
    return python


def overlay(pair: Pair, clone: Path, trees: Path, side: str) -> Path:
    """Install a release with the commit's changed files as they are on this side, without compiling."""
    tree, release = trees / pair["id"] / side, pair["overlay"]
    if not tree.is_dir():
        python = environment_of(pair["packages"], trees)
        install: list[str | Path] = [python, "-m", "pip", "--quiet", "install", "--no-deps", "--target", tree, release]
        subprocess.run(install, check=True)
        revisions = (pair["fix"] + "~1", pair["fix"])
        changed: list[str | Path] = ["git", "-C", clone, "diff", "--name-only", *revisions, "--", "*.py"]
        for name in subprocess.run(changed, check=True, capture_output=True, text=True).stdout.split():
            if name.startswith(release.partition("==")[0] + "/"):
                revision = revisions[side == "base"]
                text = subprocess.run(
                    ["git", "-C", clone, "show", f"{revision}:{name}"], check=True, capture_output=True
                )
                (tree / name).parent.mkdir(parents=True, exist_ok=True)
                (tree / name).write_bytes(text.stdout)
    return tree


def prepare_go(pair: Pair, clone: Path, trees: Path) -> Prepared:
    for side in ("base", "head"):
        tree = working_tree(pair, clone, trees, side)
        shutil.copy(workload(pair, "go"), tree / pair["package"] / "workload_test.go")
        subprocess.run(["go", "test", "-c", "-o", tree / "workload.test", "./" + pair["package"]], check=True, cwd=tree)
    options = ["-test.run=^$", "-test.bench=Workload", f"-test.benchtime={pair['times']}"]
    program = trees / pair["id"] / "{}" / "workload.test"
    return Prepared(
        environments=dict.fromkeys(("base", "head"), os.environ),
        commands={
            "pprof": lambda side, path: [str(program).format(side), *options, f"-test.cpuprofile={path.absolute()}"]
        },
    )


def prepare_node(pair: Pair, clone: Path, trees: Path) -> Prepared:
    for side in ("base", "head"):
        tree = working_tree(pair, clone, trees, side)
        if not (tree / "node_modules").is_dir():
            install = ["npm", "install", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"]
            subprocess.run(install, check=True, cwd=tree, capture_output=True)
    script, folder = workload(pair, "js"), (trees / pair["id"]).absolute()
    return Prepared(
        environments=dict.fromkeys(("base", "head"), os.environ),
        commands={
            "cpuprofile": lambda side, path: [
                "node", "--cpu-prof", f"--cpu-prof-dir={path.parent}", f"--cpu-prof-name={path.name}",
                script, folder / side,
            ]
        },
    )  # fmt: skip


def prepare_rust(pair: Pair, clone: Path, trees: Path) -> Prepared:
    folder = trees / pair["id"]
    for side in ("base", "head"):
        tree = working_tree(pair, clone, trees, side)
        crate = folder / f"{side}-workload"
        (crate / "src").mkdir(parents=True, exist_ok=True)
        shutil.copy(workload(pair, "rs"), crate / "src" / "main.rs")
        source = f"../{tree.name}/{pair['package']}" if (tree / pair["package"]).is_dir() else f"../{tree.name}"
        (crate / "Cargo.toml").write_text(
            '[package]\nname = "workload"\nversion = "0.1.0"\nedition = "2021"\n\n[workspace]\n\n[profile.release]\n'
            f'debug = "line-tables-only"\n\n[dependencies]\n'
            f'{pair["package"]} = {{ path = "{source}"{pair.get("options", "")} }}\n'
        )
        flags = os.environ | {"RUSTFLAGS": "-C force-frame-pointers=yes"}
        subprocess.run(["cargo", "build", "--release", "--quiet"], check=True, cwd=crate, env=flags)
    return Prepared(
        environments=dict.fromkeys(("base", "head"), os.environ),
        commands={
            "perf": partial(perf, folder, pair["times"], "fp"),
            "perf-dwarf": partial(perf, folder, pair["times"], "dwarf"),
        },
    )


def perf(folder: Path, number: str, call_graph: str, side: str, path: Path) -> Command:
    program = folder / f"{side}-workload" / "target" / "release" / "workload"
    data = path.with_suffix(".data")
    record = f"perf record -F {RATE_HZ} --call-graph {call_graph} -o {data} -- {program} {number}"
    return ["sh", "-ec", f"{record}; perf script --no-inline -i {data} > {path}; rm {data}"]


KINDS: Mapping[str, Callable[[Pair, Path, Path], Prepared]] = {
    "python": prepare_python, "go": prepare_go, "node": prepare_node, "rust": prepare_rust,
}  # fmt: skip


def write_collapsed(speedscope: Path) -> Path:
    """Write the same samples as stacks with their counts, as in py-spy's format `raw`."""
    document = json.loads(speedscope.read_text())
    frames = [f"{one['name']} ({one['file']}:{one['line']})" for one in document["shared"]["frames"]]
    stacks = Counter(tuple(stack) for one in document["profiles"] for stack in one["samples"])
    path = Path(str(speedscope).replace("/pyspy/", "/collapsed/").replace(".speedscope.json", ".txt"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{';'.join(frames[at] for at in stack)} {count}\n" for stack, count in stacks.items()))
    return path


if __name__ == "__main__":
    main()
