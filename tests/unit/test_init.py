"""`perf-culprit init`: the tools it finds, the documentation's files that it writes, and its remarks on others."""

import json
import subprocess
from pathlib import Path

import pytest
import yaml

from perf_culprit.cli.entry import main
from perf_culprit.init.benchmark_tools import suggestions
from perf_culprit.init.repository import look
from perf_culprit.init.workflow_check import CALLED_WORKFLOWS, check_files
from perf_culprit.init.workflow_files import Choice, new_files
from tests.support.git_repository import init_repository, run_git
from tests.support.recipes import BACKFILL, ONE_FILE, PROJECT, SPLIT, WORKFLOWS
from tests.support.tools import audited

DOCUMENTED = Choice(
    run='pytest bench --benchmark-json="$PERF_CULPRIT_OUTPUT"', setup="pip install pytest pytest-benchmark"
)
REPOSITORIES = {
    "pytest-benchmark": {"requirements-dev.txt": "pytest-benchmark\n", "bench/test_it.py": ""},
    "Criterion": {"Cargo.toml": '[dev-dependencies]\ncriterion = "0.5"\n'},
    "cargo bench": {"Cargo.toml": "", "src/lib.rs": "#[bench]\nfn b() {}\n"},
    "go test": {"a_test.go": "func BenchmarkParse(b *testing.B) {}\n"},
    "JMH (Maven)": {"pom.xml": "<artifactId>jmh-core</artifactId>"},
    "JMH (Gradle)": {"build.gradle.kts": 'id("me.champeau.jmh")'},
    "Julia": {"benchmark/benchmarks.jl": "const SUITE = BenchmarkGroup()"},
    "Google Benchmark": {"CMakeLists.txt": "target_link_libraries(b benchmark::benchmark)"},
    "asv": {"asv.conf.json": "{}"},
    "BenchmarkDotNet": {"B/B.csproj": '<PackageReference Include="BenchmarkDotNet" />'},
    "benchmark.js": {"package.json": '{"devDependencies": {"benchmark": "^2.1.4"}}'},
}


def lay_out(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.mark.parametrize("name", REPOSITORIES)
def test_each_tool_is_found_and_no_other(tmp_path: Path, name: str) -> None:
    suggested = suggestions(look(lay_out(tmp_path, REPOSITORIES[name])))
    assert [each.tool for each in suggested] == [name]
    assert suggested[0].run


def test_what_others_brought_along_is_not_looked_at(tmp_path: Path) -> None:
    root = lay_out(tmp_path, {"node_modules/x/package.json": '{"d": {"benchmark": "2"}}', ".venv/asv.conf.json": "{}"})
    assert suggestions(look(root)) == ()


def test_installed_code_does_not_stand_in_for_the_commit_s(tmp_path: Path) -> None:
    """`pip install .` would install one commit's code for both sides."""
    root = lay_out(tmp_path, {"pyproject.toml": "pytest-benchmark", "src/x.py": "", "bench/test_x.py": ""})
    (result,) = suggestions(look(root))
    assert result.run.startswith("PYTHONPATH=src pytest bench")


def test_a_test_that_asks_for_the_fixture_shows_pytest_benchmark(tmp_path: Path) -> None:
    """No requirements file names pytest-benchmark, because its user installs it by hand."""
    files = {"bench/test_x.py": "def test_parse(benchmark):\n    benchmark(int, '3')\n", "x.py": ""}
    (result,) = suggestions(look(lay_out(tmp_path, files)))
    assert (result.setup, result.run) == (
        "pip install pytest pytest-benchmark",
        'PYTHONPATH=. pytest bench --benchmark-json="$PERF_CULPRIT_OUTPUT"',
    )
    lay_out(tmp_path, {"requirements.txt": "numpy\n", "bench/test_x.py": "def test_parse(benchmarks): ...\n"})
    assert suggestions(look(tmp_path)) == ()
    lay_out(tmp_path, files)
    assert suggestions(look(tmp_path))[0].setup == "pip install -r requirements.txt pytest pytest-benchmark"


@pytest.mark.parametrize(("config", "where"), [("", "bench/bench*.py"), ("python_files = ['*.py']", "bench")])
def test_files_that_pytest_does_not_collect_by_itself_are_named(tmp_path: Path, config: str, where: str) -> None:
    bench = "def test_parse(benchmark):\n    benchmark(int, '3')\n"
    files = {"bench/bench_x.py": bench, "bench/requirements.txt": "pandas\n", "pyproject.toml": config}
    (result,) = suggestions(look(lay_out(tmp_path, files)))
    assert f" pytest {where} --benchmark-json" in result.run
    assert result.setup == "pip install . -r bench/requirements.txt pytest pytest-benchmark"


def test_scripts_in_the_folder_of_benchmarks_are_no_tests_of_pytest_benchmark(tmp_path: Path) -> None:
    root = lay_out(tmp_path, {"requirements.txt": "pytest-benchmark\n", "bench/run.py": "print(1)\n"})
    assert suggestions(look(root)) == ()


@pytest.mark.parametrize(("run", "installs"), [("pytest -q bench", True), ("make bench", False)])
def test_a_named_command_is_prepared_as_its_program_is(tmp_path: Path, run: str, installs: bool) -> None:
    root = lay_out(tmp_path, REPOSITORIES["pytest-benchmark"])
    assert main(["init", "--repo", str(root), "--yes", "--run", run]) == 0
    written = (root / ".github/workflows/perf.yml").read_text()
    assert ("pip install pytest pytest-benchmark" in written) == installs


@pytest.mark.parametrize("branch", ["master", "main"])
def test_without_a_remote_the_branch_here_is_the_default_one(tmp_path: Path, branch: str) -> None:
    root = lay_out(init_repository(tmp_path / "x"), REPOSITORIES["go test"])
    run_git(root, "checkout", "--quiet", "-B", branch)
    run_git(root, "commit", "--quiet", "--allow-empty", "--message", "x")
    assert main(["init", "--repo", str(root), "--yes"]) == 0
    assert f"branches: [{branch}]" in (root / ".github/workflows/perf.yml").read_text()


@pytest.mark.parametrize(("document", "split"), [(ONE_FILE, False), (SPLIT, True)])
def test_the_written_files_are_those_of_the_documentation(document: str, split: bool) -> None:
    written = new_files(Choice(run=DOCUMENTED.run, setup=DOCUMENTED.setup, split=split))
    documented = {f".github/workflows/{block.file}": block.text for block in WORKFLOWS if block.document == document}
    del written[".github/perf-culprit.yml"]
    assert written == documented


def test_the_backfill_is_that_of_the_documentation_and_alone(tmp_path: Path) -> None:
    root = lay_out(tmp_path, REPOSITORIES["pytest-benchmark"])
    arguments = ["init", "--repo", str(root), "--yes", "--run", DOCUMENTED.run, "--setup", DOCUMENTED.setup]
    assert main([*arguments, "--backfill", "v1.0"]) == 0
    (block,) = (block for block in WORKFLOWS if block.document == BACKFILL)
    (written,) = (root / ".github").rglob("*.yml")
    assert (written.name, written.read_text()) == (block.file, block.text)
    assert all("in place of the zeros" in remark.text for remark in check_files(root))


@pytest.mark.parametrize("command", ["a: b # c", "'x' \"y\"", "{x}", "- y", "echo 'a: b' | tee \"$X\"", "", "true"])
@pytest.mark.parametrize("split", [False, True])
def test_any_command_survives_yaml_and_the_shell(command: str, split: bool) -> None:
    files = new_files(Choice(run=command, setup="", split=split))
    job = next(iter(yaml.safe_load(files[".github/workflows/perf.yml"])["jobs"].values()))
    if split:
        assert job["with"]["run"] == command
    else:
        line = next(step["run"] for step in job["steps"] if "measure" in step.get("run", ""))
        text = subprocess.run(
            ["sh", "-c", f'perf_culprit() {{ printf %s "$3"; }}; {line.replace("perf-culprit", "perf_culprit", 1)}'],
            capture_output=True,
            text=True,
            check=True,
        )
        assert text.stdout == command


@pytest.mark.parametrize("options", [(), ("--split",)])
def test_init_writes_what_check_and_linters_find_nothing_in(
    tmp_path: Path, options: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    root = lay_out(tmp_path, REPOSITORIES["go test"])
    assert main(["init", "--repo", str(root), "--yes", *options]) == 0
    assert "found: go test" in capsys.readouterr().out
    # Between releases, no release is pinned.
    assert all("in place of the zeros" in remark.text for remark in check_files(root))
    checked = audited(root)
    assert checked.returncode == 0, checked.stdout
    assert main(["init", "--repo", str(root), "--yes"]) == 2
    assert "is there already" in capsys.readouterr().err


@pytest.mark.parametrize("options", [(), ("--split",)])
def test_two_suites_are_two_jobs_that_check_and_linters_accept(
    tmp_path: Path, options: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    steps = "on: push\njobs: {b: {runs-on: ubuntu-latest, steps: [{run: go test -bench NAME}]}}\n"
    files = {f".github/workflows/{name}.yml": steps.replace("NAME", name) for name in ("Parse", "Lex")}
    root = lay_out(tmp_path, files)
    assert main(["init", "--repo", str(root), "--yes", *options]) == 0
    assert "two suites, a job each" in capsys.readouterr().out
    jobs = yaml.safe_load((root / ".github/workflows/perf.yml").read_text())["jobs"]
    assert [name.partition("-")[2] for name in jobs if name.startswith("measure")] == ["lex", "parse"]
    assert options or jobs["report"]["needs"] == ["measure-lex", "measure-parse"]
    for path in files:
        (root / path).unlink()
    assert all("in place of the zeros" in remark.text for remark in check_files(root))
    checked = audited(root)
    assert checked.returncode == 0, checked.stdout
    lay_out(root, files)
    assert main(["init", "--repo", str(root), "--yes", "--force", "--pick", "2", *options]) == 0
    jobs = yaml.safe_load((root / ".github/workflows/perf.yml").read_text())["jobs"]
    assert [name for name in jobs if name not in ("report", "command")] == ["measure"]


def test_without_a_tool_the_command_must_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "--repo", str(tmp_path), "--yes"]) == 2
    assert "name the command with --run" in capsys.readouterr().err
    assert main(["init", "--repo", str(tmp_path), "--yes", "--run", "./bench"]) == 0


def test_check_names_what_is_unsafe_and_what_is_outdated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lay_out(
        tmp_path,
        {
            ".github/workflows/perf.yml": """
on: [push, pull_request_target]
jobs:
  m:
    steps:
      - uses: actions/checkout@v4
      - run: base=$(git merge-base "origin/$GITHUB_BASE_REF" HEAD); perf-culprit measure --commits "$base" HEAD
      - uses: perf-culprit/perf-culprit@v0
""",
            ".github/workflows/perf-report.yml": """
on: {workflow_run: {workflows: [perf]}}
permissions: {}
jobs:
  r:
    if: github.event.workflow_run.conclusion == 'success'
    concurrency: {group: x}
    steps: [{uses: perf-culprit/perf-culprit@1111111111111111111111111111111111111111}]
""",
        },
    )
    assert main(["init", "--repo", str(tmp_path), "--check"]) == 2
    output = capsys.readouterr().out
    for text in (
        "UNSAFE: write `permissions: {}`",
        "UNSAFE: actions/checkout is not pinned",
        "UNSAFE: perf-culprit/perf-culprit is not pinned",
        "UNSAFE: job m measures on pull_request_target",
        "UNSAFE: job m runs foreign code: write `cache-mode: none`",
        "UNSAFE: job m: write `persist-credentials: false`",
        "which fails on a push",
        "write `fetch-depth: 0`",
        "silent about measurements that failed",
        "write `queue: max`",
    ):
        assert text in output, text


@pytest.mark.parametrize("where", ["workflow", "job", "step", "another step", "another job"])
def test_check_finds_a_token_beside_measured_code(tmp_path: Path, where: str) -> None:
    """A shell's children can read a token in its environment if no namespace hides it."""
    workflow = new_files(Choice(run="./bench", setup=""))[".github/workflows/perf.yml"]
    value = yaml.safe_load(workflow)
    job = value["jobs"]["measure"]
    (measuring,) = [step for step in job["steps"] if "perf-culprit measure" in step.get("run", "")]
    value["jobs"]["other"] = {"runs-on": "x", "steps": [{"run": "true"}]}
    places = {"workflow": value, "job": job, "step": measuring, "another step": job["steps"][0]}
    place = places.get(where, value["jobs"]["other"])
    place["env"] = {"LEVEL": "3", "GH_TOKEN": "${{ github.token }}"}
    lay_out(tmp_path, {".github/workflows/perf.yml": yaml.safe_dump(value)})
    results = [remark.text for remark in check_files(tmp_path) if "holds a secret" in remark.text]
    assert len(results) == (0 if "another" in where else 1), results
    assert all("`GH_TOKEN`" in text for text in results)


@pytest.mark.parametrize(("event", "is_told"), [("pull_request", True), ("push", False)])
def test_check_names_the_writing_token_of_a_job_that_measures(tmp_path: Path, event: str, *, is_told: bool) -> None:
    """The one file of earlier versions measured, judged and wrote in one job."""
    job = {"permissions": {"contents": "write"}, "steps": [{"run": "perf-culprit measure --run x --output m"}]}
    lay_out(tmp_path, {".github/workflows/perf.yml": yaml.safe_dump({"on": [event], "jobs": {"perf": job}})})
    texts = [remark.text for remark in check_files(tmp_path) if remark.is_unsafe]
    assert any("job perf runs foreign code and has `contents: write`" in text for text in texts) is is_told
    files = new_files(Choice(run="true", setup=""))
    lay_out(tmp_path, files)
    assert not [remark for remark in check_files(tmp_path) if remark.is_unsafe]


HISTORY_STEP = f"""
jobs:
  m:
    cache-mode: none
    steps:
      - uses: perf-culprit/perf-culprit@{"1" * 40}
        with: {{output-file-path: bench.json}}
"""


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("on: [pull_request]", "add `push: {branches: [main]}` to `on`"),
        ("on: {pull_request: , push: {branches: [main], paths: [src/**]}}", "leave `paths` of `push` out"),
        ("on: [pull_request, push]\nconcurrency: {group: 'x-${{ github.ref }}'}", "put `github.run_id` of pushes"),
        ("on: [pull_request, push]", None),
        ("on: [pull_request, push]\nconcurrency: {group: 'x-${{ github.run_id }}'}", None),
    ],
)
def test_check_wants_a_run_of_every_base(tmp_path: Path, head: str, message: str | None) -> None:
    """A check against stored runs cannot fail if the base has no run."""
    lay_out(tmp_path, {".github/workflows/perf.yml": f"permissions: {{}}\n{head}\n{HISTORY_STEP}"})
    results = [remark.text for remark in check_files(tmp_path) if "without one no check fails" in remark.text]
    assert [text.partition(", so that")[0].startswith(message or "?") for text in results] == (
        [True] if message else []
    )
    paired = HISTORY_STEP.replace("bench.json", "bench.json, baseline-file-path: base.json")
    lay_out(tmp_path, {".github/workflows/perf.yml": f"permissions: {{}}\n{head}\n{paired}"})
    assert not [remark for remark in check_files(tmp_path) if "no check fails" in remark.text]


@pytest.mark.parametrize(
    ("request_", "is_told"), [("{paths: [src/**]}", True), ("{paths-ignore: [docs/**]}", True), ("", False)]
)
def test_check_warns_of_a_required_check_that_waits_for_ever(tmp_path: Path, request_: str, *, is_told: bool) -> None:
    files = new_files(Choice(run="true", setup="", split=True))
    path = ".github/workflows/perf.yml"
    lay_out(tmp_path, {**files, path: files[path].replace("pull_request:", f"pull_request: {request_}")})
    assert any("affected: suites" in remark.text for remark in check_files(tmp_path)) is is_told


@pytest.mark.parametrize("name", CALLED_WORKFLOWS)
def test_check_knows_what_our_called_workflows_ask_for(name: str) -> None:
    jobs = yaml.safe_load((PROJECT / ".github" / "workflows" / name).read_text())["jobs"].values()
    granted = [scope for job in jobs for scope, level in job["permissions"].items() if level == "write"]
    assert set(granted) == CALLED_WORKFLOWS[name]


def test_check_names_the_permission_that_a_caller_does_not_grant(tmp_path: Path) -> None:
    files = new_files(Choice(run="true", setup="", split=True))
    path = ".github/workflows/perf-report.yml"
    lay_out(tmp_path, files)
    assert not [remark for remark in check_files(tmp_path) if "refuses" in remark.text]
    lay_out(tmp_path, {path: "\n".join(line for line in files[path].splitlines() if "checks: write" not in line)})
    (remark,) = [remark for remark in check_files(tmp_path) if "refuses" in remark.text]
    assert remark.text == "job report calls reusable-report.yml, which GitHub refuses without `checks: write`"


def test_check_names_what_an_automatic_search_lacks(tmp_path: Path) -> None:
    files = new_files(Choice(run="true", setup="", split=False))
    lay_out(tmp_path, files)
    assert not [remark for remark in check_files(tmp_path) if "automatic" in remark.text]
    text = "issues: {when: fail}\nbisect: {automatic: true, run: ./bench}\n"
    lay_out(tmp_path, {".github/perf-culprit.yml": text})
    results = {remark.file: remark.text for remark in check_files(tmp_path) if "automatic" in remark.text}
    assert "lacks `actions: write`, `issues: write` for" in results[".github/workflows/perf.yml"]
    assert "perf-bisect.yml, which is not there" in results[".github/perf-culprit.yml"]
    lay_out(tmp_path, new_files(Choice(run="true", setup="", split=True)) | {".github/perf-culprit.yml": text})
    assert not [remark for remark in check_files(tmp_path) if "automatic" in remark.text]


@pytest.mark.parametrize("split", [False, True])
def test_check_compares_what_skips_with_the_configuration(tmp_path: Path, *, split: bool) -> None:
    files = new_files(Choice(run="true", setup="", split=split))
    lay_out(tmp_path, files)
    assert not [remark for remark in check_files(tmp_path) if "skip" in remark.text]
    lay_out(tmp_path, {".github/perf-culprit.yml": 'skip: {title: null, label: "no-bench"}\n'})
    told = [remark.text for remark in check_files(tmp_path) if "skips by" in remark.text]
    assert [text.partition(" skips by ")[2].partition(":")[0] for text in told if "title" in text] == [
        "the title '[skip perf]', but `skip.title` of the configuration is null"
    ]
    assert len(told) == 2
    path = ".github/workflows/perf.yml"
    lay_out(tmp_path, {path: files[path].replace("perf: off", "no-bench")})
    assert len([remark for remark in check_files(tmp_path) if "skips by" in remark.text]) == 1


def test_check_of_a_repository_without_any(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "--repo", str(tmp_path), "--check"]) == 2
    assert "run perf-culprit init" in capsys.readouterr().out


def test_parts_are_written_and_read_again(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    words = ["--parts", "4", "--list", "go list ./...", "--run", "go test $PERF_CULPRIT_PART", "--yes"]
    assert main(["init", "--repo", str(tmp_path), *words]) == 0
    measured = yaml.safe_load((tmp_path / ".github/workflows/perf.yml").read_text())["jobs"]["measure"]["with"]
    assert (measured["parts"], measured["list"]) == (4, "go list ./...")
    assert all("in place of the zeros" in remark.text for remark in check_files(tmp_path))


def test_parts_and_their_list_need_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "--repo", str(tmp_path), "--parts", "4", "--run", "true", "--yes"]) == 2
    assert "--parts and --list need each other" in capsys.readouterr().err


@pytest.mark.parametrize("inputs", ["      parts: 11\n      list: ls\n", "      parts: 4\n", "      parts: some\n"])
def test_check_knows_parts(tmp_path: Path, inputs: str) -> None:
    files = new_files(Choice(run="true", setup="", split=True))
    path = ".github/workflows/perf.yml"
    lay_out(tmp_path, {path: files[path] + "\n" + inputs})
    assert [remark.text for remark in check_files(tmp_path) if "`parts` is from 1 to 10" in remark.text]


def test_check_asks_that_a_failing_part_ends_no_other(tmp_path: Path) -> None:
    (recipe,) = [block.text for block in WORKFLOWS if block.document == "docs/how-to/spread-a-suite.md"]
    lay_out(tmp_path, {".github/workflows/perf.yml": recipe})
    assert all("in place of the zeros" in remark.text for remark in check_files(tmp_path))
    without = "\n".join(line for line in recipe.splitlines() if "fail-fast" not in line)
    lay_out(tmp_path, {".github/workflows/perf.yml": without})
    assert [remark.text for remark in check_files(tmp_path) if "write `fail-fast: false`" in remark.text]


def test_check_asks_for_what_a_requested_run_needs(tmp_path: Path) -> None:
    files = new_files(Choice(run="true", setup="", split=True))
    path = ".github/workflows/perf.yml"
    without = "\n".join(
        line for line in files[path].splitlines() if "rounds: {" not in line and not line.startswith("run-name")
    )
    lay_out(tmp_path, files | {path: without})
    (remark,) = [remark for remark in check_files(tmp_path) if "/perf-run" in remark.text]
    assert "`on.workflow_dispatch.inputs.rounds`, `run-name: ${{ inputs.request }}`" in remark.text
    (tmp_path / ".github/workflows/perf-command.yml").unlink()
    assert not [remark for remark in check_files(tmp_path) if "/perf-run" in remark.text]


LOCKED = """version: 'v0.0.2'
workflows:
    '.github/workflows/perf.yml':
        - 'actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1'
        - 'actions/upload-artifact@bbbca2ddaa5d8feaa63e36b76fdaad77386f024f'
"""


def test_check_knows_the_lockfile_of_actions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lock = tmp_path / ".github/workflows/actions.lock"
    lock_out = lay_out(tmp_path, {".github/workflows/actions.lock": LOCKED})
    assert main(["init", "--repo", str(lock_out), "--run", "./bench"]) == 0
    assert "actions.lock does not have the new files: run `gh actions-lock`" in capsys.readouterr().out

    def remarks() -> list[str]:
        return [remark.text for remark in check_files(tmp_path) if "gh actions-lock" in remark.text]

    (ours,) = remarks()
    assert ours.startswith("perf-culprit/perf-culprit@")
    assert "so GitHub refuses the run" in ours
    used = ours.partition(" ")[0]
    lock.write_text(LOCKED + f"        - '{used}'\n")
    assert remarks() == []
    lock.write_text("version: 'v0.0.2'\nworkflows: {}\n")
    assert remarks() == ["is not in .github/workflows/actions.lock: run `gh actions-lock` and commit it"]
    lock.write_text("version: [\n")
    assert remarks() == ["is no lockfile of actions: run `gh actions-lock` and commit it"]


def test_wanted_a_command_in_the_log_by_a_workflow_s_names_got_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = "x\x1b[2J\n::error::y ##[add-mask]z"
    job = {"runs-on": "ubuntu-latest", "permissions": {"id-token": "write"}}
    measures = {**job, "steps": [{"name": evil, "run": "go test -bench ."}]}
    root = lay_out(tmp_path, {".github/workflows/bench.yml": json.dumps({"on": "push", "jobs": {evil: measures}})})
    assert main(["init", "--repo", str(root), "--yes"]) == 0
    ours = {**job, "steps": [{"uses": "actions/checkout@v4"}, {"run": "perf-culprit measure --run x"}]}
    lay_out(root, {".github/workflows/perf.yml": json.dumps({"on": "push", "jobs": {evil: ours}})})
    assert main(["init", "--check", "--repo", str(root)]) == 2
    printed = "".join(capsys.readouterr())
    assert "job x\N{REPLACEMENT CHARACTER}[2J ::error::y ## [add-mask]z" in printed
    assert not [line for line in printed.splitlines() if line.lstrip().startswith("::")]
    assert "\x1b" not in printed
    assert "##[" not in printed
