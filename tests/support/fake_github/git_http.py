"""Git's smart HTTP by git's own server program, guarded by the fake's tokens."""

import base64
import binascii
import gzip
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.git_repository import configured, http_backend


@dataclass(frozen=True, kw_only=True, slots=True)
class GitRequest:
    method: str
    path: str  # below the repository: /info/refs
    query: str
    headers: Mapping[str, str]  # lower case
    body: bytes

    @property
    def is_push(self) -> bool:
        return "git-receive-pack" in self.path or "git-receive-pack" in self.query

    @property
    def token(self) -> str | None:
        """The password of `x-access-token:<token>`."""
        _, _, encoded = self.headers.get("authorization", "").partition(" ")
        try:
            user_and_password = base64.b64decode(encoded, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            return None
        return user_and_password.partition(":")[2] or None


def answer(request: GitRequest, git_dir: Path) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body, by CGI (git-http-backend(1))."""
    packed = request.headers.get("content-encoding") == "gzip"
    body = gzip.decompress(request.body) if packed else request.body
    environment = {
        "PATH": os.environ["PATH"],
        "GIT_PROJECT_ROOT": str(git_dir),
        "GIT_HTTP_EXPORT_ALL": "1",
        "GIT_PROTOCOL": request.headers.get("git-protocol", ""),
        "PATH_INFO": request.path,
        "QUERY_STRING": request.query,
        "REQUEST_METHOD": request.method,
        "CONTENT_TYPE": request.headers.get("content-type", ""),
        "CONTENT_LENGTH": str(len(body)),
        "REMOTE_USER": "bot",
        "REMOTE_ADDR": "127.0.0.1",
    }
    # GitHub serves partial clones and any commit by its hash.
    settings = ("http.receivepack", "uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant")
    environment |= configured({**dict.fromkeys(settings, "true"), "safe.directory": "*"})
    output = subprocess.run([http_backend()], input=body, env=environment, capture_output=True, check=True).stdout
    head, _, content = output.partition(b"\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
    status = int(headers.pop("Status", "200").split()[0])
    headers.pop("Content-Length", None)
    return status, {name.lower(): value for name, value in headers.items()}, content
