"""A git server on 127.0.0.1: git's own smart HTTP back end behind a Python server, with Basic authentication.

It answers as GitHub does: 401 without a token, 400 to two Authorization headers.
"""

import base64
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit
from zlib import MAX_WBITS, decompress

from tests.support.git_repository import configured, http_backend

TOKEN = "fake-token-4711"


class GitHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one packet per answer, not one per header line
    root: Path

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def log_message(self, *_: object) -> None:
        """Log nothing: a test's output must have only its own lines."""

    def do_GET(self) -> None:
        given = self.headers.get_all("Authorization") or []
        expected = "Basic " + base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode()
        body = self._body()
        if len(given) > 1:
            self._answer(400, {}, b"Duplicate header: Authorization")
        elif given != [expected]:
            self._answer(401, {"WWW-Authenticate": 'Basic realm="GitHub"'}, b"authentication needed")
        else:
            self._answer(*self._git(body))

    def do_POST(self) -> None:
        self.do_GET()  # git decides by the method that it is told

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") == "chunked":
            parts = []
            while size := int(self.rfile.readline(), 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            body = b"".join(parts)
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        return decompress(body, MAX_WBITS | 16) if self.headers.get("Content-Encoding") == "gzip" else body

    def _git(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        url = urlsplit(self.path)
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_PROJECT_ROOT": str(self.root),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "PATH_INFO": url.path,
            "QUERY_STRING": url.query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "REMOTE_USER": "x-access-token",
            "REMOTE_ADDR": "127.0.0.1",
        }
        environment |= configured({"http.receivepack": "true", "uploadpack.allowFilter": "true", "safe.directory": "*"})
        answer = subprocess.run([http_backend()], input=body, env=environment, capture_output=True, check=True).stdout
        head, _, content = answer.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        return int(headers.pop("Status", "200").split()[0]), headers, content

    def _answer(self, status: int, headers: dict[str, str], content: bytes) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def serve_git(root: Path) -> Iterator[str]:
    """Serve the bare repositories in `root`; yield the URL of `root`. The token is TOKEN."""
    handler = type("RootedGitHandler", (GitHandler,), {"root": root})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
