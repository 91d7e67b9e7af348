"""A pull request's run of the action against that of another commit, in alternation, by processor time.

    mkdir OTHER && git archive COMMIT | tar -x -C OTHER
    python -m benchmarks.entry OTHER/bot [PAIRS]

Both run without the container, with this environment's packages, against one fake GitHub. Each run judges 1,000
benchmarks x 50 samples against 30 stored runs and posts the comment.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from perf_culprit.git.command import Remote
from perf_culprit.store.opening import open_git_branch
from tests.support.fake_github.server import BOT_TOKEN, FakeGitHub
from tests.support.git_repository import chain, import_commits, init_repository, run_git
from tests.support.measurements import measured, measured_json
from tests.support.webhooks import event

PROJECT = Path(__file__).parents[1]
LEVELS = {f"bench_{number:05d}": 0.001 * (1 + number % 37) for number in range(1000)}


def seconds_of(bot: Path, workspace: Path, environment: Mapping[str, str]) -> float:
    """Return the CPU time of the action and its children. `bot` is a source root, or an old version's package."""
    package, root = ("bot.action", bot.parent) if (bot / "__main__.py").exists() else ("perf_culprit.action", bot)
    command = [sys.executable, "-P", "-m", package]
    surroundings = {"PATH": os.environ["PATH"], "PYTHONPATH": str(root), **environment}
    process = subprocess.Popen(
        command, cwd=workspace, env=surroundings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, output.decode()
    return usage.ru_utime + usage.ru_stime


def main(other: Path, pairs: int) -> None:
    with tempfile.TemporaryDirectory() as temp:
        folder = Path(temp)
        served = init_repository(folder / "served.git", bare=True)
        commits = import_commits(served, {**chain("main", 30), **chain("branch", 1, start=["main30"])})
        run_git(served, "update-ref", "refs/heads/main", commits["main30"])
        with open_git_branch(Remote(url=str(served))) as history:
            runs = (measured(LEVELS, seed=n, commit=commits[f"main{n}"], count=50) for n in range(1, 31))
            history.append_all(tuple(runs))
        workspace = folder / "workspace"
        run_git(folder, "clone", "--quiet", str(served), str(workspace))
        (workspace / "bench.json").write_bytes(measured_json({**LEVELS, "bench_00007": 0.05}, seed=77))
        payload = event("pull_request", number=7, head_sha=commits["branch1"], base_sha=commits["main30"])
        (folder / "event.json").write_text(json.dumps(payload))
        with FakeGitHub(git_dir=served) as fake:
            environment = {
                "HOME": str(folder),
                "GITHUB_EVENT_PATH": str(folder / "event.json"),
                "GITHUB_EVENT_NAME": "pull_request",
                "GITHUB_REPOSITORY": fake.repository,
                "GITHUB_WORKSPACE": str(workspace),
                "GITHUB_SERVER_URL": fake.url,
                "GITHUB_API_URL": fake.api_url,
                "GITHUB_SHA": "e" * 40,
                "GITHUB_REF": "refs/pull/7/merge",
                "GITHUB_RUN_ID": "55",
                "GITHUB_RUN_ATTEMPT": "1",
                "INPUT_GITHUB-TOKEN": BOT_TOKEN,
                "INPUT_OUTPUT-FILE-PATH": "bench.json",
            }
            seconds: list[tuple[float, float]] = []
            for number in range(pairs + 1):  # the first writes bytecode
                sides = [other, PROJECT / "bot"]
                now = dict.fromkeys(sides, 0.0)
                for side in sides[:: -1 if number % 2 else 1]:
                    fake.state.comments.clear()
                    now[side] = seconds_of(side, workspace, environment)
                    assert len(fake.state.comments) == 1
                seconds.append((now[sides[0]], now[sides[1]]))
                print(f"{number}: other {seconds[-1][0]:.2f} s, this {seconds[-1][1]:.2f} s", flush=True)
    before, after = zip(*seconds[1:], strict=True)
    ratios = sorted(new / old for old, new in seconds[1:])
    print(f"other {statistics.median(before):.2f} s, this {statistics.median(after):.2f} s of processor time")
    print(f"ratio in {pairs} pairs: median {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 11)
