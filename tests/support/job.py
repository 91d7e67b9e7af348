"""One run of the action in this process, with the runner's files and variables, against the fake GitHub."""

import io
import json
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from perf_culprit.action.__main__ import main
from tests.support.container.file_commands import parse_file_commands
from tests.support.fake_github.server import BOT_TOKEN, FakeGitHub
from tests.support.git_repository import run_git


@dataclass(frozen=True, kw_only=True, slots=True)
class JobResult:
    exit_code: int
    log: str
    outputs: Mapping[str, str]
    summary: str


@dataclass(kw_only=True, slots=True)
class Runner:
    """A workspace with the files and variables that a runner provides."""

    fake: FakeGitHub
    workspace: Path
    temp: Path
    monkeypatch: pytest.MonkeyPatch
    capture: pytest.CaptureFixture[str]
    token: str = BOT_TOKEN
    run_id: str = "55"
    runs: int = field(default=0)

    def run(
        self,
        event_name: str,
        event: Mapping[str, Any],
        *,
        sha: str = "",
        ref: str = "",
        attempt: str = "1",
        **inputs: str,
    ) -> JobResult:
        """Run the action. Inputs are spelled with underscores; missing ones take the action's defaults."""
        self.runs += 1
        folder = self.temp / f"run-{self.runs}"
        folder.mkdir(parents=True)
        (folder / "event.json").write_text(json.dumps(event))
        files = {name: folder / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        for file in files.values():
            file.touch()
        environ = {
            **{name: str(path) for name, path in files.items()},
            "GITHUB_EVENT_PATH": str(folder / "event.json"),
            "GITHUB_EVENT_NAME": event_name,
            "GITHUB_REPOSITORY": self.fake.repository,
            "GITHUB_WORKSPACE": str(self.workspace),
            "GITHUB_SERVER_URL": self.fake.url,
            "GITHUB_API_URL": self.fake.api_url,
            "GITHUB_SHA": sha,
            "GITHUB_REF": ref,
            "GITHUB_RUN_ID": self.run_id,
            "GITHUB_RUN_ATTEMPT": attempt,
            "INPUT_GITHUB-TOKEN": self.token,
            **{f"INPUT_{name.replace('_', '-').upper()}": value for name, value in inputs.items()},
        }
        with self.monkeypatch.context() as patch:
            patch.chdir(self.workspace)
            for name, value in environ.items():
                patch.setenv(name, value)
            patch.setattr(sys, "argv", ["action"])
            self.capture.readouterr()
            exit_code = main()
        written = self.capture.readouterr()
        return JobResult(
            exit_code=exit_code,
            log=written.out + written.err,
            outputs=parse_file_commands(files["GITHUB_OUTPUT"].read_text()),
            summary=files["GITHUB_STEP_SUMMARY"].read_text(),
        )

    def fetch_from_folder(self) -> None:
        """Replace HTTP by a folder in tests that ignore address and token: HTTP takes four times the processes."""
        self.monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
        self.monkeypatch.setenv("GIT_CONFIG_KEY_0", f"url.{self.fake.git_dir}.insteadOf")
        self.monkeypatch.setenv("GIT_CONFIG_VALUE_0", f"{self.fake.url}/{self.fake.repository}.git")

    def checkout(self, commit: str) -> None:
        run_git(self.workspace, "checkout", "--quiet", "--detach", commit)


def zipped(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def claiming(data: bytes, *, file: str = "report.json", **claims: str) -> bytes:
    """Return the artifact with `claims` in place of its file's values."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    files[file] = json.dumps(json.loads(files[file]) | claims).encode()
    return zipped(files)
