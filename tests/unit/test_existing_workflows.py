"""Proposals of `init` if a workflow of the repository already measures. The workflows are written for the tests."""

import re
import shlex
from pathlib import Path
from textwrap import indent

import pytest
import yaml

from perf_culprit.cli.entry import main
from perf_culprit.init.benchmark_tools import suggestions
from perf_culprit.init.command_lines import bencher_command, measuring_tool
from perf_culprit.init.existing_workflows import suites
from perf_culprit.init.introduction import proposed_suite_names
from perf_culprit.init.native_output import compiling
from perf_culprit.init.repository import Suggestion, look
from perf_culprit.init.workflow_check import check_files
from tests.support.git_repository import init_repository, run_git
from tests.support.tools import audited

OUTPUT = '"$PERF_CULPRIT_OUTPUT"'
GATHERED = f"mkdir -p {OUTPUT} && find . -path '%s' -exec cp --parents {{}} {OUTPUT} ';' -delete"


def lay_out(root: Path, steps: str, *, job: str = "", top: str = "", **files: str) -> Path:
    """A repository with one benchmark workflow. In the names of other files, `__` means `/` and `_D_` means a dot."""
    text = f"on: [push]\n{top}\njobs:\n  bench:\n    runs-on: ubuntu-latest\n{indent(job, '    ')}\n    steps:\n"
    named = {name.replace("__", "/").replace("_D_", "."): body for name, body in files.items()}
    for name, body in {".github/workflows/bench.yml": text + indent(steps, " " * 6), **named}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(body)
    return root


def proposed(root: Path, steps: str, **others: str) -> Suggestion:
    return suggestions(look(lay_out(root, steps, **others)))[0]


STORED = """
- run: {run}
- uses: benchmark-action/github-action-benchmark@v1
  with: {{tool: {tool}, output-file-path: {file}}}
"""


@pytest.mark.parametrize(
    ("run", "tool", "file", "expected"),
    [
        ("go test -bench . ./... | tee out.txt", "go", "out.txt", "go test -bench . ./..."),
        ("make bench > res/out.txt", "cargo", "res/out.txt", "make bench"),
        ("pytest b --benchmark-json=o.json", "pytest", "o.json", f"pytest b --benchmark-json={OUTPUT}"),
        ("./bench.sh", "googlecpp", "res/o.json", f"./bench.sh && cp -r res/o.json {OUTPUT}"),
    ],
)
def test_the_stored_file_is_the_result(tmp_path: Path, run: str, tool: str, file: str, expected: str) -> None:
    result = proposed(tmp_path, STORED.format(run=run, tool=tool, file=file))
    assert (result.tool, result.run) == ("github-action-benchmark", expected)
    assert result.place == ".github/workflows/bench.yml, job bench"


def test_several_stored_suites_are_read_together(tmp_path: Path) -> None:
    steps = STORED.format(run="make bench > a.txt", tool="go", file="a.txt")
    steps += STORED.format(run="./heap", tool="customSmallerIsBetter", file="b.json")
    result = proposed(tmp_path, steps)
    assert result.run.split(" && ") == [
        f"mkdir -p {OUTPUT}",
        'make bench > "$PERF_CULPRIT_OUTPUT/1-a.txt"',
        "./heap",
        'cp -r b.json "$PERF_CULPRIT_OUTPUT/2-b.json"',
    ]
    assert result.format == ""
    assert any("which way is good does not stand in b.json" in note for note in result.notes)


def test_the_format_is_named_where_only_the_name_says_which_way_is_good(tmp_path: Path) -> None:
    root = lay_out(
        init_repository(tmp_path / "x"), STORED.format(run="./size", tool="customBiggerIsBetter", file="s.json")
    )
    assert main(["init", "--repo", str(root), "--yes", "--split"]) == 0
    job = yaml.safe_load((root / ".github/workflows/perf.yml").read_text())["jobs"]["measure"]
    expected = {"setup": "", "run": f"./size && cp -r s.json {OUTPUT}", "tool": "customBiggerIsBetter"}
    assert {key: value or "" for key, value in job["with"].items()} == expected


def test_a_job_that_only_stores_stands_for_the_one_that_measures(tmp_path: Path) -> None:
    steps = "- run: ./run_bench.sh\n- uses: actions/upload-artifact@v4\n  with: {path: results}\n"
    root = lay_out(tmp_path, steps)
    path = root / ".github/workflows/bench.yml"
    path.write_text(
        path.read_text()
        + "  store:\n    needs: bench\n    runs-on: ubuntu-latest\n    steps:\n"
        + "      - uses: actions/download-artifact@v4\n"
        + "      - uses: benchmark-action/github-action-benchmark@v1\n"
        + "        with: {tool: go, output-file-path: results/x.txt}\n"
    )
    assert suggestions(look(root))[0].run == f"./run_bench.sh && cp -r results {OUTPUT}"


CODSPEED = "- uses: CodSpeedHQ/action@v4\n  with: {mode: simulation, run: '%s'}\n"


def test_codspeed_s_local_results_are_read(tmp_path: Path) -> None:
    result = proposed(tmp_path, CODSPEED % "pytest tests --codspeed")
    assert result.run == f"pytest tests --codspeed && {GATHERED % '*/.codspeed/*.json'}"


@pytest.mark.parametrize("criterion", [True, False])
def test_what_is_built_for_codspeed_is_what_cargo_runs(tmp_path: Path, criterion: bool) -> None:
    steps = "- run: |\n    set -e\n    cargo codspeed build -m simulation --features x parse -p ${{ matrix.package }}\n"
    manifest = '[dev-dependencies]\ncriterion = "1"' if criterion else '[dev-dependencies]\ndivan = "1"'
    result = proposed(
        tmp_path,
        steps + CODSPEED % "cargo codspeed run > /dev/null",
        job="strategy:\n  matrix: {package: [a, b], mode: [x, y]}",
        Cargo_D_toml=manifest,
    )
    benches = [f"cargo bench --features x --bench parse -p {name}" for name in "ab"]
    after = [f"cp -r target/criterion {OUTPUT}"] if criterion else []
    assert result.run.splitlines() == [*benches, *after]
    # The build compiles it, because the time limit of an execution does not cover compilation.
    assert result.build.splitlines() == [f"{bench} --no-run" for bench in benches]
    assert "of the matrix's `mode` one value is taken, not: y" in result.notes
    assert not any("`package`" in note for note in result.notes)


def test_bencher_s_command_and_adapter() -> None:
    text = (
        "echo x\nbencher run --project p --token=t --adapter rust_bench \\\n"
        "  --err --testbed 'a b' \"cargo bench --bench x\""
    )
    assert bencher_command(text) == ("cargo bench --bench x", "rust_bench")
    assert bencher_command("bencher run --quiet -- ./bench -n 3") == ("./bench -n 3", "")
    assert bencher_command("bencher run 'unbalanced") == ("", "")


def test_asv_measures_this_commit_in_its_own_environment(tmp_path: Path) -> None:
    steps = (
        "- run: pip install asv\n- run: |\n    cd b\n    asv machine --yes\n    asv run --quick HEAD^! --bench '^t'\n"
    )
    result = proposed(tmp_path, steps, b__asv_D_conf_D_json='{\n"results_dir": "../out"\n}')
    assert result.setup == "pip install asv"
    assert result.run.splitlines() == [
        "(rm -rf out",
        "cd b",
        "asv machine --yes && asv run --bench '^t' \"$PERF_CULPRIT_COMMIT^!\")",
        f"cp -r out {OUTPUT}",
    ]


@pytest.mark.parametrize(
    ("run", "tool"),
    [
        ("cargo bench --no-run", ""),
        ("cargo test --benches", ""),
        ("pip install pytest-benchmark", ""),
        ("micromamba install pytest pytest-benchmark", ""),
        ("echo make bench", ""),
        ("git push origin bench", ""),
        ("hyperfine ./x", "hyperfine"),
        ("go test -run ^$ -bench=. ./...", "go test"),
        ("pytest tests --benchmark-only", "pytest"),
        ("java -jar t/benchmarks.jar", "JMH"),
        ("npm run bench", "task"),
        ("python scripts/bench.py", "script"),
    ],
)
def test_which_lines_measure(run: str, tool: str) -> None:
    assert measuring_tool(run) == tool


def test_what_belongs_to_the_machine_and_what_to_each_checkout(tmp_path: Path) -> None:
    steps = """
- uses: actions/checkout@v4
  with: {submodules: true}
- uses: actions/setup-python@v5
  with: {python-version: 3.10, cache: pip}
- uses: actions/cache@v4
  with: {path: x, key: y}
- run: sudo apt-get install --yes libfoo-dev
- run: pip install -e .[bench]
- name: smoke tests
  run: make test
- name: build
  working-directory: native
  env: {LEVEL: "3", TOKEN: "${{ secrets.T }}"}
  run: |
    git push origin x
    sudo rm -rf /opt/hostedtoolcache
    make all
- if: runner.os == 'Windows'
  run: choco install make
- run: pytest bench --benchmark-json out.json
  env: {KEY: "${{ secrets.K }}"}
"""
    result = proposed(tmp_path, steps)
    assert result.setup == "sudo apt-get install --yes libfoo-dev"
    assert result.build.splitlines() == [
        "python3 -m venv .venv && . .venv/bin/activate",
        "git submodule update --init --recursive",
        "pip install -e .[bench]",
        "(cd native",
        "export LEVEL=3",
        "make all)",
    ]
    assert "make test" not in result.build
    assert "rm -rf" not in result.build + result.setup
    assert result.run == f". .venv/bin/activate && pytest bench --benchmark-json {OUTPUT}"
    assert result.steps == ({"uses": "actions/setup-python@v5", "with": {"python-version": "3.10"}},)
    assert "its step is given the secret KEY, ours is not" in result.notes


def test_no_expression_and_no_secret_reaches_the_written_file(tmp_path: Path) -> None:
    job = "services:\n  db: {image: x, env: {P: '${{ secrets.DB }}'}}"
    steps = "- uses: ./.github/actions/setup-it\n  with: {token: '${{ secrets.T }}', level: '${{ inputs.level }}'}\n"
    steps += "- run: |\n    echo ${{ github.event.pull_request.title }}\n    ./bench ${{ github.sha }}\n"
    root = lay_out(init_repository(tmp_path / "x"), steps, job=job)
    assert main(["init", "--repo", str(root), "--yes"]) == 0
    text, own, _ = (root / ".github/workflows/perf.yml").read_text().partition("\n  report:\n")
    assert own
    expressions = ("pull_request.number || github.run_id", "pull_request.head.sha || github.sha")
    assert re.findall(r"\$\{\{ github\.event\.(.*?) \}\}", text) == [*expressions]
    assert text.count("${{") == len(expressions)
    assert "./bench $PERF_CULPRIT_COMMIT" in text
    assert {"uses": "./.github/actions/setup-it"} in yaml.safe_load(text)["jobs"]["measure"]["steps"]


def test_services_and_tools_come_into_the_job(tmp_path: Path) -> None:
    job = "services:\n  db: {image: 'postgres:16', ports: ['5432:5432']}"
    steps = "- uses: actions/setup-go@v5\n  with: {go-version: '1.22'}\n- run: |\n    ./server &\n    sleep 1\n"
    root = lay_out(init_repository(tmp_path / "x"), steps + "- run: go test -bench . ./db\n", job=job)
    assert main(["init", "--repo", str(root), "--yes"]) == 0
    written = yaml.safe_load((root / ".github/workflows/perf.yml").read_text())["jobs"]["measure"]
    assert written["services"] == {"db": {"image": "postgres:16", "ports": ["5432:5432"]}}
    assert written["steps"][1] == {"uses": "actions/setup-go@v5", "with": {"go-version": "1.22"}}
    assert written["steps"][2]["run"].startswith("pipx install perf-culprit==")
    assert "./server &\nsleep 1\ngo test -bench . ./db" in written["steps"][3]["run"]


def test_wanted_a_writing_token_by_a_step_of_the_existing_job_got_a_read_only_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = f"evil/x@{'e' * 40}"
    steps = f"- uses: {evil}\n- uses: evil/y@main\n- run: go test -bench .\n"
    root = lay_out(init_repository(tmp_path / "x"), steps, job="permissions: {}\n")
    assert main(["init", "--repo", str(root), "--yes"]) == 0
    told = capsys.readouterr().out
    assert f"These steps are not ours: {evil}, evil/y@main." in told
    assert "name the commit, in full, of evil/y@main." in told
    (root / ".github/workflows/bench.yml").unlink()
    jobs = [
        job
        for path in (root / ".github/workflows").glob("*.yml")
        for job in yaml.safe_load(path.read_text())["jobs"].values()
    ]
    with_it = [job for job in jobs if any("evil" in str(step.get("uses")) for step in job.get("steps", ()))]
    assert [job["permissions"] for job in with_it] == [{"contents": "read"}]
    assert with_it[0]["cache-mode"] == "none"
    remarks = [remark.text for remark in check_files(root) if "in place of the zeros" not in remark.text]
    assert remarks == ["evil/y is not pinned: name a commit, in full"]
    perf = root / ".github/workflows/perf.yml"
    perf.write_text(perf.read_text().replace("      - uses: evil/y@main\n", ""))
    checked = audited(root)
    assert checked.returncode == 0, checked.stdout


def test_wanted_a_secret_in_our_job_by_an_expression_around_another_got_text(tmp_path: Path) -> None:
    run = "go test -bench . $${{ inputs.x }}{{ secrets.K }}"
    root = lay_out(init_repository(tmp_path / "x"), f"- run: {run}\n")
    path = root / ".github/workflows/bench.yml"
    path.write_text(path.read_text().replace("on: [push]", "on: {workflow_dispatch: {inputs: {x: {}}}}"))
    assert main(["init", "--repo", str(root), "--yes"]) == 0
    step = yaml.safe_load((root / ".github/workflows/perf.yml").read_text())["jobs"]["measure"]["steps"][2]["run"]
    assert "go test -bench . ${{ '${{' }} secrets.K }}" in step
    assert step.count("${{ ") == 1


def test_a_called_workflow_of_the_repository_has_its_caller_s_inputs(tmp_path: Path) -> None:
    called = """
on: {workflow_call: {inputs: {suite: {default: all}, folder: {default: core}}}}
jobs:
  m:
    runs-on: ubuntu-latest
    steps:
      - run: cargo bench --bench ${{ inputs.suite }}
        working-directory: ${{ inputs.folder }}
"""
    root = lay_out(tmp_path, "- run: 'true'\n", _D_github__workflows__called_D_yml=called)
    (root / ".github/workflows/bench.yml").write_text(
        "on: [push]\njobs:\n  call: {uses: ./.github/workflows/called.yml, with: {suite: parse}}\n"
    )
    result = suggestions(look(root))[0]
    assert result.run == "(cd core\ncargo bench --bench parse)"
    assert "called by .github/workflows/bench.yml" in result.place


@pytest.mark.parametrize(
    "text", ["", "a: b", "jobs: [1]", "jobs: {a: {steps: [1, {run: [x]}]}}", "jobs: {a: {steps: 3}}", "{", "a: &a [*a]"]
)
def test_any_other_yaml_is_passed_over(tmp_path: Path, text: str) -> None:
    root = lay_out(tmp_path, "")
    (root / ".github/workflows/bench.yml").write_text(text)
    assert suggestions(look(root)) == ()


def test_the_repository_s_own_folder_in_the_job_is_the_top(tmp_path: Path) -> None:
    steps = (
        "- uses: actions/checkout@v4\n  with: {path: new}\n- run: |\n    cd new\n    go test -bench . ./... > b.txt\n"
    )
    assert proposed(tmp_path, steps).run == "go test -bench . ./..."


def test_a_stored_file_is_made_of_what_another_step_measured(tmp_path: Path) -> None:
    steps = "- run: make bench | tee raw.txt\n" + STORED.format(
        run="sed s/a/b/ raw.txt > o.txt", tool="go", file="o.txt"
    )
    result = proposed(tmp_path, steps)
    assert (result.build, result.run) == ("", f"make bench | tee raw.txt\nsed s/a/b/ raw.txt > {OUTPUT}")


def test_what_asv_s_own_step_sets_and_prepares_is_kept(tmp_path: Path) -> None:
    steps = (
        "- run: |\n    pip install asv\n    git clone -b main https://x.test/benchmarks\n"
        '    OPTIONS="--split --conf ci.json"\n    asv continuous $OPTIONS a b\n'
    )
    result = proposed(tmp_path, steps)
    assert (result.setup, result.build) == ("pip install asv", "git clone -b main https://x.test/benchmarks")
    assert 'asv run --config ci.json "$PERF_CULPRIT_COMMIT^!"' in result.run


def test_shards_are_one_suite_in_the_folder_that_codspeed_s_action_names(tmp_path: Path) -> None:
    steps = (
        "- uses: hynek/setup-cached-uv@v2\n- uses: CodSpeedHQ/action@v4\n"
        "  with: {run: 'pnpm bench --shard=${{ matrix.shard }}/2', working-directory: ./b}\n"
    )
    scripts = '{"scripts": {"bench": "pnpm bench:all", "bench:all": "vitest bench --run"}}'
    files = {"b__package_D_json": scripts, "job": "strategy: {matrix: {shard: [1, 2]}}"}
    result = proposed(tmp_path, steps, **files)
    assert result.run == f"(cd b\npnpm bench --outputJson={OUTPUT})"
    assert result.steps == ({"uses": "hynek/setup-cached-uv@v2"},)


def test_a_checkout_s_own_path_large_files_and_redirected_output(tmp_path: Path) -> None:
    steps = (
        "- uses: actions/checkout@v4\n  with: {lfs: true, repository: o/data, path: d}\n"
        "- run: which hyperfine\n- run: go test -bench=. ./... > base.bench\n"
        "  working-directory: ${{ runner.workspace }}/x/y\n"
    )
    result = proposed(tmp_path, steps)
    assert result.build == "git lfs pull && git clone --depth 1 https://github.com/o/data d"
    assert result.run == "(cd y\ngo test -bench=. ./...)"


def test_steps_measure_together_up_to_another_commit(tmp_path: Path) -> None:
    bench = "- run: cargo bench --bench {}\n"
    steps = "".join((bench.format("a"), bench.format("b"), "- run: git checkout main\n", bench.format("c")))
    manifest = '[dev-dependencies]\ncriterion = "1"\n'
    result = proposed(tmp_path, steps, Cargo_D_toml=manifest)
    assert result.run == f"cargo bench --bench a && cargo bench --bench b && cp -r target/criterion {OUTPUT}"


def test_what_steps_say_for_others_and_other_shells(tmp_path: Path) -> None:
    steps = (
        '- id: s\n  run: echo "dir=${{ github.workspace }}/b" >> "$GITHUB_OUTPUT"\n'
        "- run: using Pkg\n  shell: julia --color=yes {0}\n- run: uv venv && uv pip install .\n"
        "- run: cd x && make bench\n  working-directory: ${{ steps.s.outputs.dir }}\n"
    )
    result = proposed(tmp_path, steps)
    assert result.build == "julia -e 'using Pkg' && uv venv && uv pip install ."
    assert result.run.startswith("(cd b\nmkdir -p ")
    assert result.others == ("(cd b\ncd x && make bench)",)


POM = "<artifactId>jmh-core</artifactId>"
SHADED = f"{POM}<n>b</n>maven-shade-plugin<finalName>${{n}}</finalName>"
MAVEN = "mvn --quiet -DskipTests"
COPIED = f" && cp -r target/criterion {OUTPUT}"


@pytest.mark.parametrize(
    ("files", "build", "run"),
    [
        ({"m__pom_D_xml": SHADED}, f"{MAVEN} -f m/pom.xml package", "java -jar m/target/b.jar -rf json -rff "),
        ({"m__pom_D_xml": SHADED, "pom_D_xml": "<module>m</module>"}, f"{MAVEN} -pl m -am package", "java -jar m/"),
        ({"m__pom_D_xml": SHADED, "pom_D_xml": ""}, f"{MAVEN} install && {MAVEN} -f m/pom.xml package", "java -jar m/"),
        ({"pom_D_xml": POM}, f"{MAVEN} test-compile dependency:", 'java -cp "target/test-classes:target/classes:$(cat'),
        ({"a__b__build_D_gradle": "id 'me.champeau.jmh'"}, "", "gradle :a:b:jmh && mkdir -p "),
        (
            {"Cargo_D_toml": '[package]\nname = "a"\n[dev-dependencies]\ncriterion = "1"\n'},
            "cargo bench --no-run",
            f"cargo bench{COPIED}",
        ),
        (
            {"Cargo_D_toml": '[package]\nname = "a"\n[target.\'cfg(not(miri))\'.dev-dependencies]\ncriterion = "1"\n'},
            "cargo bench --no-run",
            f"cargo bench{COPIED}",
        ),
        (
            {
                "Cargo_D_toml": '[workspace]\nmembers = ["c/*"]\nexclude = ["c/y"]\n',
                "c__x__Cargo_D_toml": '[package]\nname = "x"\n[dev-dependencies]\ncriterion = "1"\n'
                '[[bench]]\nrequired-features = ["f"]\n',
                "c__y__Cargo_D_toml": '[package]\nname = "y"\n[dependencies]\ncriterion = "1"\n',
            },
            (
                'export CARGO_TARGET_DIR="$PWD/target"\ncargo bench -p x --features f --no-run\n'
                "cargo bench --manifest-path c/y/Cargo.toml --no-run"
            ),
            (
                'export CARGO_TARGET_DIR="$PWD/target"\ncargo bench -p x --features f'
                f" && cargo bench --manifest-path c/y/Cargo.toml{COPIED}"
            ),
        ),
        (
            {"a_D_rs": "#![cfg(bench)]\n#[bench]\n"},
            "RUSTFLAGS=--cfg=bench cargo +nightly bench --no-run",
            "RUSTFLAGS=--cfg=bench cargo +nightly bench",
        ),
        (
            {"CMakeLists_D_txt": "option(X_BENCH b OFF)\ntarget_link_libraries(t PRIVATE benchmark::benchmark)"},
            "cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DX_BENCH=ON && cmake --build build --parallel --target t",
            '"$(find build -name t -type f -perm -u+x | head -n 1)" --benchmark_repetitions=5 --benchmark_out="$PERF',
        ),
        (
            {
                "CMakeLists_D_txt": "project(a)",
                "b__CMakeLists_D_txt": "project(b)\ntarget_link_libraries(t benchmark_main)\n"
                "target_link_libraries(u benchmark)",
            },
            "cmake -S b -B build -DCMAKE_BUILD_TYPE=Release && cmake --build build --parallel --target t u",
            f'mkdir -p {OUTPUT} && "$(find build -name t ',
        ),
        ({"b__asv_D_conf_D_json": "{}"}, "", "(cd b\nrm -rf results\nasv machine --yes --config asv.conf.json"),
    ],
)
def test_what_build_files_name(tmp_path: Path, files: dict[str, str], build: str, run: str) -> None:
    (only,) = suggestions(look(lay_out(tmp_path, "- run: 'true'\n", **files)))
    assert only.build.startswith(build)
    assert bool(only.build) == bool(build)
    assert only.run.startswith(run)


@pytest.mark.parametrize(
    ("files", "tool", "run"),
    [
        ({"Makefile": "all:\nbench: all\n\tcargo bench\n"}, "make bench", "make bench"),
        ({"tox_D_ini": "[testenv:bench]\ncommands = pytest --benchmark-json=x {posargs}"}, "tox -e bench", None),
        ({"package_D_json": '{"scripts": {"bench": "vitest bench"}}'}, "npm run bench", None),
        ({"go_D_mod": "", "x__go_D_mod": "", "x__a_test_D_go": "func BenchmarkA("}, "go test", None),
    ],
)
def test_tasks_and_modules_without_a_workflow(
    tmp_path: Path, files: dict[str, str], tool: str, run: str | None
) -> None:
    root = lay_out(tmp_path, "- run: 'true'\n", **files)
    first = suggestions(look(root))[0]
    assert first.tool == tool
    expected = {
        "tox -e bench": f"tox -e bench -- --benchmark-json={OUTPUT}",
        "npm run bench": f"npm run bench -- --outputJson={OUTPUT}",
        "go test": "(cd x && go test -run=^$ -bench . -benchmem ./...)",
    }
    assert first.run == (run or expected[tool])


NODE = """
- uses: actions/setup-node@v4
  with: {node-version: 22, cache: pnpm}
- uses: someone/lints@v1
- run: npm i -fg corepack && corepack enable
- run: pnpm install
- run: pnpm test
"""


@pytest.mark.parametrize(
    ("steps", "files", "setup", "uses"),
    [
        (NODE, {"pnpm-lock_D_yaml": ""}, "npm i -fg corepack && corepack enable", ["actions/setup-node@v4"]),
        ("- run: 'true'\n", {"pnpm-lock_D_yaml": ""}, "npm install --silent --global pnpm", []),
        ("- run: 'true'\n", {"yarn_D_lock": ""}, "corepack enable", []),
        (NODE, {}, "", ["actions/setup-node@v4"]),
    ],
)
def test_a_task_s_program_is_set_up_as_for_the_tests_or_installed(
    tmp_path: Path, steps: str, files: dict[str, str], setup: str, uses: list[str]
) -> None:
    scripts = '{"packageManager": "yarn@4.1.0", "scripts": {"bench": "vitest bench"}}'
    first = proposed(tmp_path, steps, package_D_json=scripts, **files)
    assert (first.setup, [step["uses"] for step in first.steps]) == (setup, uses)


def test_tox_is_installed_as_the_workflow_does(tmp_path: Path) -> None:
    steps = "- uses: actions/setup-python@v5\n- run: python -m pip install tox\n- run: python -m tox -e py\n"
    first = proposed(tmp_path, steps, tox_D_ini="[testenv:bench]\ncommands = python b.py")
    assert first.setup == "python -m pip install tox"
    assert first.steps == ({"uses": "actions/setup-python@v5"},)


def test_try_reads_one_execution_and_writes_nothing_without_a_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = lay_out(init_repository(tmp_path / "x"), "- run: ./bench.sh\n", bench_D_sh="#!/bin/sh\nprintf '3\\n4\\n'\n")
    (root / "bench.sh").chmod(0o755)
    run_git(root, "add", "--all")
    run_git(root, "commit", "--quiet", "--message", "x")
    broken = ["init", "--repo", str(root), "--yes", "--try", "--run", "false"]
    assert main(broken) == 3
    output = capsys.readouterr().out
    assert "gave no benchmarks: false" in output
    (log,) = re.findall(r"\S+/log\.txt", output)
    assert Path(log).is_file()
    assert not (root / ".github/workflows/perf.yml").exists()
    capsys.readouterr()
    assert main(["init", "--repo", str(root), "--yes", "--try", "--pull-request"]) == 0
    output = capsys.readouterr().out
    assert re.search(r"tried: 1 benchmark in 0 s, built in 0 s, such as result\n", output)
    assert "\nMeasure performance in every pull request\n" in output
    assert "- found in .github/workflows/bench.yml, job bench\n" in output
    assert all("zeros" in remark.text for remark in check_files(root))


def test_from_takes_over_one_tool_and_brings_its_history(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steps = "- uses: CodSpeedHQ/action@v4\n  with: {run: pytest --codspeed}\n"
    stored = STORED.format(run="make bench > o.txt", tool="go", file="o.txt").replace(
        "o.txt}", "o.txt, benchmark-data-dir-path: d}"
    )
    root = lay_out(init_repository(tmp_path / "x"), steps)
    path = root / ".github/workflows/other.yml"
    path.write_text(f"on: [push]\njobs:\n  o:\n    runs-on: x\n    steps:\n{indent(stored, '      ')}")
    assert main(["init", "--repo", str(root), "--yes", "--from", "bencher"]) == 2
    assert "found 0 ways to measure here by bencher" in capsys.readouterr().err
    assert main(["init", "--repo", str(root), "--yes", "--from", "gab"]) == 0
    output = capsys.readouterr().out
    assert "git show FETCH_HEAD:d/data.js > data.js && perf-culprit import data.js" in output
    assert "make bench" in (root / ".github/workflows/perf.yml").read_text()
    for pick, command in (("1", "pytest --codspeed"), ("2", "make bench")):
        assert main(["init", "--repo", str(root), "--yes", "--force", "--pick", pick]) == 0
        assert command in (root / ".github/workflows/perf.yml").read_text()


@pytest.mark.parametrize(
    ("text", "compiled"),
    [
        ("cargo bench --bench x -- --output-format bencher | tee o.txt", "cargo bench --bench x --no-run"),
        ('export CARGO_TARGET_DIR="$PWD/target"\ncd a\ncargo bench\ncp x y', None),
        ("cargo +nightly bench iai --all", "cargo +nightly bench iai --all --no-run"),
        ("cd a && cargo bench --all-features", "cd a\ncargo bench --all-features --no-run"),
        ("make bench", ""),
        ("for name in a b; do\n  cargo bench -p $name\ndone", ""),
    ],
)
def test_what_cargo_measures_is_compiled_by_the_build(text: str, compiled: str | None) -> None:
    expected = 'export CARGO_TARGET_DIR="$PWD/target"\ncd a\ncargo bench --no-run' if compiled is None else compiled
    assert compiling(text) == expected


def timed(name: str, command: str) -> str:
    shell = f"bash -c '{{ time sh -e -c \"$1\" >&3 2>&3; }} 3>&2 2> {OUTPUT}/{name}'"
    return f"mkdir -p {OUTPUT}\n{shell} -- {shlex.quote(command)}"


def test_what_no_reader_knows_is_timed_as_a_whole_and_says_so(tmp_path: Path) -> None:
    result = proposed(tmp_path, "- run: python bench.py --fast\n", bench_D_py="print('fast: much')")
    assert result.run == timed("python-bench-py-fast", "python bench.py --fast")
    assert result.others == ("python bench.py --fast",)
    assert any("the time of the whole command is measured" in note for note in result.notes)
    written = proposed(tmp_path / "x", "- run: python bench.py\n", bench_D_py="import pyperf\n")
    assert written.run == "python bench.py"
    assert written.others == (timed("python-bench-py", "python bench.py"),)


def test_try_falls_back_on_the_time_of_the_whole_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = "#!/bin/sh\n# hyperfine is what it should use\necho fast\n"
    root = lay_out(init_repository(tmp_path / "x"), "- run: ./bench.sh\n", bench_D_sh=script)
    (root / "bench.sh").chmod(0o755)
    run_git(root, "add", "--all")
    run_git(root, "commit", "--quiet", "--message", "x")
    assert main(["init", "--repo", str(root), "--yes", "--try"]) == 0
    output = capsys.readouterr().out
    assert "gave no benchmarks: ./bench.sh\n" in output
    assert re.search(r"tried: 1 benchmark in 0 s, built in 0 s, such as bench-sh\n", output)
    assert "time sh -e -c" in (root / ".github/workflows/perf.yml").read_text()


ACTION = """
inputs: {what: {default: none}, more: {}}
runs:
  using: composite
  steps:
    - run: make prepare
      shell: bash
    - run: go test -bench ${{ inputs.what }} ${{ inputs.more || './...' }}
      shell: bash
"""


def test_the_repository_s_own_action_is_followed_where_it_measures(tmp_path: Path) -> None:
    steps = "- uses: ./.github/actions/tools\n- uses: ./.github/actions/bench\n  with: {what: Parse}\n"
    files = {"_D_github__actions__bench__action_D_yml": ACTION, "_D_github__actions__tools__action_D_yml": "runs: {}"}
    result = proposed(tmp_path, steps, **files)
    assert (result.build, result.run) == ("make prepare", "go test -bench Parse ./...")
    assert result.steps == ({"uses": "./.github/actions/tools"},)


def test_a_matrix_of_objects_is_measured_in_all_its_values_on_this_kind_of_machine(tmp_path: Path) -> None:
    job = """strategy:
  matrix:
    suite: [{name: a, pattern: Parse}, {name: b, pattern: Lex}]
    go-version: ['1.22', '1.23']
    include: []
"""
    result = proposed(tmp_path, "- run: go test -bench ${{ matrix.suite.pattern }}\n", job=job)
    assert result.run == "go test -bench Parse\ngo test -bench Lex"
    job = "strategy:\n  matrix:\n    include: [{bench: x}, {bench: y}, {bench: z, os: macos-latest}]\n"
    assert proposed(tmp_path, "- run: go test -bench ${{ matrix.bench }}\n", job=job).run.split() == (
        ["go", "test", "-bench", "x", "go", "test", "-bench", "y"]
    )


DUMPED = '--dump-file="$PERF_CULPRIT_OUTPUT/%s"'
LOOP = "for b in x y; do\n      ./$b --benchmark_out=out/$b.json\n    done"


@pytest.mark.parametrize(
    ("steps", "files", "run"),
    [
        ("- run: cd x; cargo criterion --message-format=json\n", {}, "(cd x; cargo bench)"),
        (
            "- run: python bench.py -o base.json\n- run: python bench.py -o head.json\n",
            {"bench_D_py": "import pyperf"},
            f"python bench.py -o head.json && cp -r head.json {OUTPUT}",
        ),
        (
            "- run: make bench\n",
            {"Makefile": "bench:\n\t@go test -bench=. | tee $(X)\n\t@git checkout master\n\t@go test -bench=.\n"},
            "go test -bench=.",
        ),
        (
            "- run: pnpm save\n- run: bencher run --adapter json --file b.json true\n",
            {"package_D_json": '{"scripts": {"save": "vitest bench --outputJson out.json && node x.js"}}'},
            f"pnpm save && cp out.json {OUTPUT}",
        ),
        (
            "- run: |\n    phpbench run a\n    phpbench run b\n",
            {},
            "\n".join((f"mkdir -p {OUTPUT}", f"phpbench run a {DUMPED % 1}", f"phpbench run b {DUMPED % 2}")),
        ),
        (
            f"- run: |\n    {LOOP}\n",
            {},
            f"{LOOP.replace(chr(10) + '    ', chr(10))}\n{GATHERED % '*out/*.json'}",
        ),
        (
            "- run: ./gradlew benchmark\n",
            {"build_D_gradle": "plugins { id 'org.jetbrains.kotlinx.benchmark' }"},
            f"./gradlew benchmark && {GATHERED % '*/build/reports/benchmarks/*.*'}",
        ),
        (
            "- run: dotnet run -c Release Numbers\n  working-directory: ${{ github.workspace }}/b\n",
            {},
            f"(cd b\ndotnet run -c Release Numbers -- --exporters json)\n{GATHERED % '*/results/*-report*.json'}",
        ),
    ],
)
def test_results_are_found_where_they_are_left(tmp_path: Path, steps: str, files: dict[str, str], run: str) -> None:
    assert proposed(tmp_path, steps, **files).run == run


@pytest.mark.parametrize(
    "run",
    [
        "bencher archive --branch x",
        "pixi run -e benchmarks build",
        "just worker=bench deploy",
        "just publishBenchClient",
        "python ./benchmarks/summarize_results.py",
        "python ci/benchmark_upload.py upload x",
    ],
)
def test_what_only_speaks_of_benchmarks_measures_nothing(run: str) -> None:
    assert measuring_tool(run) == ""


def test_a_benchmark_that_is_only_tried_out_gives_way_to_what_the_files_hold(tmp_path: Path) -> None:
    files = {"Makefile": "test-bench:\n\tgo test -bench=. -benchtime=1x\n", "a_test_D_go": "func BenchmarkA(b"}
    result = proposed(tmp_path, "- run: make test-bench\n", **files)
    assert result.run == "go test -run=^$ -bench . -benchmem ./..."


def test_what_sets_a_job_up_comes_along_whoever_made_it(tmp_path: Path) -> None:
    steps = (
        "- uses: someone/torch-cpu@v1\n- uses: aws-actions/configure-aws-credentials@v4\n"
        "- run: |\n    . ci/deps\n    bencher run 'test \"$RUNNER_OS\" = Linux && make bench'\n"
    )
    result = proposed(tmp_path, steps, Makefile="bench:\n\tcargo bench\n")
    assert result.steps == ({"uses": "someone/torch-cpu@v1"},)
    assert any("aws-actions" in note for note in result.notes)
    assert result.build == ". ci/deps"
    assert result.run == 'test "Linux" = Linux && make bench'


def test_suites_are_two_where_they_measure_other_things(tmp_path: Path) -> None:
    root = lay_out(tmp_path, "- run: go test -bench Parse | tee base.txt\n", a_test_D_go="func BenchmarkA(b")
    workflow = (root / ".github/workflows/bench.yml").read_text()
    (root / ".github/workflows/again.yml").write_text(workflow.replace("base.txt", "head.txt"))
    assert len(suites(suggestions(look(root)))) == 1
    (root / ".github/workflows/lex.yml").write_text(workflow.replace("Parse", "Lex"))
    chosen = suites(suggestions(look(root)))
    assert [each.run for each in chosen] == ["go test -bench Parse", "go test -bench Lex"]
    assert proposed_suite_names(chosen) == ["again", "lex"]
    for name in ("again", "bench", "lex"):
        (root / f".github/workflows/{name}.yml").unlink()
    assert len(suites(suggestions(look(root)))) == 1
