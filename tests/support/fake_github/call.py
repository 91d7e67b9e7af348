"""The arguments and results of every operation."""

import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tests.support.fake_github.shapes import Shapes
from tests.support.fake_github.state import State

Item = TypeVar("Item")


class ApiError(Exception):
    def __init__(self, status: int, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.headers: dict[str, str] = more.pop("headers", {})
        self.body = {"message": message, "documentation_url": "https://docs.github.com/rest", "status": str(status)}
        self.body |= more


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    state: State
    shapes: Shapes
    git_dir: Path | None
    store_url: str
    login: str
    path: dict[str, str]
    query: dict[str, str]
    body: Any

    def number(self, name: str) -> int:
        return int(self.path[name])

    def git(self, *arguments: str, stdin: str = "") -> str:
        if self.git_dir is None:
            raise ApiError(404, "Not Found")
        command = ["git", "--git-dir", str(self.git_dir), *arguments]
        result = subprocess.run(command, input=stdin.encode(), capture_output=True, check=False)
        if result.returncode != 0:
            raise ApiError(404, "Not Found")
        return result.stdout.decode()


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


def item_of(items: dict[int, Item], number: int) -> Item:
    if number not in items:
        raise ApiError(404, "Not Found")
    return items[number]
